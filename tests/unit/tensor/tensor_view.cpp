// Assignment to a view of a tensor writes values, whatever is assigned.
#define BOOST_TEST_MODULE tensor_view
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <string>
#include <utility>
#include <vector>

#if __has_include(<xtensor/xnoalias.hpp>)
#include <xtensor/xnoalias.hpp>
#else
#include <xtensor/core/xnoalias.hpp>
#endif

#include "trireme/compile.hpp"
#include "trireme/compiled_model.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;
using test::message_of;

namespace {

auto model(std::uint64_t seed) {
  return compile(OneDeviceStrategy<>(), test::mlp(), SGD{}, SparseCategoricalCrossentropy{},
                 CompileOptions{.seed = seed});
}

/// Two models of different weights; the kernel of the first layer has the extents (6, 9), its bias (9).
struct Fixture {
  decltype(model(1)) a = model(1), b = model(2);
  xt::xarray<float> const of_a = a.weights(kernel), of_b = b.weights(kernel);
  xt::xarray<float> const bias_of_a = a.weights("dense_1/kernel");

  static constexpr char const* kernel = "dense/kernel";

  /// Of `a`, whose other weights must not have changed.
  xt::xarray<float> values() const {
    BOOST_TEST((a.weights("dense_1/kernel") == bias_of_a));
    BOOST_TEST((b.weights(kernel) == of_b));
    return a.weights(kernel);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_view_assigned_to_a_view_copies_values, Fixture) {
  a.weights_view(kernel) = b.weights_view(kernel);
  BOOST_TEST((values() == of_b));
  b.weights_view(kernel)(0, 0) += 1;
  BOOST_TEST((a.weights(kernel) == of_b));
}

BOOST_FIXTURE_TEST_CASE(a_named_view_stays_where_it_is, Fixture) {
  auto const other = b.weights_view(kernel);
  auto view = a.weights_view(kernel);
  view = other;
  BOOST_TEST((values() == of_b));
  view = a.weights_view(kernel);
  view = b.weights_view(kernel);
  view = xt::zeros<float>({6, 9});
  BOOST_TEST((values() == xt::zeros<float>({6, 9})));
  view = of_a;
  BOOST_TEST((values() == of_a));
  view = xt::xarray<float>(of_b);
  BOOST_TEST((values() == of_b));
  view = 3;
  BOOST_TEST((values() == 3 * xt::ones<float>({6, 9})));
}

BOOST_FIXTURE_TEST_CASE(expressions_write_through, Fixture) {
  auto view = a.weights_view(kernel);
  view += 1.0f;
  view *= 2;
  BOOST_TEST((values() == 2 * (of_a + 1)));
  view -= b.weights_view(kernel);
  BOOST_TEST((values() == 2 * (of_a + 1) - of_b));
  xt::noalias(view) = 0.5f * b.weights_view(kernel);
  BOOST_TEST((values() == 0.5f * of_b));
  xt::noalias(view) += of_a;
  BOOST_TEST((values() == 0.5f * of_b + of_a));
  xt::noalias(view) = 4;
  BOOST_TEST((values() == 4 * xt::ones<float>({6, 9})));
  view = 2 * view - xt::ones<float>({6, 9});  // of itself
  BOOST_TEST((values() == 7 * xt::ones<float>({6, 9})));
  view.fill(1);
  BOOST_TEST(view(5, 8) == 1);
  BOOST_TEST(xt::sum(view)() == 54);
  BOOST_TEST(values()(2, 3) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_copy_of_a_view_sees_the_same_memory, Fixture) {
  auto const view = a.weights_view(kernel);
  auto copy = view;
  copy(1, 1) = 99;
  BOOST_TEST(view(1, 1) == 99);
  xt::xarray<float> const array = view;  // but an array has values of its own
  copy(1, 1) = 98;
  BOOST_TEST(array(1, 1) == 99);
}

BOOST_FIXTURE_TEST_CASE(swap_exchanges_values_and_never_views, Fixture) {
  auto of_first = a.weights_view(kernel);
  auto of_second = b.weights_view(kernel);
  swap(of_first, of_second);
  BOOST_TEST((a.weights(kernel) == of_b));
  BOOST_TEST((b.weights(kernel) == of_a));
  BOOST_TEST(message_of<ValueError>([&] { std::swap(of_first, of_second); }) ==
             "the view of a tensor was moved from; to exchange the values of two, call swap");
  BOOST_TEST((a.weights(kernel) == of_b));
}

BOOST_FIXTURE_TEST_CASE(other_extents_are_refused_and_nothing_is_written, Fixture) {
  auto view = a.weights_view(kernel);
  std::string const sentence = "a tensor of extents (6, 9) cannot be assigned values of extents (9, 6)";
  xt::xarray<float> const turned = xt::zeros<float>({9, 6});
  BOOST_TEST(message_of<ShapeError>([&] { view = turned; }) == sentence);
  BOOST_TEST(message_of<ShapeError>([&] { view = 2 * turned; }) == sentence);
  BOOST_TEST(message_of<ShapeError>([&] { xt::noalias(view) = turned; }) == sentence);
  BOOST_TEST(message_of<ShapeError>([&] { view = a.weights_view("dense/bias"); }) ==
             "a tensor of extents (6, 9) cannot be assigned values of extents (9,)");
  BOOST_TEST((values() == of_a));
  BOOST_TEST(view.shape() == (std::vector<std::size_t>{6, 9}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_view_is_host_data_without_a_copy, Fixture) {
  auto view = a.weights_view(kernel);
  BOOST_TEST(host_tensor(view).data == view.data());
  b.set_weights(kernel, a.weights_view(kernel));
  BOOST_TEST((b.weights(kernel) == of_a));
}
