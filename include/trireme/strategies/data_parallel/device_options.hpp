/// DeviceOptions: how the steps of a device are launched.
#pragma once

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

}  // namespace trireme
