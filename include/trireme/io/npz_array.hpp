/// One array inside an `.npz` file: numpy's `.npy` format, version 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/text.hpp"

namespace trireme::detail {

/// An array as it lies in memory, little endian and row-major.
struct NpyArray {
  std::string type;  ///< "<f4", "<f8", "<i4", "<i8" or "|u1"
  std::vector<std::size_t> extents;
  char const* data = nullptr;
};

/// The header of 64·n bytes that goes before the values.
inline std::string npy_header(NamedTensor const& tensor) {
  char const* const type = tensor.type == ElementType::float32   ? "<f4"
                           : tensor.type == ElementType::float64 ? "<f8"
                           : tensor.type == ElementType::uint8   ? "|u1"
                                                                 : "<i8";
  std::string text =
      formatted("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, format_extents(tensor.extents));
  constexpr std::size_t before = 10;  // magic, version, length
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

inline NpyArray parse_npy(std::string const& path, std::string const& name, std::vector<char> const& bytes) {
  auto const fail = [&](char const* what) { throw FileError(path, formatted("'{}' {}", name, what)); };
  auto const byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0) fail("is no .npy array");
  std::size_t const start = bytes[6] == 1 ? 10 : 12;  // versions 2 and 3 have a length of four bytes
  std::size_t length = byte(8) | byte(9) << 8;
  if (start == 12) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start) fail("ends within its header");
  std::string_view const header(bytes.data() + start, length);

  // The header is a Python dictionary with sorted keys and one way of writing each value.
  auto const after = [&](std::string_view key) {
    std::size_t const at = header.find(key);
    if (at == std::string_view::npos) fail("has a header that numpy does not write");
    return header.substr(at + key.size());
  };
  NpyArray array;
  array.type = std::string(after("'descr': '").substr(0, 3));
  if (array.type != "<f4" && array.type != "<f8" && array.type != "<i4" && array.type != "<i8" && array.type != "|u1") {
    fail("holds neither float nor double nor integers");
  }
  if (!after("'fortran_order': ").starts_with("False")) fail("is in column-major order");
  std::string_view const shape = after("'shape': (");
  std::string const digits(shape.substr(0, shape.find(')')));
  std::size_t size = 1;
  for (char const* at = digits.c_str(); *at != '\0';) {
    char* end = nullptr;
    array.extents.push_back(std::strtoull(at, &end, 10));
    if (end == at) fail("has a header that numpy does not write");
    size *= array.extents.back();
    for (at = end; *at == ',' || *at == ' ';) ++at;
  }
  array.data = bytes.data() + start + length;
  std::size_t const element = array.type[2] == '4' ? 4 : array.type[2] == '8' ? 8 : 1;
  if ((bytes.size() - start - length) / element < size) fail("has fewer values than its shape says");
  return array;
}

template <class From, class To>
void convert_npy(char const* from, To* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

template <class To>
void convert_npy(NpyArray const& array, To* to, std::size_t size) {
  if (array.type == "<f4") convert_npy<float>(array.data, to, size);
  if (array.type == "<f8") convert_npy<double>(array.data, to, size);
  if (array.type == "<i4") convert_npy<std::int32_t>(array.data, to, size);
  if (array.type == "<i8") convert_npy<std::int64_t>(array.data, to, size);
  if (array.type == "|u1") convert_npy<std::uint8_t>(array.data, to, size);
}

inline void copy_npy(NpyArray const& array, NamedDestination const& tensor) {
  std::size_t const size = tensor.size();
  if (tensor.type == ElementType::float32) convert_npy(array, static_cast<float*>(tensor.data), size);
  if (tensor.type == ElementType::float64) convert_npy(array, static_cast<double*>(tensor.data), size);
  if (tensor.type == ElementType::uint8) convert_npy(array, static_cast<std::uint8_t*>(tensor.data), size);
  if (tensor.type == ElementType::int64) convert_npy(array, static_cast<std::int64_t*>(tensor.data), size);
}

}  // namespace trireme::detail
