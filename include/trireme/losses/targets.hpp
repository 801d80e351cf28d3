/// Targets of a loss, position by position.
#pragma once

#include <cstdint>

namespace trireme {

/// A vector as long as the prediction.
struct DenseTarget {
  template <class T>
  using value_type = T;
};

/// The index of the right class, one number for each position.
struct ClassIndex {
  template <class T>
  using value_type = std::int32_t;
};

/// Reduction of a position's numbers, for a loss whose formula takes each by itself: its member `outputs`.
enum class LossOutputs { mean, sum };

/// True if outputs of these extents have one number at a position, false if they may have several.
template <class OutputExtents>
inline constexpr bool is_single = OutputExtents::static_extents[OutputExtents::rank - 1] == 1;

}  // namespace trireme
