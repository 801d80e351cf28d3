/// Targets of a loss, position by position.
#pragma once

#include <cstdint>

namespace trireme {

/// A target for each output: (rows, …, outputs), the shape of the model's output.
///
/// A position is one index of (rows, …); its target is the vector along the last axis. Axes of extent 1 at the end may
/// be left out; other extents are a ShapeError in `fit` and `evaluate`.
struct DenseTarget {
  template <class T>
  using value_type = T;
};

/// The index of the right class of each position: (rows, …), where the model's output is (rows, …, classes).
///
/// Indices are whole numbers in [0, classes). `fit` and `evaluate` throw ShapeError for other extents (axes of extent 1
/// at the end do not matter) and ValueError for other labels, naming the label and its sample.
struct ClassIndex {
  template <class T>
  using value_type = std::int32_t;
};

/// Reduction of a position's outputs, for a loss whose formula takes each by itself: its member `outputs`.
///
/// `mean`: the position's loss is the mean of the formula over its outputs; `sum`: their sum.
enum class LossOutputs { mean, sum };

/// True if the last extent of an output (rows, …, outputs) is known to be 1, false if a position may have several.
template <class OutputExtents>
inline constexpr bool is_single = OutputExtents::static_extents[OutputExtents::rank - 1] == 1;

}  // namespace trireme
