/// OneDeviceStrategy: one process, one execution space. The reference that every other strategy is tested against.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/running.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"

namespace trireme {

template <class SpaceType = Kokkos::DefaultExecutionSpace>
class OneDeviceStrategy {
 public:
  using Space = SpaceType;
  static constexpr bool builds_engines = true;
  template <class Model>
  using Engine = DataParallel<Model, Space, SingleProcess>;

  explicit OneDeviceStrategy(Space const& space = default_space<Space>()) : space_(space) {}

  SingleProcess const& group() const { return *group_; }

  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    return build_as<Engine<Model>>(std::move(model), plan);
  }

  /// For adaptors, whose engines differ from this strategy's own: `options` go to their synchronization.
  template <class P, class... Options>
  P build_as(typename P::Model model, Parallelism plan, Options const&... options) const {
    return P(std::move(model), space_, group_, 1, plan, options...);
  }

  std::tuple<> synchronization_options() const { return {}; }

 private:
  Space space_;
  SharedHandle<SingleProcess const> group_ = std::make_shared<SingleProcess>();
};

}  // namespace trireme
