/// `.npz` files, as numpy writes them: weights where there is no HDF5.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npy_format.hpp"
#include "trireme/io/npz_zip.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/tensor/extents.hpp"

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
    std::string const header = io::npy_header<std::uint8_t>({text.size()});
    zip.add(std::string(detail::npz_layer_names) + ".npy", header, text.data(), text.size());
  }
  for (auto const& tensor : tensors) {
    std::string const header =
        with_element_type(tensor.type, [&]<class T>(T) { return io::npy_header<T>(tensor.extents); });
    zip.add(tensor.name() + ".npy", header, tensor.data, tensor.bytes());
  }
  zip.commit(sealed);
}

/// True if the file has a tensor of this name.
inline bool npz_holds(std::string const& path, std::string const& name) {
  return detail::ZipReader(path).holds(name + ".npy");
}

namespace detail {

/// The values of an array, in the tensor's type. \throws FileError unless the array has the tensor's extents and values
/// that its type can hold, and is undamaged.
inline std::vector<char> npz_values(ZipReader const& zip, NamedDestination const& tensor) {
  std::string const name = tensor.name();
  // The header of a wanted array ends before this byte; a larger member is another array.
  std::size_t const most = tensor.size() * sizeof(double) + (std::size_t{1} << 17);
  io::ByteSource source(zip.path(), zip.read(name + ".npy", most), formatted("'{}' ", name));
  io::NpyLayout const layout = io::npy_layout(source);
  if (layout.extents != tensor.extents)
    source.fail(formatted("has shape {}, but the model's is {}", format_extents(layout.extents),
                          format_extents(tensor.extents)));
  std::vector<char> values(tensor.bytes());
  with_element_type(tensor.type,
                    [&]<class T>(T) { io::read_npy_values(source, layout, reinterpret_cast<T*>(values.data())); });
  return values;
}

}  // namespace detail

/// Reads each tensor by its name; element types are converted where the tensor's can hold the values. Nothing is read
/// unless every tensor is there with its extents, and the file is undamaged.
inline void read_npz(std::string const& path, std::span<NamedDestination const> tensors) {
  io::within_memory(path, [&] {
    detail::ZipReader const zip(path);
    std::vector<std::vector<char>> values;
    for (auto const& tensor : tensors) values.push_back(detail::npz_values(zip, tensor));
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (!values[i].empty()) std::memcpy(tensors[i].data, values[i].data(), values[i].size());
  });
}

}  // namespace trireme
