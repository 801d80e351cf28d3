// Law 1 within one process: replicas train as one device does.
#define BOOST_TEST_MODULE mirrored_mlp
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>

#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/compile.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/mirrored.hpp"
#include "trireme/strategies/one_device.hpp"

using namespace trireme;

namespace {

template <class T, class Strategy, class Optimizer>
auto compiled(Strategy const& strategy, Optimizer const& optimizer, Plan plan) {
  return compile<T>(strategy, test::mlp(), optimizer, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                    test::Margin{}, CompileOptions{.seed = 11, .plan = plan});
}

/// 20 steps and more, and validation, for 1 to 5 replicas against one device.
template <class T, class Optimizer>
void check_replicas(Optimizer const& optimizer, std::size_t samples, std::size_t batch, std::size_t epochs) {
  auto const train = test::mlp_samples<T>(samples), validate = test::mlp_samples<T>(17, 2);
  auto const data = train.data().shuffle(samples, 7).batch(GlobalBatch{batch});
  auto const tests = validation(validate.data().batch(GlobalBatch{4}));
  FitOptions const options{.epochs = epochs, .verbose = false};

  OneDeviceStrategy<> const one;
  auto reference = compiled<T>(one, optimizer, Plan::products);
  auto const expected = fit(one, reference, data, tests, options);
  BOOST_TEST(reference.part().iteration() >= 20u);
  auto const prediction = predict(one, reference, tests.data);

  for (std::size_t replicas = 1; replicas <= 5; ++replicas)
    for (Plan plan : {Plan::rows, Plan::products}) {
      BOOST_TEST_CONTEXT(replicas << " replicas, batches of " << batch
                                  << (plan == Plan::rows ? ", rows" : ", products")) {
        MirroredStrategy<> const strategy(replicas);
        auto model = compiled<T>(strategy, optimizer, plan);
        auto const history = fit(strategy, model, data, tests, options);
        test::check_same_weights(model, reference);
        test::check_same_history(history, expected, test::tolerance<T>);
        test::check_same_logs(evaluate(strategy, model, tests.data), evaluate(one, reference, tests.data),
                              test::tolerance<T>);
        BOOST_TEST(test::distance(predict(strategy, model, tests.data), prediction) <= test::tolerance<T>);
      }
    }
}

using Scalars = std::tuple<float, double>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_train_as_one_device_over_batches_that_do_not_divide, T, Scalars) {
  check_replicas<T>(SGD{.learning_rate = 0.1, .momentum = 0.9, .global_clipnorm = 0.5}, 61, 7, 3);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_without_rows_add_nothing_and_still_take_the_step, T, Scalars) {
  check_replicas<T>(SGD{.learning_rate = 0.1}, 21, 2, 2);  // 11 batches, the last of one sample
}

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_train_as_one_device_with_adam, T, Scalars) {
  check_replicas<T>(Adam{.learning_rate = 1e-2}, 61, 7, 3);
}

BOOST_AUTO_TEST_CASE(a_batch_per_replica_grows_with_their_number) {
  auto const samples = test::mlp_samples<double>(60);
  OneDeviceStrategy<> const one;
  MirroredStrategy<> const three(3);
  auto reference = compiled<double>(one, SGD{}, Plan::rows);
  auto model = compiled<double>(three, SGD{}, Plan::rows);
  fit(one, reference, samples.data().batch(GlobalBatch{12}), {.verbose = false});
  fit(three, model, samples.data().batch(PerReplicaBatch{4}), {.verbose = false});
  BOOST_TEST(model.part().iteration() == 5u);
  test::check_same_weights(model, reference);
}

BOOST_AUTO_TEST_CASE(no_replica_is_an_error) { BOOST_CHECK_THROW(MirroredStrategy<>(0), ValueError); }
