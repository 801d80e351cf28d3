/// MultiWorkerMirroredStrategy: every rank of a communicator holds the model and takes its rows of each global batch.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/running.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"
#include "trireme/strategies/data_parallel/device_options.hpp"

namespace trireme {

/// Sums of gradients and metrics are reduced with MPI, bucket by bucket, while backward still computes; ranks that
/// share memory divide the update instead. Works on any communicator, which is duplicated; strategies on the parts of a
/// split one are independent.
template <class SpaceType = Kokkos::DefaultExecutionSpace>
class MultiWorkerMirroredStrategy {
 public:
  using Space = SpaceType;
  static constexpr bool builds_engines = true;
  template <class Model>
  using Engine = DataParallel<Model, Space, Communicator>;

  /// Collective. `bucket_bytes`: gradients that are reduced at once; small buckets start early, large ones take fewer
  /// calls; 0: depends on the model's size. `exchange`: ranks that all share a node divide the update and read in
  /// memory what the others have, without buckets, unless messages are requested. `options`: how steps
  /// on a device are launched.
  explicit MultiWorkerMirroredStrategy(Communicator const& communicator, Space const& space = default_space<Space>(),
                                       std::size_t bucket_bytes = 0, Exchange exchange = Exchange::automatic,
                                       DeviceOptions const& options = {})
      : group_(std::make_shared<Communicator>(communicator.duplicate())),
        space_(space),
        bucket_bytes_(bucket_bytes),
        exchange_(exchange),
        options_(options) {}

  Communicator const& group() const { return *group_; }
  /// Duplicate of the communicator that the strategy was made of; the same as `group()`.
  Communicator const& communicator() const { return *group_; }

  void config(Config& c) const {
    c("bucket_bytes", bucket_bytes_);
    c("exchange", exchange_);
  }

  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    return build_as<Engine<Model>>(std::move(model), plan, bucket_bytes_, exchange_);
  }

  /// For adaptors, whose engines differ from this strategy's own: `options` go to their synchronization.
  template <class P, class... Options>
  P build_as(typename P::Model model, Parallelism plan, Options const&... options) const {
    return detail::make_engine<P>(options_, std::move(model), space_, group_, std::size_t{1}, plan, options...);
  }

  auto synchronization_options() const { return std::tuple(bucket_bytes_, exchange_); }

 private:
  SharedHandle<Communicator const> group_;
  Space space_;
  std::size_t bucket_bytes_;
  Exchange exchange_;
  DeviceOptions options_;
};

}  // namespace trireme
