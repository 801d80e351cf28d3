/// Extents of a parameter: a small constexpr array whose rank is a value.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace trireme {

/// Extents of up to six axes, usable in constant expressions.
struct Shape {
  std::array<std::size_t, 6> extents{};
  std::size_t rank = 0;

  constexpr Shape() = default;
  /// Extents of each axis, at most six.
  constexpr Shape(std::initializer_list<std::size_t> values) {
    for (std::size_t value : values) extents[rank++] = value;
  }

  /// Number of elements.
  constexpr std::size_t size() const {
    std::size_t product = 1;
    for (std::size_t axis = 0; axis < rank; ++axis) product *= extents[axis];
    return product;
  }

  /// Extents of the axes in use.
  std::vector<std::size_t> to_vector() const {
    return {extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(rank)};
  }
};

}  // namespace trireme
