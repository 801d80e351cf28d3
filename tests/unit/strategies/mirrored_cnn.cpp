// Law 1 within one process, with convolutions, pooling and dropout.
#define BOOST_TEST_MODULE mirrored_cnn
#include "support/kokkos_fixture.hpp"

#include "trireme/optimizers/sgd.hpp"
#include "unit/strategies/replicas_law.hpp"

using namespace trireme;
using test::Scalars;

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_train_as_one_device_over_batches_that_do_not_divide, T, Scalars) {
  test::check_replicas<T, test::Convolutional>(SGD{.learning_rate = 0.1, .momentum = 0.9, .global_clipnorm = 0.5}, 61,
                                               7, 3);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_without_rows_add_nothing_and_still_take_the_step, T, Scalars) {
  test::check_replicas<T, test::Convolutional>(SGD{.learning_rate = 0.1}, 21, 2,
                                               2);  // 11 batches, the last of one sample
}
