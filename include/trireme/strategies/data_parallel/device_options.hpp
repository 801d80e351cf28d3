/// DeviceOptions: how the steps of a device are launched.
#pragma once

#include <utility>

namespace trireme {

/// Options of OneDeviceStrategy and MultiWorkerMirroredStrategy.
struct DeviceOptions {
  /// Record training steps on a device once, and launch each as a whole from then on, which spares the host the
  /// launches of its kernels. Steps that cannot be recorded run as they do without it, and `summary` says why. The bits
  /// of results do not depend on it. Processes sum their gradients after the last of them then, instead of while others
  /// are computed, which gains where launches take longer than messages. For CUDA and HIP devices; what other threads
  /// may do meanwhile is in docs/devices.md.
  bool record_steps = false;
  /// Run forward, loss and backward of a training step on a device as one kernel, with weights and activations in the
  /// memory that threads of a block share, and a second one for the optimizer. For small perceptrons of one process: a
  /// Sequential of Dense layers with element-wise activations. Other models run as they do without it, and `summary`
  /// says why. Results differ by rounding. Meant for small batches: on 65,536 rows it is slower than the products of a
  /// BLAS.
  bool fuse_steps = false;
};

namespace detail {

/// An engine whose steps are launched as the options say, made of `arguments`.
template <class Engine, class... Arguments>
Engine make_engine(DeviceOptions const& options, Arguments&&... arguments) {
  Engine engine(std::forward<Arguments>(arguments)...);
  if (options.fuse_steps) engine.fuse_steps();
  if (options.record_steps) engine.record_steps();
  return engine;
}
/// One that always launches them one kernel after another.
template <class Engine, class... Arguments>
  requires(!requires(Engine& engine) { engine.record_steps(); })
Engine make_engine(DeviceOptions const&, Arguments&&... arguments) {
  return Engine(std::forward<Arguments>(arguments)...);
}

}  // namespace detail

}  // namespace trireme
