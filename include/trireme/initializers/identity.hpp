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

struct Identity {
  double gain = 1;

  void config(Config& c) const { c("gain", gain, intervals::finite); }

  /// \throws ShapeError if the parameter is not a matrix.
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
