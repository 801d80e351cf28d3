/// Definitions of trireme/io/npz.hpp.
#pragma once

#include "trireme/io/npz.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npy_format.hpp"
#include "trireme/io/npz_zip.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string text_of(std::span<NamedGroup const> groups) {
  std::string text;
  for (NamedGroup const& group : groups) text += formatted("{} {}\n", joined(group.path, "/"), group.name);
  return text;
}

TRIREME_INLINE std::map<std::string, std::string> layer_names_of(std::string_view text) {
  std::map<std::string, std::string> names;
  while (!text.empty()) {
    std::string_view const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::size_t const space = line.find(' ');
    if (space != std::string_view::npos) names.emplace(line.substr(0, space), line.substr(space + 1));
  }
  return names;
}

TRIREME_INLINE std::map<std::string, std::string> layer_names_of(io::ByteSource& member, io::NpyLayout const& layout) {
  std::vector<std::uint8_t> text(layout.size);
  io::read_npy_values(member, layout, text.data());
  return layer_names_of(std::string_view(reinterpret_cast<char const*>(text.data()), text.size()));
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE void write_npz(std::string const& path, std::span<NamedTensor const> tensors,
                              std::span<NamedGroup const> groups, bool sealed) {
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

TRIREME_INLINE bool npz_holds(std::string const& path, std::string const& name) {
  return detail::ZipReader(path).holds(name + ".npy");
}

TRIREME_INLINE std::string npz_name(std::string const& path, std::string const& group) {
  std::string name;
  io::within_memory(path, [&] {
    detail::ZipReader const zip(path);
    std::string const member(detail::npz_layer_names);
    if (!zip.holds(member + ".npy")) return;
    io::ByteSource source(path, zip.read(member + ".npy", std::numeric_limits<std::size_t>::max()),
                          formatted("'{}' ", member));
    name = detail::layer_names_of(source, io::npy_layout(source))[group];
  });
  return name;
}

}  // namespace trireme

namespace trireme::detail {

TRIREME_INLINE std::vector<char> npz_values(ZipReader const& zip, NamedDestination const& tensor) {
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

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE void read_npz(std::string const& path, std::span<NamedDestination const> tensors) {
  io::within_memory(path, [&] {
    detail::ZipReader const zip(path);
    std::vector<std::vector<char>> values;
    for (auto const& tensor : tensors) values.push_back(detail::npz_values(zip, tensor));
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (!values[i].empty()) std::memcpy(tensors[i].data, values[i].data(), values[i].size());
  });
}

}  // namespace trireme
