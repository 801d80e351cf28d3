/// MirroredStrategy: R replicas of the model within one process, without MPI: on several devices, or in turn on one.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/device_instances.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/thread_group.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"
#include "trireme/strategies/data_parallel/mirrored_engine.hpp"
#include "trireme/strategies/data_parallel/one_process.hpp"
#include "trireme/strategies/gradients/device_gradients.hpp"

namespace trireme {

/// Replicas take even parts of each batch; their gradients are added in the order of the replicas. On a host, R may be
/// any number: they run in turn, in as many partitions as the space has threads.
///
/// On devices, `MirroredStrategy<Kokkos::Cuda>::over_devices({0, 1})`, or a list of instances: each device has weights
/// and optimizer state of its own, and all take the same steps together. `MirroredStrategy<Kokkos::Cuda>(R)` runs R
/// replicas in turn on one device.
template <class SpaceType = Kokkos::DefaultExecutionSpace>
class MirroredStrategy : public OneProcessStrategy<SpaceType, OneSpaceEngine> {
 public:
  /// Replicas that run in turn in one space. \throws ValueError if there is none
  explicit MirroredStrategy(std::size_t replicas, SpaceType const& space = default_space<SpaceType>())
      : OneProcessStrategy<SpaceType, OneSpaceEngine>({space}, replicas) {
    require_in(intervals::positive_count, "MirroredStrategy::replicas", static_cast<double>(replicas));
  }

  /// Number of replicas, among which the rows of a batch are divided.
  std::size_t replicas() const { return this->replica_count(); }
};

/// The engine of a process with several devices.
template <class Model, class Space>
using DevicesEngine = MirroredEngine<DataParallel<Model, Space, ThreadGroup>>;

/// Over devices. Each is driven by a host thread, and takes its rows of each batch from host memory; gradients travel
/// by copies between the devices' memories, so that peer access is not needed.
template <class SpaceType>
  requires(!is_host_space<SpaceType>)
class MirroredStrategy<SpaceType> : public OneProcessStrategy<SpaceType, DevicesEngine> {
  using Base = OneProcessStrategy<SpaceType, DevicesEngine>;

 public:
  using Space = SpaceType;
  /// Its engines are several, over a group of threads within the process.
  static constexpr bool joins_devices = true;
  /// An engine of another type on each device.
  template <class Model, template <class, class, class> class Of>
  using EngineOf = MirroredEngine<Of<Model, Space, ThreadGroup>>;

  /// \param devices  instances, each of a device of its own. Two instances of one device are allowed, and gain nothing.
  /// \throws ValueError if there is none, or if one stands in the list twice
  explicit MirroredStrategy(std::vector<Space> devices) : Base(std::move(devices), 1) {
    if (this->devices().empty()) throw ValueError("MirroredStrategy was given no devices");
    for (std::size_t i = 0; i < this->devices().size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (this->devices()[i] == this->devices()[j])
          throw ValueError(
              formatted("MirroredStrategy was given one instance twice, as devices {} and {} of its list", j, i));
  }
  /// Replicas that run in turn on one device.
  explicit MirroredStrategy(std::size_t replicas, Space const& space = default_space<Space>())
      : Base({space}, replicas) {
    require_in(intervals::positive_count, "MirroredStrategy::replicas", static_cast<double>(replicas));
  }

  /// Devices by their numbers; an empty list: all that the process sees. \throws ValueError if one is not there
  static MirroredStrategy over_devices(std::vector<std::size_t> numbers = {}) {
    if (numbers.empty())
      for (std::size_t number = 0; number < DeviceRuntime<Space>::count(); ++number) numbers.push_back(number);
    std::vector<Space> devices;
    for (std::size_t const number : numbers) devices.push_back(detail::device_instance<Space>(number));
    return MirroredStrategy(std::move(devices));
  }

  /// Number of replicas on all devices, among which the rows of a batch are divided.
  std::size_t replicas() const { return this->replica_count(); }
  /// Instances of the devices, in the order of the replicas.
  std::vector<Space> const& devices() const { return this->spaces(); }
};

}  // namespace trireme
