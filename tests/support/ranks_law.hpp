// Law 1 for a model under MultiWorkerMirroredStrategy: the weights, losses and metrics of one device.
#pragma once

#include <cstddef>

#include "support/law_models.hpp"
#include "support/small_training.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace trireme::test {

/// The architecture should give layers before a normalization, and keys, no bias: its gradient is 0, and rounding is
/// all that would be compared. Batches of 7 are uneven over the ranks; of batches of 2 some ranks have nothing.
template <class T, class Architecture>
void check_law(Architecture const& architecture) {
  auto const& world = environment().world();
  for (std::size_t batch : {7u, 2u})
    law::trained<T>(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), architecture, law::Training{.batch = batch},
                    [&](auto const& reference, auto const& expected) {
                      for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
                        law::trained<T>(MultiWorkerMirroredStrategy<>(world, {}, 256), architecture,
                                        law::Training{.parallelism = plan, .batch = batch},
                                        [&](auto const& model, History const& history) {
                                          BOOST_TEST_CONTEXT("batches of " << batch) {
                                            // Of two rows a normalized value changes much with each rounding.
                                            double const limit = (batch == 2 ? 30 : 3) * tolerance<T>;
                                            check_same_weights(model, reference, limit);
                                            check_same_history(history, expected, limit);
                                            check_equal_on_all(world, model);
                                          }
                                        });
                    });
}

}  // namespace trireme::test
