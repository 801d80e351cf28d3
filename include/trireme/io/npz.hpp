/// `.npz` files, as numpy writes them: weights where there is no HDF5.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npz_array.hpp"
#include "trireme/io/npz_zip.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/text.hpp"

namespace trireme {

/// Writes each tensor as an uncompressed member, so that `numpy.load(path)["layers/dense/vars/0"]` is the kernel.
/// `sealed`: with a checksum of the whole file at its end.
inline void write_npz(std::string const& path, std::span<NamedTensor const> tensors, bool sealed = false) {
  detail::ZipWriter zip(path);
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
