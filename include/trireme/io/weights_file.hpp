/// Files of weights, in the format that belongs to their names.
#pragma once

#include <span>
#include <string>

#include "trireme/io/file_format.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/weights_h5.hpp"

namespace trireme {

namespace detail {

enum class WeightsFormat { h5, npz };

WeightsFormat weights_format(std::string const& path);

}  // namespace detail

/// Checks the ending of a weight file's name.
///
/// \throws FileError with the reason unless `write_weights` and `read_weights` take this name.
inline void require_weights_path(std::string const& path) { require_format(path, weights_file_format); }

/// Writes `.weights.h5` as Keras 3 does, or `.npz`; atomically. `groups` says the users' names of layers.
void write_weights(std::string const& path, std::span<NamedTensor const> tensors,
                   std::span<NamedGroup const> groups = {});

/// True if the file has a tensor of this name, such as "optimizer/vars/0".
bool weights_hold(std::string const& path, std::string const& name);

/// The name of the file's group `group.path` that was written as such a NamedGroup; "" if the file has none.
std::string weights_name(std::string const& path, NamedGroup const& group);

/// Reads tensors from a file of either format.
void read_weights(std::string const& path, std::span<NamedDestination const> tensors);

/// Reads tensors from among others.
void read_tensors(std::string const& path, std::span<NamedDestination const> tensors);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/weights_file.ipp"
#endif
