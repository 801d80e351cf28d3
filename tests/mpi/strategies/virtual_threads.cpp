// ranks: 3   labels: law
// The number of threads does not show: rank r has r + 1 of them, and all come to the same bits, alone and together.
#define BOOST_TEST_MODULE virtual_threads
#include "support/own_threads.hpp"
#include "support/same_bits.hpp"

#include <cstddef>

#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;
using test::law::trained, test::law::Training;

namespace {

using OwnThreads = test::OwnThreads<[](std::size_t rank) { return rank + 1; }>;
BOOST_TEST_GLOBAL_FIXTURE(OwnThreads);

using Alone = VirtualReplicas<OneDeviceStrategy<>, 5>;
using Ranks = VirtualReplicas<MultiWorkerMirroredStrategy<>, 5>;

template <class T, class Architecture>
void check_bits(Architecture const& architecture) {
  auto const& world = OwnThreads::environment->world();
  for (std::size_t batch : {13u, 3u}) {
    Training const training{.parallelism = Parallelism::automatic, .batch = batch, .clipnorm = 0.3};
    trained<T>(Alone(), architecture, training, [&](auto const& reference, History const& expected) {
      test::check_equal_on_all(world, reference);
      trained<T>(Ranks(world), architecture, training, [&](auto const& model, History const& history) {
        test::check_same_bits(model, history, reference, expected);
      });
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_have_different_numbers_of_threads) {
  BOOST_TEST(Kokkos::DefaultHostExecutionSpace().concurrency() ==
             static_cast<int>(OwnThreads::environment->world().rank()) + 1);
}
BOOST_AUTO_TEST_CASE(threads_do_not_show_with_dropout_penalty_and_clipping) {
  check_bits<float>(test::law::perceptron());
  check_bits<double>(test::law::perceptron());
}
BOOST_AUTO_TEST_CASE(threads_do_not_show_in_a_convolutional_network) { check_bits<float>(test::cnn()); }
BOOST_AUTO_TEST_CASE(threads_do_not_show_in_statistics_of_a_shard) {
  check_bits<float>(test::law::normalized(BatchNormalization<>{.momentum = 0.8}));
}
BOOST_AUTO_TEST_CASE(threads_do_not_show_in_statistics_of_the_batch) {
  check_bits<float>(test::law::normalized(SyncBatchNormalization<>{.momentum = 0.8}));
}
BOOST_AUTO_TEST_CASE(threads_do_not_show_in_recurrent_layers) { check_bits<float>(test::law::recurrent()); }
BOOST_AUTO_TEST_CASE(threads_do_not_show_in_a_transformer_block) { check_bits<float>(test::law::transformer()); }

BOOST_AUTO_TEST_CASE(threads_do_not_show_in_products_that_a_blas_computes) {
  check_bits<float>(
      Sequential{test::law::input(), Flatten{}, Dense<600, ReLU>{}, Dense<600, ReLU>{}, Dense<test::classes>{}});
}
