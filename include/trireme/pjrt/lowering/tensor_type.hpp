/// TensorType: element type and extents of a tensor; Program: its text with the types of its arguments and results.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/element.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::lowering {

struct TensorType {
  static constexpr std::size_t max_rank = 6;

  Element element = Element::f32;
  std::size_t rank = 0;
  std::array<std::int64_t, max_rank> dims{};

  TensorType() = default;
  TensorType(Element type, std::vector<std::size_t> const& extents) : element(type), rank(extents.size()) {
    if (rank > max_rank) throw ShapeError(formatted("a tensor of {} axes: at most {} are supported", rank, max_rank));
    std::transform(extents.begin(), extents.end(), dims.begin(),
                   [](std::size_t n) { return static_cast<std::int64_t>(n); });
  }

  bool operator==(TensorType const&) const = default;

  std::vector<std::size_t> extents() const {
    std::vector<std::size_t> values;
    for (std::size_t axis = 0; axis < rank; ++axis) values.push_back(static_cast<std::size_t>(dims[axis]));
    return values;
  }
  std::size_t size() const {
    std::size_t product = 1;
    for (std::size_t axis = 0; axis < rank; ++axis) product *= static_cast<std::size_t>(dims[axis]);
    return product;
  }
  std::size_t bytes() const { return size() * element_bytes(element); }

  /// The type of a part if `parts` devices divide an axis.
  TensorType divided(std::size_t axis, std::size_t parts) const {
    TensorType part = *this;
    part.dims[axis] /= static_cast<std::int64_t>(parts);
    return part;
  }

  /// "f32 (32, 784)"
  std::string text() const { return formatted("{} {}", element_name(element), format_extents(extents())); }
};

template <class T>
TensorType tensor_type(std::vector<std::size_t> const& extents) {
  return {element_of<T>, extents};
}

/// A whole program as StableHLO text.
struct Program {
  std::string text;
  std::vector<TensorType> arguments, results;  ///< on each device
  std::size_t shards = 1;                      ///< devices of a replica, which divide some of the arguments and results
};

}  // namespace trireme::lowering
