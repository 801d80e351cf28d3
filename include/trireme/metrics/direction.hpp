/// Direction: which way a metric gets better, for callbacks that monitor it.
#pragma once

namespace trireme {

/// The direction in which a metric improves: `up`, `down`, or `none` if it declares no direction.
///
/// A callback that monitors a metric without direction needs its `mode`; otherwise `fit` throws ValueError on all
/// processes.
enum class Direction { none, up, down };

}  // namespace trireme
