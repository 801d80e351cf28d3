/// `.npz` files, as numpy writes them: data, and weights where there is no HDF5.
#pragma once

#include <cstddef>
#include <limits>
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
#include "trireme/io/npy.hpp"
#include "trireme/io/npy_format.hpp"
#include "trireme/io/npz_zip.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme {

namespace io {

/// The array of this name in a `.npz` file (numpy.savez), `read_npz<float>("data.npz", "x_train")`, as `read_npy` reads
/// one that is alone in its file.
///
/// \throws FileError if the file has no such array, is compressed (numpy.savez_compressed), or is damaged.
template <class T>
HostTensor<T> read_npz(std::string const& path, std::string const& name) {
  return within_memory(path, [&] {
    std::string member = trireme::detail::ZipReader(path).read(name + ".npy", std::numeric_limits<std::size_t>::max());
    ByteSource source(path, std::move(member), formatted("'{}' ", name));
    return read_npy<T>(source).named(formatted("'{}' of {}", name, path));
  });
}

}  // namespace io

namespace detail {

/// The member that holds the users' names of layers: lines "layers/dense/vars name" as bytes.
inline constexpr std::string_view npz_layer_names = "layer_names";

std::string text_of(std::span<NamedGroup const> groups);

/// The names that such lines give the groups.
std::map<std::string, std::string> layer_names_of(std::string_view text);

/// The names of the groups from the content of that member.
std::map<std::string, std::string> layer_names_of(io::ByteSource& member, io::NpyLayout const& layout);

}  // namespace detail

/// Writes each tensor as an uncompressed member, so that `numpy.load(path)["layers/dense/vars/0"]` is the kernel, and
/// the users' names of `groups` in a member "layer_names". `sealed`: with a checksum of the whole file at its end.
void write_npz(std::string const& path, std::span<NamedTensor const> tensors, std::span<NamedGroup const> groups = {},
               bool sealed = false);

/// True if the file has a tensor of this name.
bool npz_holds(std::string const& path, std::string const& name);

/// The name that the member "layer_names" gives a group, "" if it gives none.
std::string npz_name(std::string const& path, std::string const& group);

namespace detail {

/// The values of an array, in the tensor's type. \throws FileError unless the array has the tensor's extents and values
/// that its type can hold, and is undamaged.
std::vector<char> npz_values(ZipReader const& zip, NamedDestination const& tensor);

}  // namespace detail

/// Reads each tensor by its name; element types are converted where the tensor's can hold the values. Nothing is read
/// unless every tensor is there with its extents, and the file is undamaged.
void read_npz(std::string const& path, std::span<NamedDestination const> tensors);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/npz.ipp"
#endif
