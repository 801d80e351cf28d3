/// `.npz` files, as numpy writes them: weights where there is no HDF5.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npz_array.hpp"
#include "trireme/io/npz_zip.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/text.hpp"

namespace trireme {

namespace detail {

/// The member that holds the users' names of layers: lines "layers/dense/vars name" as bytes.
inline constexpr std::string_view npz_layer_names = "layer_names";

inline std::string text_of(std::span<NamedGroup const> groups) {
  std::string text;
  for (NamedGroup const& group : groups) text += formatted("{} {}\n", joined(group.path, "/"), group.name);
  return text;
}

/// The names that such lines give the groups.
inline std::map<std::string, std::string> layer_names_of(std::string_view text) {
  std::map<std::string, std::string> names;
  while (!text.empty()) {
    std::string_view const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::size_t const space = line.find(' ');
    if (space != std::string_view::npos) names.emplace(line.substr(0, space), line.substr(space + 1));
  }
  return names;
}

}  // namespace detail

/// Writes each tensor as an uncompressed member, so that `numpy.load(path)["layers/dense/vars/0"]` is the kernel, and
/// the users' names of `groups` in a member "layer_names". `sealed`: with a checksum of the whole file at its end.
inline void write_npz(std::string const& path, std::span<NamedTensor const> tensors,
                      std::span<NamedGroup const> groups = {}, bool sealed = false) {
  detail::ZipWriter zip(path);
  if (!groups.empty()) {
    std::string const text = detail::text_of(groups);
    NamedTensor const names{{}, 0, {text.size()}, ElementType::uint8, text.data()};
    zip.add(std::string(detail::npz_layer_names) + ".npy", detail::npy_header(names), names.data, names.bytes());
  }
  for (auto const& tensor : tensors) {
    zip.add(tensor.name() + ".npy", detail::npy_header(tensor), tensor.data, tensor.bytes());
  }
  zip.commit(sealed);
}

/// Whether the file has a tensor of this name.
inline bool npz_holds(std::string const& path, std::string const& name) {
  return detail::ZipReader(path).holds(name + ".npy");
}

/// Reads each tensor by its name; element types are converted. Nothing is read unless every tensor is there with its
/// extents, and the file is undamaged.
inline void read_npz(std::string const& path, std::span<NamedDestination const> tensors) {
  detail::ZipReader const zip(path);
  std::vector<std::vector<char>> members;
  std::vector<detail::NpyArray> arrays;
  for (auto const& tensor : tensors) {
    members.push_back(zip.read(tensor.name() + ".npy"));
    arrays.push_back(detail::parse_npy(path, tensor.name(), members.back()));
    if (arrays.back().extents != tensor.extents) {
      throw FileError(path, formatted("'{}' has shape {}, but the model's is {}", tensor.name(),
                                      format_extents(arrays.back().extents), format_extents(tensor.extents)));
    }
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) detail::copy_npy(arrays[i], tensors[i]);
}

}  // namespace trireme
