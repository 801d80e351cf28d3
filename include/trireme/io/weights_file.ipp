/// Definitions of trireme/io/weights_file.hpp.
#pragma once

#include "trireme/io/weights_file.hpp"

#include <span>
#include <string>
#include <string_view>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/weights_h5.hpp"

namespace trireme::detail {

TRIREME_INLINE WeightsFormat weights_format(std::string const& path) {
  require_format(path, weights_file_format);
  return std::string_view(path).ends_with(".npz") ? WeightsFormat::npz : WeightsFormat::h5;
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE void write_weights(std::string const& path, std::span<NamedTensor const> tensors,
                                  std::span<NamedGroup const> groups) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) {
    write_npz(path, tensors, groups);
    return;
  }
#ifdef TRIREME_HAVE_HDF5
  write_weights_h5(path, tensors, groups);
#endif
}

TRIREME_INLINE bool weights_hold(std::string const& path, std::string const& name) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) return npz_holds(path, name);
#ifdef TRIREME_HAVE_HDF5
  return weights_h5_holds(path, name);
#else
  return false;
#endif
}

TRIREME_INLINE std::string weights_name(std::string const& path, NamedGroup const& group) {
  std::string const name = joined(group.path, "/");
  if (detail::weights_format(path) == detail::WeightsFormat::npz) return npz_name(path, name);
#ifdef TRIREME_HAVE_HDF5
  return weights_h5_name(path, name, group.attribute);
#else
  return "";
#endif
}

TRIREME_INLINE void read_weights(std::string const& path, std::span<NamedDestination const> tensors) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) {
    read_npz(path, tensors);
    return;
  }
#ifdef TRIREME_HAVE_HDF5
  read_weights_h5(path, tensors);
#endif
}

TRIREME_INLINE void read_tensors(std::string const& path, std::span<NamedDestination const> tensors) {
  if (detail::weights_format(path) == detail::WeightsFormat::npz) {
    read_npz(path, tensors);
    return;
  }
#ifdef TRIREME_HAVE_HDF5
  read_tensors_h5(path, tensors);
#endif
}

}  // namespace trireme
