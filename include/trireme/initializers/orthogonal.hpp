/// Orthogonal: a random matrix with orthonormal columns (or rows, if there are fewer of them), times a gain.
/// Source: Saxe, McClelland, Ganguli, arXiv:1312.6120.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/core/text.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// A random matrix with orthonormal columns (or rows, if there are fewer of them), times `gain`.
///
/// For a parameter (…, columns): all axes but the last one count as rows. Source: Saxe, McClelland, Ganguli,
/// arXiv:1312.6120, as Keras's Orthogonal.
/// \throws ShapeError if the parameter has fewer than two axes.
/// \throws ValueError from compile, if gain is not finite.
struct Orthogonal {
  double gain = 1;

  void config(Config& c) const { c("gain", gain, intervals::finite); }

  /// All axes but the last one count as rows.
  /// \throws ShapeError if the parameter has fewer than two axes.
  void operator()(std::span<double> out, InitializerContext const& context) const;

 private:
  /// `count` random vectors made orthonormal one after the other. It is done twice to each, since what one round leaves
  /// of earlier directions is no longer small where vectors are nearly parallel.
  static std::vector<double> orthonormal(ParameterStream const& stream, std::size_t count, std::size_t length);

  static double dot(double const* a, double const* b, std::size_t length);
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/initializers/orthogonal.ipp"
#endif
