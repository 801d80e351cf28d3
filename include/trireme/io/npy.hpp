/// numpy's `.npy` files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/file_content.hpp"
#include "trireme/io/npy_format.hpp"
#include "trireme/io/numbers.hpp"
#include "trireme/tensor/host_tensor.hpp"
#include "trireme/text.hpp"

namespace trireme::io {

/// A tensor from a `.npy` file (numpy.save), of any number type and either order, plain or compressed with gzip. Values
/// are converted where T can hold them; floating-point types are rounded to T.
///
/// \throws FileError naming the byte at which the file is not what it should be.
template <class T>
HostTensor<T> read_npy(std::string const& path);

/// Writes a `.npy` file, whole or not at all. \throws FileError if it cannot be written.
template <class T>
void write_npy(std::string const& path, HostTensor<T> const& tensor) {
  AtomicFile file(path);
  file.write(npy_header<T>(tensor.extents));
  file.write(tensor.data, tensor.size() * sizeof(T));
  file.commit();
}

namespace detail {

template <class From, class T>
void read_npy_values(std::string const& path, std::vector<char> const& content, NpyLayout const& layout, T* values) {
  static_assert(!std::is_same_v<From, bool>);
  std::size_t const axes = layout.extents.size();
  std::vector<std::size_t> index(axes, 0), stride(axes, 1);
  if (layout.column_major) {
    for (std::size_t axis = 1; axis < axes; ++axis) stride[axis] = stride[axis - 1] * layout.extents[axis - 1];
  } else {
    for (std::size_t axis = axes; axis-- > 1;) stride[axis - 1] = stride[axis] * layout.extents[axis];
  }
  std::size_t element = 0;
  for (std::size_t i = 0; i < layout.size; ++i) {
    std::size_t const at = layout.start + element * sizeof(From);
    char bytes[sizeof(From)];
    for (std::size_t b = 0; b < sizeof(From); ++b) bytes[b] = content[at + (layout.swapped ? sizeof(From) - 1 - b : b)];
    From value;
    std::memcpy(&value, bytes, sizeof(From));
    auto const converted = exact_cast<T>(value);
    if (!converted)
      throw FileError(path, formatted("byte {}: the value {} does not fit the type asked for", at, +value));
    values[i] = *converted;
    for (std::size_t axis = axes; axis-- > 0;) {
      element += stride[axis];
      if (++index[axis] < layout.extents[axis]) break;
      element -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace detail

template <class T>
HostTensor<T> read_npy(std::string const& path) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
                "trireme: read_npy reads numbers, such as float, double or std::int32_t");
  std::vector<char> const content = file_content(path);
  NpyLayout const layout = npy_layout(path, content);
  NewHostTensor<T> result(layout.extents, path);
  T* const values = result.memory.get();
  auto const read = [&]<class From>(From) { detail::read_npy_values<From>(path, content, layout, values); };
  if (layout.type == "f4") read(float{});
  if (layout.type == "f8") read(double{});
  if (layout.type == "i1") read(std::int8_t{});
  if (layout.type == "i2") read(std::int16_t{});
  if (layout.type == "i4") read(std::int32_t{});
  if (layout.type == "i8") read(std::int64_t{});
  if (layout.type == "u1" || layout.type == "b1") read(std::uint8_t{});
  if (layout.type == "u2") read(std::uint16_t{});
  if (layout.type == "u4") read(std::uint32_t{});
  if (layout.type == "u8") read(std::uint64_t{});
  return result.tensor;
}

}  // namespace trireme::io
