// Law 1 within one process: replicas train as one device does.
#define BOOST_TEST_MODULE mirrored_mlp
#include "support/kokkos_fixture.hpp"

#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "unit/strategies/replicas_law.hpp"

using namespace trireme;
using test::Scalars;

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_train_as_one_device_over_batches_that_do_not_divide, T, Scalars) {
  test::check_replicas<T, test::Perceptron>(SGD{.learning_rate = 0.1, .momentum = 0.9, .global_clipnorm = 0.5}, 61, 7,
                                            3);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_without_rows_add_nothing_and_still_take_the_step, T, Scalars) {
  test::check_replicas<T, test::Perceptron>(SGD{.learning_rate = 0.1}, 21, 2, 2);  // 11 batches, the last of one sample
}

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_train_as_one_device_with_adam, T, Scalars) {
  test::check_replicas<T, test::Perceptron>(Adam{.learning_rate = 1e-2}, 61, 7, 3);
}

BOOST_AUTO_TEST_CASE(a_batch_per_replica_grows_with_their_number) {
  auto const samples = test::mlp_samples<double>(60);
  OneDeviceStrategy<> const one;
  MirroredStrategy<> const three(3);
  auto reference = test::compiled<double, test::Perceptron>(one, SGD{}, Parallelism::samples);
  auto model = test::compiled<double, test::Perceptron>(three, SGD{}, Parallelism::samples);
  fit(one, reference, samples.data().batch(GlobalBatch{12}), {.verbose = false});
  fit(three, model, samples.data().batch(PerReplicaBatch{4}), {.verbose = false});
  BOOST_TEST(model.engine().iteration() == 5u);
  test::check_same_weights(model, reference);
}

BOOST_AUTO_TEST_CASE(no_replica_is_an_error) { BOOST_CHECK_THROW(MirroredStrategy<>(0), ValueError); }
