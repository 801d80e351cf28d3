/// Definitions of trireme/io/weights_index.hpp.
#pragma once

#include "trireme/io/weights_index.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/linkage.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npy_format.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/npz_zip.hpp"
#include "trireme/io/weights_file.hpp"
#include "trireme/io/weights_h5.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string named_path(std::string const& group, std::map<std::string, std::string> const& names) {
  std::string path, folder;
  std::vector<std::string> const parts = path_parts(group);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    folder += (folder.empty() ? "" : "/") + parts[i];
    bool const is_layer = i > 0 && parts[i - 1] == "layers";
    if (parts[i] == "layers" && !is_layer) continue;
    auto const name = names.find(folder + "/vars");
    path += (path.empty() ? "" : "/") + (name == names.end() ? parts[i] : name->second);
  }
  return path;
}

/// True for "layers/dense/vars/0". Files may have other arrays, of any type.
TRIREME_INLINE bool is_layer_variable(std::string const& name) {
  return name.starts_with("layers/") && std::string_view(name).substr(0, name.rfind('/')).ends_with("/vars");
}

TRIREME_INLINE std::vector<StoredLayer> index_of(std::map<std::string, std::vector<std::size_t>> const& tensors,
                                                 std::map<std::string, std::string> const& names) {
  std::vector<StoredLayer> layers;
  std::set<std::string> groups;
  for (auto const& [name, extents] : tensors) {
    if (is_layer_variable(name)) groups.insert(name.substr(0, name.rfind('/')));
  }
  for (std::string const& group : groups) {
    StoredLayer layer{named_path(group, names), group, {}};
    for (auto at = tensors.find(group + "/0"); at != tensors.end();
         at = tensors.find(group + "/" + std::to_string(layer.variables.size())))
      layer.variables.push_back(at->second);
    layers.push_back(std::move(layer));
  }
  return layers;
}

TRIREME_INLINE std::vector<StoredLayer> npz_index(std::string const& path) {
  std::map<std::string, std::vector<std::size_t>> tensors;
  std::map<std::string, std::string> names;
  io::within_memory(path, [&] {
    ZipReader(path).for_each_member([&](std::string member, std::string content) {
      if (!member.ends_with(".npy")) return;
      member.resize(member.size() - 4);
      if (member != npz_layer_names && !is_layer_variable(member)) return;
      io::ByteSource source(path, std::move(content), formatted("'{}' ", printable(member, 200)));
      io::NpyLayout const layout = io::npy_layout(source);
      if (member != npz_layer_names) {
        tensors[member] = layout.extents;
        return;
      }
      names = layer_names_of(source, layout);
    });
  });
  return index_of(tensors, names);
}

}  // namespace trireme::detail

#ifdef TRIREME_HAVE_HDF5
namespace trireme::detail {

TRIREME_INLINE std::vector<StoredLayer> weights_h5_index(std::string const& path) {
  Hdf5Silence const silence;
  Hdf5Reader const reader(path);
  std::map<std::string, std::vector<std::size_t>> tensors;
  std::map<std::string, std::string> names;
  reader.list("layers", tensors, names);
  return index_of(tensors, names);
}

}  // namespace trireme::detail

#endif  // TRIREME_HAVE_HDF5

namespace trireme {

TRIREME_INLINE std::vector<StoredLayer> weights_index(std::string const& path) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) return detail::npz_index(path);
#ifdef TRIREME_HAVE_HDF5
  return detail::weights_h5_index(path);
#else
  return {};
#endif
}

}  // namespace trireme
