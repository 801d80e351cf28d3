// Batches of few rows, for which threads own rows of the weights: models become what partitions of samples make them.
#define BOOST_TEST_MODULE owned_weights
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/same_bits.hpp"
#include "support/small_training.hpp"
#include "support/steady_steps.hpp"

#include <cstddef>
#include <string>
#include <type_traits>

#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

/// Large matrices with few rows of input and of output; batches of up to 64 rows are taken whole.
auto perceptron() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<256, Tanh>{}, Dropout{.rate = 0.25f},
                    Dense<128, ReLU>{.kernel_regularizer = L2(1e-3)}, Dense<test::classes>{}};
}

template <class Precision, class Strategy, class Layers, class Optimizer, class Then>
void with_trained(Strategy const& strategy, Parallelism plan, Layers const& layers, Optimizer const& optimizer,
                  std::size_t batch, bool shuffled, Then const& then) {
  using T = std::conditional_t<std::is_same_v<Precision, double>, double, float>;
  auto const samples = test::mlp_samples<T>(3 * batch + 1);
  auto model = compile<Precision>(strategy, layers, optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                                  Accuracy{}, CompileOptions{.seed = 5, .parallelism = plan});
  auto const data = shuffled ? samples.data().shuffle(3 * batch + 1, 3).batch(GlobalBatch{batch})
                             : samples.data().batch(GlobalBatch{batch});
  auto const history = fit(strategy, model, data, {.epochs = 2, .verbose = false});
  then(model, history);
}

template <class Layers>
std::size_t whole_rows(Layers const& layers) {
  return rows_for_owned_weights(describe<float>(layers));
}

}  // namespace

BOOST_AUTO_TEST_CASE(models_of_large_matrices_are_taken_whole_while_rows_are_few) {
  BOOST_TEST(whole_rows(Sequential{Input<784>{}, Dense<128, ReLU>{}, Dense<10>{}}) == 196);
  BOOST_TEST(whole_rows(Sequential{Input<28, 28, 1>{}, Flatten{}, Dense<512>{}, Dense<300>{}, Dense<10>{}}) == 128);
  BOOST_TEST(whole_rows(perceptron()) == 64);
}

BOOST_AUTO_TEST_CASE(other_models_are_cut_by_samples) {
  BOOST_TEST(whole_rows(Sequential{Input<3>{}, Dense<64>{}, Dense<64>{}, Dense<1>{}}) == 0);  // small matrices
  BOOST_TEST(whole_rows(Sequential{Input<28, 28, 1>{}, Conv2D<64, 3, 3>{}, Flatten{}, Dense<64>{}}) == 0);
  BOOST_TEST(whole_rows(Sequential{Input<8, 400>{}, Dense<200>{}}) == 0);  // eight positions a sample
  BOOST_TEST(whole_rows(Sequential{Input<4>{}, Embedding<10'000, 16>{}, Flatten{}, Dense<10>{}}) == 0);
  BOOST_TEST(whole_rows(Sequential{Input<784>{}, Dense<128>{}, SyncBatchNormalization<>{}, Dense<10>{}}) == 0);
  BOOST_TEST(whole_rows(Sequential{Input<3>{}, Dense<8192>{}, Dense<8>{}}) == 0);  // no batch has few rows beside three
  BOOST_TEST(whole_rows(Sequential{Input<784>{}, Frozen{Dense<512>{}}, Dense<10>{}}) == 0);
}

BOOST_AUTO_TEST_CASE(weights_and_metrics_are_those_of_partitions_of_samples) {
  SGD const sgd{.learning_rate = 0.05, .momentum = 0.9};
  for (std::size_t batch : {1u, 2u, 7u, 64u, 65u})  // of the last, some batches are taken whole and some are not
    for (bool shuffled : {false, true})
      with_trained<double>(OneDeviceStrategy<>(), Parallelism::samples, perceptron(), sgd, batch, shuffled,
                           [&](auto const& expected, History const& losses) {
                             auto const check = [&](auto const& model, History const& history) {
                               test::check_same_weights(model, expected);
                               test::check_same_history(history, losses, test::tolerance<double>);
                             };
                             BOOST_TEST_CONTEXT("batches of " << batch << (shuffled ? ", shuffled" : "")) {
                               with_trained<double>(OneDeviceStrategy<>(), Parallelism::automatic, perceptron(), sgd,
                                                    batch, shuffled, [&](auto const& model, History const& history) {
                                                      BOOST_TEST(model.engine().placement().find("from 65 rows on") !=
                                                                 std::string::npos);
                                                      check(model, history);
                                                    });
                               with_trained<double>(Accumulate<OneDeviceStrategy<>, 3>(), Parallelism::automatic,
                                                    perceptron(), sgd, batch, shuffled, check);
                               with_trained<double>(MirroredStrategy<>(2), Parallelism::automatic, perceptron(), sgd,
                                                    batch, shuffled, check);
                             }
                           });
}

BOOST_AUTO_TEST_CASE(gradients_that_are_stored_first_have_the_same_bits) {
  for (std::size_t batch : {7u, 64u})
    with_trained<float>(Accumulate<OneDeviceStrategy<>, 1>(), Parallelism::automatic, perceptron(), Adam{}, batch, true,
                        [&](auto const& reference, History const& expected) {
                          with_trained<float>(OneDeviceStrategy<>(), Parallelism::automatic, perceptron(), Adam{},
                                              batch, true, [&](auto const& model, History const& history) {
                                                test::check_same_bits(model, history, reference, expected);
                                              });
                        });
}

BOOST_AUTO_TEST_CASE(short_activations_train_the_same_way) {
  with_trained<Mixed<BFloat16>>(
      OneDeviceStrategy<>(), Parallelism::samples, perceptron(), Adam{}, 32, true,
      [&](auto const& expected, History const& losses) {
        with_trained<Mixed<BFloat16>>(
            OneDeviceStrategy<>(), Parallelism::automatic, perceptron(), Adam{}, 32, true,
            [&](auto const&, History const& history) {
              // Sums in another order round to other short numbers now and then.
              BOOST_TEST(history["loss"].back() == losses["loss"].back(), boost::test_tools::tolerance(1e-3));
              BOOST_TEST(expected.engine().placement().find("samples from") == std::string::npos);
            });
      });
}

BOOST_AUTO_TEST_CASE(a_steady_step_allocates_nothing) {
  auto const samples = test::mlp_samples<float>(61), others = test::mlp_samples<float>(27, 2);
  auto const train = samples.data().batch(GlobalBatch{7}), tests = others.data().batch(GlobalBatch{4});
  test::check_steady(OneDeviceStrategy<>(), perceptron(), Adam{}, train, tests, true, {.epochs = 3, .verbose = false},
                     {Parallelism::automatic});
}
