/// The checksum CRC-32C, of Castagnoli's polynomial, and the masked form in which TFRecord files hold it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace trireme::io {

namespace detail {
inline constexpr auto crc32c_table = [] {
  constexpr std::uint32_t reflected_polynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? reflected_polynomial : 0);
    table[byte] = rest;
  }
  return table;
}();
}  // namespace detail

/// Source: RFC 3720, appendix B.4.
constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (char const c : bytes) crc = (crc >> 8) ^ detail::crc32c_table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

/// Rotated and shifted, so that a checksum over data that hold checksums themselves stays a good one.
constexpr std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t const crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

}  // namespace trireme::io
