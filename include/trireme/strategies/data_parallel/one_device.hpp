/// OneDeviceStrategy: one process, one execution space. The reference that every other strategy is tested against.
#pragma once

#include <memory>
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
  static constexpr bool places_parts = true;
  template <class Model>
  using Part = DataParallel<Model, Space, SingleProcess>;

  explicit OneDeviceStrategy(Space const& space = detail::default_space<Space>()) : space_(space) {}

  SingleProcess const& group() const { return *group_; }

  template <class Model>
  Part<Model> place(Model model, Plan plan = Plan::automatic) const {
    return place_as<Part<Model>>(std::move(model), plan);
  }

  /// For strategies around this one, whose parts differ from its own.
  template <class P, class... Options>
  P place_as(typename P::Model model, Plan plan, Options const&... options) const {
    return P(std::move(model), space_, group_, 1, plan, options...);
  }

 private:
  Space space_;
  SharedHandle<SingleProcess const> group_ = std::make_shared<SingleProcess>();
};

}  // namespace trireme
