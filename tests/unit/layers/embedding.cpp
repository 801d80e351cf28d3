// Embedding: what it looks up, gradients of indices that occur several times, and what is no index.
#define BOOST_TEST_MODULE embedding
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/select.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "unit/layers/gradient_check.hpp"

using namespace trireme;

namespace {

template <class Context>
void check_sums() {
  Embedding<5, 19> const layer;
  test::LayerHarness<Context, Embedding<5, 19>, Extents<4>> harness(layer, {}, 3, 8);
  harness.x = {4, 0, 4, 4, 1, 0, 0, 3, 4, 1, 1, 1};
  auto const y = harness.forward();
  auto const [dx, gradients] = harness.backward();
  std::vector<double> expected(gradients.size());
  for (std::size_t p = 0; p < harness.x.size(); ++p)
    for (std::size_t j = 0; j < 19; ++j) {
      std::size_t const at = static_cast<std::size_t>(harness.x[p]) * 19 + j;
      BOOST_TEST(y[p * 19 + j] == harness.parameters[at]);
      expected[at] += harness.dy[p * 19 + j];
    }
  BOOST_TEST(gradients == expected, boost::test_tools::per_element());
  BOOST_TEST(dx == std::vector<double>(12), boost::test_tools::per_element());
}

auto model() {
  return compile(OneDeviceStrategy<>(), Sequential{Input<3>{}, Embedding<6, 4>{}, Flatten{}, Dense<4>{}}, Adam{},
                 SparseCategoricalCrossentropy{.from_logits = true});
}

template <class X>
std::string message(X const& x) {
  auto compiled = model();
  std::vector<std::int32_t> const y(x.shape(0), 1);
  return test::message_of<ValueError>([&] {
    fit(OneDeviceStrategy<>(), compiled, data::from_tensor_slices(x, y).named("words.npy").batch(GlobalBatch{2}),
        {.verbose = false});
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_are_looked_up_and_their_gradients_are_sums_over_all_occurrences) {
  check_sums<ThreadContext>();
  check_sums<SpaceContext<Kokkos::DefaultHostExecutionSpace>>();
}

BOOST_AUTO_TEST_CASE(what_is_no_index_reads_zeros_and_trains_nothing) {
  test::LayerHarness<ThreadContext, Embedding<5, 2>, Extents<4>> harness({}, {}, 1, 8);
  harness.x = {5, -1, std::nan(""), 1e300};
  for (double const value : harness.forward()) BOOST_TEST(value == 0.0);
  for (double const value : harness.backward().second) BOOST_TEST(value == 0.0);
}

BOOST_AUTO_TEST_CASE(data_that_are_no_indices_are_an_error_that_names_the_first) {
  BOOST_TEST(message(xt::xarray<float>{{0, 1, 2}, {3, 4, 5}, {1, 6, 7}}) ==
             "input 6 of sample 2 of words.npy is outside of the vocabulary [0, 6)");
  BOOST_TEST(message(xt::xarray<std::int32_t>{{0, 1, 2}, {3, -4, 5}}) ==
             "input -4 of sample 1 of words.npy is outside of the vocabulary [0, 6)");
  BOOST_TEST(message(xt::xarray<float>{{0, 1, 2.5f}}) ==
             "input 2.5 of sample 0 of words.npy is not an integer, but the model looks it up");
  BOOST_TEST(message(xt::xarray<float>{{0, 1, NAN}}) ==
             "input nan of sample 0 of words.npy is not an integer, but the model looks it up");
}

BOOST_AUTO_TEST_CASE(data_that_come_as_they_are_read_are_checked_batch_by_batch) {
  auto compiled = model();
  auto const words =
      data::from_tensor_slices(xt::xarray<float>{{0, 1, 2}, {3, 4, 5}, {0, 0, 1}}, std::vector<std::int32_t>{0, 1, 2})
          .map<float>({3}, [](std::span<float const> in, std::span<float> out) {
            for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * 2;
          });
  BOOST_TEST(test::message_of<ValueError>([&] {
               fit(OneDeviceStrategy<>(), compiled, words.batch(GlobalBatch{2}), {.verbose = false});
             }) == "input 6 of row 1 of a batch of the training data is outside of the vocabulary [0, 6)");
}

BOOST_AUTO_TEST_CASE(of_several_inputs_those_that_are_looked_up_are_checked) {
  // A number, words through a shared and a smaller table, words of another language behind a Fork, and what is no
  // index.
  auto compiled = compile(
      OneDeviceStrategy<>(),
      Sequential{Inputs{Input<1>{}, Input<2>{}, Input<2>{}, Input<2>{}},
                 Fork{Sequential{Select<0>{}, Dense<3>{}},
                      Sequential{Select<1, 2>{}, Each{Sequential{Embedding<9, 3>{}, Flatten{}}}, Add{}, Dense<3>{}},
                      Sequential{Select<2>{}, Frozen{Embedding<6, 4>{}}, Flatten{}, Dense<3>{}},
                      Sequential{Select<3>{}, ReLU{}, Embedding<2, 2>{}, Flatten{}, Dense<3>{}}},
                 Add{}},
      Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
  std::vector<std::int32_t> const y{0, 1};
  auto const message = [&](auto const& number, xt::xarray<float> const& words, xt::xarray<std::int32_t> const& others) {
    return test::message_of<ValueError>([&] {
      auto const x = std::tuple{number, words, others, xt::xarray<float>{{0.5f, 7}, {-1, 0}}};
      fit(OneDeviceStrategy<>(), compiled, data::from_tensor_slices(x, y).named("words.npz").batch(GlobalBatch{2}),
          {.verbose = false});
    });
  };
  xt::xarray<float> const numbers = 100.5f * xt::ones<float>({2, 1}), words{{0, 8}, {3, 1}};
  xt::xarray<std::int32_t> const others{{0, 1}, {5, 2}};
  BOOST_TEST(message(numbers, words, others) == "");
  BOOST_TEST(message(numbers, {{0, 8}, {9, 1}}, others) ==
             "input 9 of sample 1 of words.npz is outside of the vocabulary [0, 9)");
  BOOST_TEST(message(numbers, {{0, 1.5f}, {9, 1}}, others) ==
             "input 1.5 of sample 0 of words.npz is not an integer, but the model looks it up");
  BOOST_TEST(message(numbers, words, {{0, 6}, {5, 2}}) ==
             "input 6 of sample 0 of words.npz is outside of the vocabulary [0, 6)");
  BOOST_TEST(message(numbers, words, {{0, 1}, {5, -2}}) ==
             "input -2 of sample 1 of words.npz is outside of the vocabulary [0, 6)");
  BOOST_TEST(
      test::message_of<ValueError>([&] {
        compiled.train_on_batch(
            std::tuple{numbers, words, xt::xarray<std::int32_t>{{0, 1}, {5, 7}}, xt::xarray<float>{{0, 7}, {1, 0}}}, y);
      }) == "input 7 of sample 1 of the batch is outside of the vocabulary [0, 6)");
}

BOOST_AUTO_TEST_CASE(a_vocabulary_beyond_what_the_scalar_holds_is_an_error) {
  Sequential const large{Input<1>{}, Embedding<dynamic, 1>{.vocabulary = (1u << 24) + 1}, Flatten{}, Dense<2>{}};
  BOOST_TEST(
      test::message_of<ValueError>([&] {
        compile(OneDeviceStrategy<>(), large, Adam{}, SparseCategoricalCrossentropy{.from_logits = true}).summary();
      }) == "a vocabulary of 16777217 is more than the 16777216 indices that the model's scalar holds exactly");
}
