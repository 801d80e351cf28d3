/// MirroredStrategy: R replicas of the model within one process, without MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/running.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"

namespace trireme {

/// Replicas take even parts of each batch; their gradients are added in the order of the replicas. On a host, R may be
/// any number: they run in turn, in as many partitions as the space has threads.
template <class SpaceType = Kokkos::DefaultExecutionSpace>
class MirroredStrategy {
 public:
  using Space = SpaceType;
  static constexpr bool builds_engines = true;
  template <class Model>
  using Engine = DataParallel<Model, Space, SingleProcess>;

  explicit MirroredStrategy(std::size_t replicas, Space const& space = detail::default_space<Space>())
      : replicas_(replicas), space_(space) {
    require_in(intervals::positive_count, "MirroredStrategy::replicas", static_cast<double>(replicas));
  }

  std::size_t replicas() const { return replicas_; }
  SingleProcess const& group() const { return *group_; }

  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    return build_as<Engine<Model>>(std::move(model), plan);
  }

  /// For adaptors, whose engines differ from this strategy's own: `options` go to their synchronization.
  template <class P, class... Options>
  P build_as(typename P::Model model, Parallelism plan, Options const&... options) const {
    return P(std::move(model), space_, group_, replicas_, plan, options...);
  }

  std::tuple<> synchronization_options() const { return {}; }

 private:
  std::size_t replicas_;
  Space space_;
  SharedHandle<SingleProcess const> group_ = std::make_shared<SingleProcess>();
};

}  // namespace trireme
