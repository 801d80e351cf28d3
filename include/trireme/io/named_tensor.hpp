/// NamedTensor: a tensor of a weight file, with its place in the tree of layers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"

namespace trireme {

/// The element types of stored tensors, and their number.
enum class ElementType { float32, float64, int64, uint8 };
inline constexpr std::size_t element_types = 4;

/// The ElementType of T.
template <class T>
constexpr ElementType element_type() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t> ||
                    std::is_same_v<T, std::uint8_t>,
                "trireme: files of weights hold float, double, std::int64_t or std::uint8_t");
  if constexpr (std::is_same_v<T, float>) return ElementType::float32;
  if constexpr (std::is_same_v<T, double>) return ElementType::float64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return ElementType::uint8;
  return ElementType::int64;
}

/// Bytes of an element.
constexpr std::size_t size_of(ElementType type) {
  return type == ElementType::uint8 ? 1 : type == ElementType::float32 ? 4 : 8;
}

/// f(T{}), of the C++ type T.
template <class F>
decltype(auto) with_element_type(ElementType type, F const& f) {
  if (type == ElementType::float32) return f(float{});
  if (type == ElementType::float64) return f(double{});
  if (type == ElementType::uint8) return f(std::uint8_t{});
  return f(std::int64_t{});
}

/// Contiguous values on the host, row-major: number `index` of the variables of a layer.
template <class Void>
struct BasicNamedTensor {
  std::vector<std::string> layer_path;  ///< such as {"layers", "conv2d_1", "vars"}
  std::size_t index = 0;
  std::vector<std::size_t> extents;  ///< empty: a scalar
  ElementType type = ElementType::float32;
  Void* data = nullptr;
  std::string label{};  ///< a name of its own, in place of the number

  /// Number of elements.
  std::size_t size() const {
    std::size_t product = 1;
    for (std::size_t const extent : extents) product *= extent;
    return product;
  }
  /// Memory of all elements.
  std::size_t bytes() const { return size() * size_of(type); }

  /// "layers/conv2d_1/vars"
  std::string group() const { return joined(layer_path, "/"); }
  /// "layers/conv2d_1/vars/0"
  std::string name() const { return formatted("{}/{}", group(), label.empty() ? formatted("{}", index) : label); }
};

using NamedTensor = BasicNamedTensor<void const>;  ///< to be written
using NamedDestination = BasicNamedTensor<void>;   ///< to be read into

/// A tensor to write, under a layer's path and the number of its weight.
template <class T>
NamedTensor named_tensor(std::vector<std::string> layer_path, std::size_t index, std::vector<std::size_t> extents,
                         T const* data) {
  return {std::move(layer_path), index, std::move(extents), element_type<T>(), data};
}

/// The place of a tensor to read, under a layer's path and the number of its weight.
template <class T>
NamedDestination named_destination(std::vector<std::string> layer_path, std::size_t index,
                                   std::vector<std::size_t> extents, T* data) {
  return {std::move(layer_path), index, std::move(extents), element_type<T>(), data};
}

/// "layers/dense/vars" in its parts.
inline std::vector<std::string> path_parts(std::string const& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    std::size_t const end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// A group of variables, of a layer without any too: its path, such as {"layers", "flatten", "vars"}, and the name that
/// Keras gives the layer or that the user gave it.
struct NamedGroup {
  std::vector<std::string> path;
  std::string name;
  std::string attribute = "name";  ///< of the group in an HDF5 file, with the name as its value
};

}  // namespace trireme
