/// Direction: which way a metric gets better, for callbacks that monitor it.
#pragma once

namespace trireme {

/// `none`: the metric does not say, so a callback that monitors it has to.
enum class Direction { none, up, down };

}  // namespace trireme
