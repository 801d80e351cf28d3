/// Identity: the identity matrix times a gain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// The identity matrix times `gain`: element (i, i) of a parameter (rows, columns), 0 elsewhere.
///
/// The matrix need not be square. The definition is that of Keras's Identity.
/// \throws ShapeError if the parameter is not a matrix.
/// \throws ValueError from compile, if gain is not finite.
struct Identity {
  double gain = 1;

  void config(Config& c) const { c("gain", gain, intervals::finite); }

  /// Writes the matrix to `out`, (rows, columns) in row-major order. \throws ShapeError if the parameter is not a
  /// matrix.
  void operator()(std::span<double> out, InitializerContext const& context) const {
    if (context.extents.size() != 2) {
      throw ShapeError(formatted("Identity: {} has extents {}, but only a matrix can be an identity",
                                 std::string(context.path), format_extents(context.extents)));
    }
    std::size_t const rows = context.extents[0], columns = context.extents[1];
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t i = 0; i < std::min(rows, columns); ++i) out[i * columns + i] = gain;
  }
};

}  // namespace trireme
