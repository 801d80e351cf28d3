/// step_memory: the training step of a model, compiled for devices that this machine need not have.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/core/error.hpp"
#include "trireme/data/batch_size.hpp"
#include "trireme/pjrt/lowering/model.hpp"
#include "trireme/pjrt/lowering/programs.hpp"
#include "trireme/pjrt/runtime/topology.hpp"

namespace trireme::pjrt {

/// Replicas of a model and the devices of each.
struct StepDevices {
  std::size_t replicas = 1;
  std::size_t shards = 1;
};

/// Compiles the training step of a compiled model for a topology, and returns the memory that it takes on each device:
/// weights, the optimizer's state, a batch, and what lies in between. `model` may be placed by any strategy; it is not
/// changed. Not collective.
/// \throws PluginError with the compiler's message where it refuses the program, or if there are fewer devices;
/// ValueError without samples, replicas or devices
template <class CompiledModel>
ProgramMemory step_memory(Topology const& topology, CompiledModel const& model, GlobalBatch batch,
                          StepDevices const& devices = {}) {
  if (devices.replicas == 0 || devices.shards == 0)
    throw ValueError("a training step needs one replica or more, of one device or more each");
  auto const& placed = model.engine().model();
  using Programs = lowering::ModelPrograms<std::remove_cvref_t<decltype(placed)>>;
  std::size_t const rows = (BatchSize(batch).size() + devices.replicas - 1) / devices.replicas;
  auto const division = Programs(placed, rows, devices.replicas).division(devices.shards);
  return topology.compile(Programs(placed, rows, devices.replicas, division).train(), devices.replicas);
}

}  // namespace trireme::pjrt
