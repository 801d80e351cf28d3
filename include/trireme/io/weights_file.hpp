/// Files of weights, in the format that belongs to their names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trireme/io/file_format.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/weights_h5.hpp"

namespace trireme {

namespace detail {

enum class WeightsFormat { h5, npz };

inline WeightsFormat weights_format(std::string const& path) {
  require_format(path, weights_file_format);
  return std::string_view(path).ends_with(".npz") ? WeightsFormat::npz : WeightsFormat::h5;
}

}  // namespace detail

/// Checks the ending of a weight file's name.
///
/// \throws FileError with the reason unless `write_weights` and `read_weights` take this name.
inline void require_weights_path(std::string const& path) { require_format(path, weights_file_format); }

/// Writes `.weights.h5` as Keras 3 does, or `.npz`; atomically. `groups` says the users' names of layers.
inline void write_weights(std::string const& path, std::span<NamedTensor const> tensors,
                          std::span<NamedGroup const> groups = {}) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) {
    write_npz(path, tensors, groups);
    return;
  }
#ifdef TRIREME_HAVE_HDF5
  write_weights_h5(path, tensors, groups);
#endif
}

/// True if the file has a tensor of this name, such as "optimizer/vars/0".
inline bool weights_hold(std::string const& path, std::string const& name) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) return npz_holds(path, name);
#ifdef TRIREME_HAVE_HDF5
  return weights_h5_holds(path, name);
#else
  return false;
#endif
}

/// Reads tensors from a file of either format.
inline void read_weights(std::string const& path, std::span<NamedDestination const> tensors) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) {
    read_npz(path, tensors);
    return;
  }
#ifdef TRIREME_HAVE_HDF5
  read_weights_h5(path, tensors);
#endif
}

/// Reads tensors from among others.
inline void read_tensors(std::string const& path, std::span<NamedDestination const> tensors) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) {
    read_npz(path, tensors);
    return;
  }
#ifdef TRIREME_HAVE_HDF5
  read_tensors_h5(path, tensors);
#endif
}

}  // namespace trireme
