/// OneDeviceStrategy: one process, one execution space. The reference that every other strategy is tested against.
#pragma once

#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/strategies/data_parallel/one_process.hpp"

namespace trireme {

/// Options of OneDeviceStrategy.
struct DeviceOptions {
  /// Record training steps on a device once, and launch each as a whole from then on, which spares the host the
  /// launches of its kernels. Steps that cannot be recorded run as they do without it, and `summary` says why. The bits
  /// of results do not depend on it. For CUDA and HIP devices; what other threads may do meanwhile is in
  /// docs/devices.md.
  bool record_steps = false;
  /// Run forward, loss and backward of a training step on a device as one kernel, with weights and activations in the
  /// memory that threads of a block share, and a second one for the optimizer. For small perceptrons: a Sequential of
  /// Dense layers with element-wise activations. Other models run as they do without it, and `summary` says why.
  /// Results differ by rounding. Meant for small batches: on 65,536 rows it is slower than the products of a BLAS.
  bool fuse_steps = false;
};

template <class SpaceType = Kokkos::DefaultExecutionSpace>
class OneDeviceStrategy : public OneProcessStrategy<SpaceType, OneSpaceEngine> {
  using Base = OneProcessStrategy<SpaceType, OneSpaceEngine>;

 public:
  /// One replica in this execution space, by default the instance that Kokkos has as its default.
  explicit OneDeviceStrategy(SpaceType const& space = default_space<SpaceType>()) : Base({space}, 1) {}
  /// The same with options.
  explicit OneDeviceStrategy(DeviceOptions const& options, SpaceType const& space = default_space<SpaceType>())
      : Base({space}, 1), options_(options) {}

  template <class Model>
  typename Base::template Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    auto engine = Base::build(std::move(model), plan);
    if (options_.fuse_steps) engine.fuse_steps();
    if (options_.record_steps) engine.record_steps();
    return engine;
  }

 private:
  DeviceOptions options_{};
};

}  // namespace trireme
