/// IDX, the format of the MNIST files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/number_format.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::io {

/// A tensor from an IDX file, plain or compressed with gzip. MNIST's are of bytes; a file of another type is converted
/// where T can hold each value.
///
/// \throws FileError naming the byte at which the file is not what it should be.
template <class T = std::uint8_t>
HostTensor<T> read_idx(std::string const& path);

/// The same from a source of bytes.
template <class T = std::uint8_t>
HostTensor<T> read_idx(ByteSource& source);

namespace detail {

/// The numbers of an IDX file, which are big-endian; none where the code is unknown.
std::optional<NumberFormat> idx_format(unsigned code);

struct IdxLayout {
  NumberFormat format;
  std::vector<std::size_t> extents;
  std::size_t size = 0;  ///< numbers
};

IdxLayout idx_layout(ByteSource& source);

}  // namespace detail

template <class T>
HostTensor<T> read_idx(ByteSource& source) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
                "trireme: read_idx reads numbers, such as float, double or std::int32_t");
  return within_memory(source.path(), [&] {
    detail::IdxLayout const layout = detail::idx_layout(source);
    NewHostTensor<T> result(layout.extents, source.path());
    read_numbers(source, layout.format, layout.size, result.memory.get());
    source.require_end(layout.size);
    return result.tensor;
  });
}

template <class T>
HostTensor<T> read_idx(std::string const& path) {
  ByteSource source(path);
  return read_idx<T>(source);
}

}  // namespace trireme::io

#ifndef TRIREME_COMPILED
#include "trireme/io/idx.ipp"
#endif
