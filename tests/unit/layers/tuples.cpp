// Layers that take or hand on tuples: outputs by hand, gradients against differences.
#define BOOST_TEST_MODULE layers_tuples
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <trireme/activations/relu.hpp>
#include <trireme/activations/tanh.hpp>
#include <trireme/compile.hpp>
#include <trireme/core/error.hpp>
#include <trireme/layers/batch_normalization.hpp>
#include <trireme/layers/conv2d.hpp>
#include <trireme/layers/dense.hpp>
#include <trireme/layers/dropout.hpp>
#include <trireme/layers/flatten.hpp>
#include <trireme/layers/layer_normalization.hpp>
#include <trireme/layers/lstm.hpp>
#include <trireme/layers/select.hpp>
#include <trireme/losses/mean_squared_error.hpp>
#include <trireme/models/branches.hpp>
#include <trireme/models/each.hpp>
#include <trireme/models/sequential.hpp>
#include <trireme/models/tuples.hpp>
#include <trireme/optimizers/sgd.hpp>
#include <trireme/strategies/data_parallel/one_device.hpp>

#include "gradient_check.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

using namespace trireme;
using test::check_gradients;

namespace {

using Host = SpaceContext<Kokkos::DefaultHostExecutionSpace>;
constexpr Parts<Extents<5>, Extents<5>> twins;
constexpr Parts<Extents<3>, Extents<4, 3, 2>> unlike;

/// Message that the output of a layer for extents that do not fit throws, or "".
template <class Layer, class In>
std::string message(Layer const& layer, In const& in) {
  return test::message_of<ShapeError>([&] { layer.output(in); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(parallel_gives_each_part_its_own_layer) {
  check_gradients(Parallel{Dense<4, Tanh>{}, Conv2D<2, 2, 2, Tanh>{}}, unlike);
  check_gradients(Parallel{Skip{}, Sequential{Flatten{}, Dense<3, Tanh>{}, Dense<2>{}}}, unlike);
  check_gradients(Parallel{Dense<4, Tanh>{}, Flatten{}}, unlike);
  check_gradients(Parallel{Add{Skip{}, Dense<3, Tanh>{}}, Tanh{}}, unlike);
  check_gradients(Sequential{Fork{Dense<4, Tanh>{}}, Parallel{Dense<3, Tanh>{}}, Concatenate{}}, Extents<5>{});
}

BOOST_AUTO_TEST_CASE(fork_makes_a_tuple_of_what_layers_make_of_one_input) {
  check_gradients(Fork{Dense<4, Tanh>{}, Dense<2>{}}, Extents<5>{});
  check_gradients(Fork{Skip{}, Dense<2>{}, Skip{}}, Extents<5>{});
  check_gradients(Fork{Flatten{}, Sequential{Conv2D<2, 2, 2, Tanh>{}, Flatten{}, Dense<3>{}}}, Extents<4, 3, 2>{});
  check_gradients(Fork{Select<1>{}, Add{Select<0>{}, Sequential{Select<1>{}, Dense<5, Tanh>{}}}}, twins);
}

BOOST_AUTO_TEST_CASE(select_takes_parts_in_any_order) {
  check_gradients(Select<0>{}, unlike);
  check_gradients(Select<1>{}, unlike);
  check_gradients(Select<1, 0, 1>{}, unlike);
}

BOOST_AUTO_TEST_CASE(joins_take_tuples) {
  check_gradients(Add{}, twins);
  check_gradients(Concatenate{}, twins);
  check_gradients(Concatenate{}, Parts<Extents<2, 3>, Extents<2, 1>, Extents<2, 2>>{});
  check_gradients(Sequential{Fork{Dense<4, Tanh>{}, Dense<3>{}}, Concatenate{}, Dense<2, Tanh>{}}, Extents<5>{});
}

BOOST_AUTO_TEST_CASE(branches_whose_extents_turn_out_unlike_are_an_error) {
  Extents<4> const in;
  Dense<dynamic> const three{.units = 3}, four{.units = 4};
  BOOST_TEST(message(Add{three, three}, in) == "");
  BOOST_TEST(message(Add{three, four}, in) ==
             "Add needs branches with the same output extents, but they have (3,) and (4,)");
  BOOST_TEST(message(Residual{three}, Extents<dynamic>{{4}}) ==
             "Add needs branches with the same output extents, but they have (4,) and (3,)");
  using Rows = Extents<dynamic, dynamic>;
  BOOST_TEST(message(Concatenate{}, Parts<Rows, Rows>{{{{2, 3}}, {{2, 5}}}}) == "");
  BOOST_TEST(message(Concatenate{}, Parts<Rows, Rows>{{{{2, 3}}, {{4, 3}}}}) ==
             "Concatenate needs branches whose output extents differ in the last axis only, but they have (2, 3) and "
             "(4, 3)");
}

BOOST_AUTO_TEST_CASE(branches_join_whether_the_compiler_knows_their_extents_or_not) {
  Dense<dynamic, Tanh> const five{.units = 5};
  check_gradients(Residual{five}, Extents<5>{});
  check_gradients(Add{Dense<5, Tanh>{}, five, Skip{}}, Extents<5>{});
  check_gradients(Add{five, Dense<5>{}}, Extents<dynamic>{{5}});
  check_gradients(Concatenate{five, Dense<3, Tanh>{}}, Extents<2, 4>{});
  check_gradients(Concatenate{}, Parts<Extents<2, 3>, Extents<dynamic, 1>>{{{}, {{2, 1}}}});
  check_gradients(Add{}, Parts<Extents<dynamic, 3>, Extents<2, dynamic>>{{{{2, 3}}, {{2, 3}}}});
  static_assert(std::is_same_v<decltype(Residual{five}.output(Extents<5>{})), Extents<5>>);
  static_assert(
      std::is_same_v<decltype(Concatenate{}.output(Parts<Extents<dynamic, 3>, Extents<2, 1>>{})), Extents<2, 4>>);
  BOOST_TEST(message(Residual{five}, Extents<4>{}) ==
             "Add needs branches with the same output extents, but they have (4,) and (5,)");
  BOOST_TEST(message(Concatenate{}, Parts<Extents<2, 3>, Extents<dynamic, 1>>{{{}, {{4, 1}}}}) ==
             "Concatenate needs branches whose output extents differ in the last axis only, but they have (2, 3) and "
             "(4, 1)");
}

BOOST_AUTO_TEST_CASE(each_applies_one_layer_to_all_parts_and_adds_the_gradients) {
  check_gradients(Each{Dense<4, Tanh>{}}, twins);
  check_gradients(Each{Tanh{}}, unlike);
  check_gradients(Each{Flatten{}}, unlike);
  check_gradients(Each{Dropout{.rate = 0.4f}}, twins);
  check_gradients(Each{Sequential{Dense<4, Tanh>{}, Dropout{.rate = 0.3f}, Dense<3>{}}}, twins);
  check_gradients(Each{LSTM<3>{}}, Parts<Extents<2, 4>, Extents<3, 4>>{});
  check_gradients(Each{Add{Skip{}, Dense<5, Tanh>{}}}, Parts<Extents<5>, Extents<5>, Extents<5>>{});
  check_gradients(Each{Dense<3, Tanh>{}}, Parts<Extents<dynamic>, Extents<dynamic>>{{{{4}}, {{4}}}});
}

BOOST_AUTO_TEST_CASE(dropout_draws_anew_for_each_part) {
  test::LayerHarness<Host, Each<Dropout>, Parts<Extents<50>, Extents<50>>> harness({Dropout{.rate = 0.5f}}, {}, 2, 7);
  std::fill(harness.x.begin(), harness.x.end(), 1.0);
  auto const y = harness.forward();
  BOOST_TEST(!std::equal(y.begin(), y.begin() + 100, y.begin() + 100));
}

BOOST_AUTO_TEST_CASE(nested_layers_on_each_part_run_on_sixteen_parts_at_most) {
  auto const nested = Each{Sequential{Fork{Skip{}, Skip{}, Skip{}}, Each{Dropout{.rate = 0.5f}}, Add{}}};
  using X = Extents<3>;
  BOOST_TEST(message(nested, Parts<X, X, X, X, X>{}) == "");
  BOOST_TEST(message(nested, Parts<X, X, X, X, X, X>{}) ==
             "a layer within nested Each runs on 18 parts: 16 is the most");
}

BOOST_AUTO_TEST_CASE(statistics_of_nested_parts_move_once_for_each_one_after_the_other) {
  auto const normalize = BatchNormalization<>{.momentum = 0.5};
  OneDeviceStrategy<> const strategy;
  auto const trained = [&](auto const& layers) {
    auto model = compile<double>(strategy, layers, SGD{}, MeanSquaredError{});
    std::vector<double> const first{1, 2, 4}, second{3, -1, 1}, y{0, 0, 0};
    model.train_on_batch(std::tie(first, second), y);
    return std::pair(model.weights(model.weight_names()[2]), model.weights(model.weight_names()[3]));
  };
  Inputs const pair{Input<1>{}, Input<1>{}};
  auto const expected = trained(Sequential{pair, Select<0, 0, 1, 1>{}, Each{normalize}, Add{}});
  auto const found = trained(Sequential{pair, Each{Sequential{Fork{Skip{}, Skip{}}, Each{normalize}, Add{}}}, Add{}});
  BOOST_TEST(test::distance(found.first, expected.first) < 1e-14);
  BOOST_TEST(test::distance(found.second, expected.second) < 1e-14);
  // The mean of 7/3 and of 1, each twice, from 0 on.
  BOOST_TEST(expected.first(0) == 7.0 / 3 * 0.1875 + 0.75, boost::test_tools::tolerance(1e-14));
}
