/// Definitions of trireme/initializers/orthogonal.hpp.
#pragma once

#include "trireme/initializers/orthogonal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/core/text.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

TRIREME_INLINE void Orthogonal::operator()(std::span<double> out, InitializerContext const& context) const {
  if (context.extents.size() < 2) {
    throw ShapeError(formatted("Orthogonal: {} has extents {}, but at least two axes are needed",
                               std::string(context.path), format_extents(context.extents)));
  }
  std::size_t const columns = context.extents.back(), rows = columns == 0 ? 0 : out.size() / columns;
  std::size_t const length = std::max(rows, columns), count = std::min(rows, columns);
  std::vector<double> vectors = orthonormal(ParameterStream(context.seed, context.path), count, length);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      std::size_t const at = rows >= columns ? column * length + row : row * length + column;
      out[row * columns + column] = gain * vectors[at];
    }
  }
}

TRIREME_INLINE std::vector<double> Orthogonal::orthonormal(ParameterStream const& stream, std::size_t count,
                                                           std::size_t length) {
  std::vector<double> vectors(count * length);
  for (std::size_t e = 0; e < vectors.size(); ++e) vectors[e] = stream.normal(e);
  for (std::size_t v = 0; v < count; ++v) {
    double* const own = vectors.data() + v * length;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t u = 0; u < v; ++u) {
        double const* const other = vectors.data() + u * length;
        double const along = dot(own, other, length);
        for (std::size_t i = 0; i < length; ++i) own[i] -= along * other[i];
      }
    }
    double const inverse = 1 / std::sqrt(dot(own, own, length));
    for (std::size_t i = 0; i < length; ++i) own[i] *= inverse;
  }
  return vectors;
}

TRIREME_INLINE double Orthogonal::dot(double const* a, double const* b, std::size_t length) {
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace trireme
