/// numpy's `.npy` files.
#pragma once

#include <string>
#include <type_traits>

#include "trireme/io/atomic_file.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/npy_format.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::io {

/// A tensor from a `.npy` file (numpy.save), of integers, half, float or double in either order, plain or compressed
/// with gzip. Values are converted where T can hold them; floating-point types are rounded to T.
///
/// \throws FileError naming the byte at which the file is not what it should be.
template <class T>
HostTensor<T> read_npy(std::string const& path);

/// The same from a source of bytes.
template <class T>
HostTensor<T> read_npy(ByteSource& source);

/// Writes a `.npy` file, whole or not at all. \throws FileError if it cannot be written.
template <class T>
void write_npy(std::string const& path, HostTensor<T> const& tensor) {
  AtomicFile file(path);
  file.write(npy_header<T>(tensor.extents));
  file.write(tensor.data, tensor.size() * sizeof(T));
  file.commit();
}

template <class T>
HostTensor<T> read_npy(ByteSource& source) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
                "trireme: read_npy reads numbers, such as float, double or std::int32_t");
  return within_memory(source.path(), [&] {
    NpyLayout const layout = npy_layout(source);
    NewHostTensor<T> result(layout.extents, source.path());
    read_npy_values(source, layout, result.memory.get());
    return result.tensor;
  });
}

template <class T>
HostTensor<T> read_npy(std::string const& path) {
  ByteSource source(path);
  return read_npy<T>(source);
}

}  // namespace trireme::io
