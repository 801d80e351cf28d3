// ranks: 1 2 3 4   labels: law
// Law 1 for convolutions, pooling and dropout.
#define BOOST_TEST_MODULE convolutions
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <tuple>

#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/compile.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/multi_worker_mirrored.hpp"
#include "trireme/strategies/one_device.hpp"

using namespace trireme;

using Scalars = std::tuple<float, double>;

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_train_a_convolutional_network_as_one_device, T, Scalars) {
  auto const& world = test::environment().world();
  auto const train = test::cnn_samples<T>(61);
  auto const data = train.data().shuffle(61, 3).batch(GlobalBatch{7});
  auto const trained = [&](auto const& strategy, Plan plan, auto const& check) {
    auto model = compile<T>(strategy, test::cnn(), SGD{.learning_rate = 0.05, .momentum = 0.9},
                            SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, test::Margin{},
                            CompileOptions{.seed = 5, .plan = plan});
    auto const history = fit(strategy, model, data, {.epochs = 3, .verbose = false});
    check(model, history);
  };
  trained(OneDeviceStrategy<>(), Plan::rows, [&](auto const& reference, History const& expected) {
    for (Plan plan : {Plan::rows, Plan::products})
      trained(MultiWorkerMirroredStrategy<>(world, {}, 256), plan, [&](auto const& model, History const& history) {
        test::check_same_weights(model, reference);
        test::check_same_history(history, expected, test::tolerance<T>);
        test::check_equal_on_all(world, model);
      });
  });
}
