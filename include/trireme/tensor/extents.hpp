/// Extents of one sample: known at compile time, or `dynamic` in the manner of mdspan.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"

namespace trireme {

/// An extent that is given when the program runs.
inline constexpr std::size_t dynamic = static_cast<std::size_t>(-1);

/// One extent: takes no space if it is static.
template <std::size_t N>
struct Extent {
  static constexpr bool is_static = true;
  constexpr operator std::size_t() const { return N; }
};

template <>
struct Extent<dynamic> {
  static constexpr bool is_static = false;
  std::size_t value = 0;
  constexpr Extent() = default;
  /// Extent that is known at run time.
  constexpr Extent(std::size_t n) : value(n) {}
  constexpr operator std::size_t() const { return value; }
};

/// The extents of a sample, row-major, channels last; the batch is not among them.
template <std::size_t... E>
struct Extents {
  static constexpr std::size_t rank = sizeof...(E);
  static constexpr std::array<std::size_t, rank> static_extents{E...};
  static constexpr bool is_static = ((E != dynamic) && ...);

  std::array<std::size_t, rank> values{E...};

  constexpr std::size_t operator[](std::size_t axis) const { return all()[axis]; }
  /// Last extent: channels, features or classes.
  constexpr std::size_t back() const { return all()[rank - 1]; }

  /// Number of elements of a sample.
  constexpr std::size_t size() const {
    if constexpr (is_static) return (std::size_t{1} * ... * E);
    std::size_t product = 1;
    for (std::size_t extent : values) product *= extent;
    return product;
  }

  /// Extents as a vector.
  std::vector<std::size_t> to_vector() const { return {all().begin(), all().end()}; }

 private:
  /// A constant if all extents are static, even where the compiler cannot see how this object was made.
  constexpr std::array<std::size_t, rank> const& all() const {
    if constexpr (is_static)
      return static_extents;
    else
      return values;
  }
};

/// The I-th extent of E, `dynamic` if it is known only at run time; 0 if E has fewer, so that what needs more can say
/// so.
template <class E, std::size_t I>
inline constexpr std::size_t static_extent = [] {
  if constexpr (I < E::rank)
    return E::static_extents[I];
  else
    return std::size_t{0};
}();

/// f(extent) if the extent is static, `dynamic` otherwise.
template <class F>
constexpr std::size_t map_extent(std::size_t extent, F f) {
  return extent == dynamic ? dynamic : f(extent);
}

namespace detail {
template <std::size_t Back, std::size_t... E, std::size_t... I>
constexpr auto replace_back(Extents<E...> const& in, std::size_t back, std::index_sequence<I...>) {
  Extents<(I + 1 == sizeof...(E) ? Back : E)...> out;
  ((out.values[I] = I + 1 == sizeof...(E) ? back : in[I]), ...);
  return out;
}
}  // namespace detail

/// The same extents, the last one replaced by Back (by its value `back` where Back is dynamic).
template <std::size_t Back, std::size_t... E>
constexpr auto replace_back(Extents<E...> const& in, std::size_t back) {
  return detail::replace_back<Back>(in, back, std::make_index_sequence<sizeof...(E)>{});
}

/// The same extents with one more at the end.
template <std::size_t Back, std::size_t... E>
constexpr auto append_extent(Extents<E...> const& in, std::size_t back) {
  Extents<E..., Back> out;
  for (std::size_t axis = 0; axis < sizeof...(E); ++axis) out.values[axis] = in[axis];
  out.values[sizeof...(E)] = back;
  return out;
}

/// "(28, 28, 1)": the form of extents in messages and tables.
std::string format_extents(std::vector<std::size_t> const& extents);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/tensor/extents.ipp"
#endif
