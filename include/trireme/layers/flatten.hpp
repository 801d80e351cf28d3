/// Flatten and Reshape: the same numbers under other extents.
#pragma once

#include <cstddef>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Flattened samples: (a, b, ...) becomes (a * b * ...), row-major.
///
/// No parameters, no computation and no memory of its own. Source: Keras `Flatten`.
struct Flatten {
  static constexpr std::string_view class_name = "Flatten";
  static constexpr bool reinterprets = true;
  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    if constexpr (In::is_static)
      return Extents<In{}.size()>{};
    else
      return Extents<dynamic>{{in.size()}};
  }
};

/// Samples under other extents, row-major: `Reshape<4, 4, 16>{}`, or `Reshape<dynamic, 16>{.extents = {n, 16}}`.
///
/// Input (...) of as many numbers as the output (E...) has; no parameters, no computation and no memory of its own.
/// Source: Keras `Reshape`.
///
/// Compile-time errors: an extent is 0; the numbers of elements differ, where all extents are static.
/// \throws ShapeError from `compile` if the numbers of elements differ otherwise.
template <std::size_t... E>
struct Reshape {
  static_assert(((E > 0) && ...), "trireme: the extents of Reshape are at least 1, not 0");
  static constexpr std::string_view class_name = "Reshape";
  static constexpr bool reinterprets = true;
  Extents<E...> extents{};
  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    if constexpr (In::is_static && Extents<E...>::is_static)
      static_assert(In{}.size() == Extents<E...>{}.size(),
                    "trireme: Reshape must keep the number of elements of a sample");
    else if (in.size() != extents.size())
      throw ShapeError(formatted("Reshape cannot make {} of {}: the numbers of elements differ",
                                 format_extents(extents.to_vector()), format_extents(in.to_vector())));
    return extents;
  }
};
template <class... Values>
Reshape(Values const&...) -> Reshape<detail::size_from_values<Values...>()>;

}  // namespace trireme
