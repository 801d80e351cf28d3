/// OneSpaceStrategy: base of the strategies of one process with one execution space.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"

namespace trireme {

/// OneDeviceStrategy and, on a host, MirroredStrategy, whose replicas run in turn.
template <class SpaceType>
class OneSpaceStrategy {
 public:
  using Space = SpaceType;
  static constexpr bool builds_engines = true;
  template <class Model>
  using Engine = DataParallel<Model, Space, SingleProcess>;

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

 protected:
  explicit OneSpaceStrategy(Space const& space, std::size_t replicas) : space_(space), replicas_(replicas) {}

  std::size_t replica_count() const { return replicas_; }

 private:
  Space space_;
  std::size_t replicas_;
  SharedHandle<SingleProcess const> group_ = std::make_shared<SingleProcess>();
};

}  // namespace trireme
