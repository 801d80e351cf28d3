// ranks: 1 2
// Tables whose rows travel, frozen layers, GRU, clipping and mixed precision train on devices as on one host.
#define BOOST_TEST_MODULE device_models
#include "support/device.hpp"

#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cmath>
#include <cstddef>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/gru.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/rmsprop.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

template <class Precision, class Strategy, class Architecture, class Optimizer, class Check>
void trained(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer,
             test::Samples<double> const& samples, Check const& check) {
  auto model = compile<Precision>(strategy, architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                                  Accuracy{}, CompileOptions{.seed = 5});
  auto const data = samples.data().shuffle(100, 3).batch(GlobalBatch{7});
  auto const history =
      fit(strategy, model, data, validation(samples.data().batch(GlobalBatch{5})), {.epochs = 2, .verbose = false});
  check(model, history);
}

/// The device trains with the weights and logs of the host.
template <class Precision, class Architecture, class Optimizer>
void check_device(Architecture const& architecture, Optimizer const& optimizer, test::Samples<double> const& samples,
                  double limit) {
  auto const& world = test::environment().world();
  trained<Precision>(
      OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), architecture, optimizer, samples,
      [&](auto const& reference, History const& expected) {
        MultiWorkerMirroredStrategy<test::Device> const strategy(world, test::device(1 + world.rank()), 256);
        trained<Precision>(strategy, architecture, optimizer, samples, [&](auto const& model, History const& history) {
          test::check_same_weights(model, reference, limit);
          test::check_same_history(history, expected, limit);
          test::check_equal_on_all(world, model);
        });
      });
}

auto image() { return Input<test::cnn_inputs[0], test::cnn_inputs[1], test::cnn_inputs[2]>{}; }

}  // namespace

BOOST_AUTO_TEST_CASE(tables_of_which_rows_travel) {
  auto samples = test::make_samples<double>(29, {5}, test::classes);
  for (double& value : samples.x) value = std::floor(std::abs(value * value * value) * 35);
  Sequential const network{Input<5>{},
                           Concatenate{Embedding<40, 6>{.sparse_from = 0}, Sequential{Embedding<40, 3>{}, Dense<2>{}}},
                           Flatten{}, Dense<7, Tanh>{}, Dense<test::classes>{}};
  check_device<double>(network, Adam{.learning_rate = 0.01, .epsilon = 1e-3, .global_clipnorm = 0.5}, samples, 1e-12);
}

BOOST_AUTO_TEST_CASE(frozen_layers_and_recurrences) {
  Sequential const network{image(),
                           Frozen{Sequential{Conv2D<4, 3, 3, Same, NoBias>{}, BatchNormalization<>{}}},
                           Reshape<test::cnn_inputs[0], test::cnn_inputs[1] * 4>{},
                           GRU<5, ReturnSequences>{.kernel_regularizer = L2(1e-2)},
                           GRU<4>{},
                           Dense<test::classes>{}};
  check_device<double>(network, RMSprop{.learning_rate = 0.01, .epsilon = 1e-3, .clipnorm = 0.5},
                       test::cnn_samples<double>(29), 1e-12);
}

BOOST_AUTO_TEST_CASE(mixed_precision) {
  Sequential const network{image(), Conv2D<3, 3, 3, ReLU, Same>{}, Flatten{}, Dropout{.rate = 0.25f},
                           Dense<test::classes>{}};
  check_device<Mixed<BFloat16, double>>(network, SGD{.learning_rate = 0.02, .momentum = 0.9},
                                        test::cnn_samples<double>(29), 1e-11);
}
