/// Table of contents of a file of weights: its layers by the names that users gave them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trireme/io/byte_source.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npy_format.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/npz_zip.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/io/weights_file.hpp"
#include "trireme/io/weights_h5.hpp"

namespace trireme {

/// A layer of a file that has variables.
struct StoredLayer {
  std::string path;   ///< by names of users: "encoder/dense_1"; by Keras's where the file has no others
  std::string group;  ///< in the file: "layers/sequential/layers/dense_1/vars"
  std::vector<std::vector<std::size_t>> variables;  ///< extents of variables 0, 1, ...
};

namespace detail {

/// The path of the group by the names in `names` (group of variables -> name): "layers/a/layers/b/vars" gives
/// "A/B" if the variables of a and of b are named so.
std::string named_path(std::string const& group, std::map<std::string, std::string> const& names);

/// Builds the index from the file's data sets ("layers/dense/vars/0" -> extents) and names of its groups.
std::vector<StoredLayer> index_of(std::map<std::string, std::vector<std::size_t>> const& tensors,
                                  std::map<std::string, std::string> const& names);

std::vector<StoredLayer> npz_index(std::string const& path);

#ifdef TRIREME_HAVE_HDF5
std::vector<StoredLayer> weights_h5_index(std::string const& path);
#endif

}  // namespace detail

/// The layers with variables of a `.weights.h5` or `.npz` file, in the order of their groups. Local.
/// \throws FileError that says why the file cannot be read
std::vector<StoredLayer> weights_index(std::string const& path);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/weights_index.ipp"
#endif
