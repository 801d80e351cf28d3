// Weights that are updated while backward goes on become what they become when all gradients are stored first.
#define BOOST_TEST_MODULE update_in_backward
#include "support/kokkos_fixture.hpp"
#include "support/same_bits.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/update_in_backward.hpp"

using namespace trireme;
namespace law = test::law;

namespace {

/// Accumulate has all gradients in the arena before the optimizer's pass.
using Stored = Accumulate<OneDeviceStrategy<>, 1>;

template <class Precision, class Architecture, class Optimizer>
void check(Architecture const& architecture, Optimizer const& optimizer, std::size_t batch) {
  auto const samples = test::cnn_samples<float>(3 * batch + 1);
  auto const with_trained = [&](auto const& strategy, auto const& then) {
    auto model =
        compile<Precision>(strategy, architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                           Accuracy{}, CompileOptions{.seed = 5, .parallelism = Parallelism::intra_op});
    auto const history =
        fit(strategy, model, samples.data().batch(GlobalBatch{batch}), {.epochs = 2, .verbose = false});
    then(model, history);
  };
  with_trained(Stored(), [&](auto const& reference, History const& expected) {
    with_trained(OneDeviceStrategy<>(), [&](auto const& model, History const& history) {
      test::check_same_bits(model, history, reference, expected);
    });
  });
}

template <class Architecture>
void check_all(Architecture const& architecture) {
  for (std::size_t batch : {1u, 7u, 70u}) {  // 70 rows: gradients come as a whole
    check<float>(architecture, SGD{.learning_rate = 0.02, .momentum = 0.9}, batch);
    check<float>(architecture, Adam{.learning_rate = 1e-3}, batch);
  }
}

auto wide() {  // rows of gradients that are longer than a block
  return Sequential{law::input(), Flatten{}, Dense<1100, Tanh>{}, Dense<30, ReLU>{}, Dense<test::classes>{}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_wide_perceptron_has_the_same_bits) { check_all(wide()); }

BOOST_AUTO_TEST_CASE(layers_that_store_their_gradients_have_the_same_bits_beside_those_that_do_not) {
  check_all(law::recurrent());
  check_all(law::transformer());
  check_all(law::normalized(BatchNormalization<>{}));
}

BOOST_AUTO_TEST_CASE(frozen_layers_stay_as_they_are) {
  check_all(Sequential{law::input(), Flatten{}, Frozen{Dense<20, Tanh>{}}, Dense<10, Tanh>{}, Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(one_layer_on_several_inputs_is_updated_once_with_the_sum) {
  check_all(Sequential{law::input(), Flatten{}, Fork{Dense<12, Tanh>{}, Dense<12, ReLU>{}}, Each{Dense<9, Tanh>{}},
                       Concatenate{}, Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(penalties_and_clipping_see_all_gradients) {
  check_all(law::perceptron());
  for (std::size_t batch : {1u, 7u}) {
    check<float>(wide(), SGD{.learning_rate = 0.02, .momentum = 0.9, .global_clipnorm = 0.1}, batch);
    check<float>(wide(), SGD{.learning_rate = 0.02, .clipvalue = 0.001}, batch);
  }
}

BOOST_AUTO_TEST_CASE(master_weights_of_mixed_precision_have_the_same_bits) {
  check<Mixed<BFloat16>>(wide(), SGD{.learning_rate = 0.02, .momentum = 0.9}, 7);
}

BOOST_AUTO_TEST_CASE(what_is_not_in_the_arena_is_not_taken_and_what_is_not_taken_is_left) {
  std::vector<double> weights(100, 1.0), gradients(100, 0.0), elsewhere(10);
  auto const step = SGD{}.step<double>(1, 0.5);
  kernels::OptimizerStep<double, decltype(step)> const kernel{step, weights.data(), gradients.data(), {}};
  std::vector<BucketRange> taken{{1, 2}};
  UpdateInBackward updates(kernel, gradients.data(), 100, taken);
  BOOST_TEST(!updates.takes(elsewhere.data(), 10));
  BOOST_TEST(!updates.takes(gradients.data() + 100, 10));
  BOOST_TEST(updates.takes(gradients.data() + 60, 30));
  BOOST_TEST(updates.takes(gradients.data() + 10, 20));
  std::vector<double> const values(20, 2.0);
  updates.take(gradients.data() + 10, values.data(), 20);
  for (std::size_t i = 0; i < weights.size(); ++i) BOOST_TEST(weights[i] == (i >= 10 && i < 30 ? 0.0 : 1.0));
  std::vector<std::size_t> bounds;
  updates.for_each_left([&](std::size_t begin, std::size_t end) { bounds.insert(bounds.end(), {begin, end}); });
  std::vector<std::size_t> const expected{0, 10, 30, 60, 90, 100};
  BOOST_TEST(bounds == expected, boost::test_tools::per_element());
}
