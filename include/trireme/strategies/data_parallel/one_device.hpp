/// OneDeviceStrategy: one process, one execution space. The reference that every other strategy is tested against.
#pragma once

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/running.hpp"
#include "trireme/strategies/data_parallel/one_process.hpp"

namespace trireme {

template <class SpaceType = Kokkos::DefaultExecutionSpace>
class OneDeviceStrategy : public OneProcessStrategy<SpaceType, OneSpaceEngine> {
 public:
  /// One replica in this execution space, by default the instance that Kokkos has as its default.
  explicit OneDeviceStrategy(SpaceType const& space = default_space<SpaceType>())
      : OneProcessStrategy<SpaceType, OneSpaceEngine>({space}, 1) {}
};

}  // namespace trireme
