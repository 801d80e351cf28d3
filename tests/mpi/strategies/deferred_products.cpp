// ranks: 1 2 3   labels: law
// Law 1 where the threads of each rank compute gradients of large matrices together, or own rows of them: the weights
// of one device.
#define BOOST_TEST_MODULE mpi_deferred_products
#include "support/own_threads.hpp"
#include "support/same_bits.hpp"
#include "support/slow_layer.hpp"

#include <cstddef>
#include <string>

#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;
using test::law::trained, test::law::Training;

namespace {

// Three threads, two, three again: nothing may depend on their number.
using Threads = test::OwnThreads<[](std::size_t rank) { return 3 - rank % 2; }>;
BOOST_TEST_GLOBAL_FIXTURE(Threads);

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_have_several_threads) { BOOST_TEST(Kokkos::DefaultHostExecutionSpace().concurrency() >= 2); }

BOOST_AUTO_TEST_CASE(ranks_of_several_threads_train_as_one_device) {
  auto const& world = Threads::environment->world();
  for (std::size_t batch : {1u, 2u, 7u, 25u})  // of batches of 1 and 2 some ranks have nothing
    trained<double>(OneDeviceStrategy<>(), test::law::deep(),
                    Training{.parallelism = Parallelism::intra_op, .batch = batch},
                    [&](auto const& expected, History const& losses) {
                      auto const check = [&](auto const& model, History const& history) {
                        test::check_same_weights(model, expected);
                        test::check_same_history(history, losses, test::tolerance<double>);
                        test::check_equal_on_all(world, model);
                      };
                      for (Exchange exchange : {Exchange::automatic, Exchange::messages})
                        BOOST_TEST_CONTEXT("batches of " << batch)
                      trained<double>(MultiWorkerMirroredStrategy<>(world, {}, 256, exchange), test::law::deep(),
                                      Training{.parallelism = Parallelism::samples, .batch = batch}, check);
                    });
}

BOOST_AUTO_TEST_CASE(ranks_whose_threads_own_rows_of_the_weights_train_as_one_device) {
  auto const& world = Threads::environment->world();
  // Batches of up to 32 rows are taken whole; of 97, and of what is left of them, by some of three ranks only.
  Sequential const layers{test::law::input(), Flatten{}, Dense<128, Tanh>{}, Dense<256, ReLU>{},
                          Dense<test::classes>{}};
  for (std::size_t batch : {2u, 25u, 97u})
    trained<double>(OneDeviceStrategy<>(), layers, Training{.parallelism = Parallelism::samples, .batch = batch},
                    [&](auto const& expected, History const& losses) {
                      for (Exchange exchange : {Exchange::automatic, Exchange::messages})
                        BOOST_TEST_CONTEXT("batches of " << batch)
                      trained<double>(
                          MultiWorkerMirroredStrategy<>(world, {}, 256, exchange), layers,
                          Training{.parallelism = Parallelism::automatic, .batch = batch},
                          [&](auto const& model, History const& history) {
                            BOOST_TEST(model.engine().placement().find("from 33 rows on") != std::string::npos);
                            test::check_same_weights(model, expected);
                            test::check_same_history(history, losses, test::tolerance<double>);
                            test::check_equal_on_all(world, model);
                          });
                    });
}

BOOST_AUTO_TEST_CASE(ranks_whose_threads_have_two_partitions_train_as_one_device) {
  auto const& world = Threads::environment->world();
  Sequential const layers{test::law::input(), Flatten{}, test::SlowDense<128>{}, Dense<256, ReLU>{},
                          Dense<test::classes>{}};
  for (std::size_t batch : {25u, 97u, 151u})  // in the last batch of an epoch ranks have one partition a thread
    trained<double>(OneDeviceStrategy<>(), layers, Training{.parallelism = Parallelism::intra_op, .batch = batch},
                    [&](auto const& expected, History const& losses) {
                      for (Exchange exchange : {Exchange::automatic, Exchange::messages})
                        BOOST_TEST_CONTEXT("batches of " << batch)
                      trained<double>(MultiWorkerMirroredStrategy<>(world, {}, 256, exchange), layers,
                                      Training{.parallelism = Parallelism::samples, .batch = batch},
                                      [&](auto const& model, History const& history) {
                                        test::check_same_weights(model, expected);
                                        test::check_same_history(history, losses, test::tolerance<double>);
                                        test::check_equal_on_all(world, model);
                                      });
                    });
}
