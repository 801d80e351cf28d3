/// Decompression of gzip data, where the library was built with zlib.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#ifdef TRIREME_HAVE_ZLIB
#include <zlib.h>
#endif

#include "trireme/error.hpp"
#include "trireme/text.hpp"

namespace trireme::io {

/// Whether data begin as gzip files do.
inline bool is_gzip(std::vector<char> const& bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

/// The content of a gzip file, of all its members if there are several.
/// \throws FileError naming the byte where the data end too early or are damaged, or if there is no zlib.
inline std::vector<char> gunzip(std::string const& path, std::vector<char> const& compressed);

#ifdef TRIREME_HAVE_ZLIB
namespace detail {
/// Ends zlib's state whatever happens.
struct Inflation {
  z_stream stream{};
  explicit Inflation(std::string const& path) {
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw FileError(path, "zlib could not be started");
  }
  Inflation(Inflation const&) = delete;
  Inflation& operator=(Inflation const&) = delete;
  ~Inflation() { inflateEnd(&stream); }
};
}  // namespace detail

inline std::vector<char> gunzip(std::string const& path, std::vector<char> const& compressed) {
  constexpr std::size_t piece = std::size_t{1} << 24;  // zlib counts in 32 bits
  detail::Inflation inflation(path);
  z_stream& stream = inflation.stream;
  std::vector<char> content;
  std::size_t read = 0, written = 0;
  while (true) {
    if (stream.avail_in == 0 && read < compressed.size()) {
      std::size_t const size = std::min(piece, compressed.size() - read);
      // zlib does not write to its input.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data() + read));
      stream.avail_in = static_cast<uInt>(size);
      read += size;
    }
    if (written == content.size()) content.resize(std::max<std::size_t>(2 * written, 4 * compressed.size() + 64));
    std::size_t const room = std::min(piece, content.size() - written);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    int const status = inflate(&stream, Z_NO_FLUSH);
    written += room - stream.avail_out;
    std::size_t const at = read - stream.avail_in;
    std::size_t const rest = compressed.size() - at;
    if (status == Z_STREAM_END) {
      // Another member may follow; what is no gzip header is padding.
      char const* const next = compressed.data() + compressed.size() - rest;
      if (rest < 2 || next[0] != '\x1f' || next[1] != '\x8b') break;
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR || (status == Z_OK && rest == 0 && stream.avail_out != 0)) {
      throw FileError(path,
                      formatted("the compressed data end at byte {}, before their end mark: the file is truncated",
                                compressed.size()));
    } else if (status != Z_OK) {
      throw FileError(path, formatted("the compressed data are damaged near byte {}{}{}", at, stream.msg ? ": " : "",
                                      stream.msg ? stream.msg : ""));
    }
  }
  content.resize(written);
  return content;
}
#else
inline std::vector<char> gunzip(std::string const& path, std::vector<char> const&) {
  throw FileError(path, "is compressed with gzip, but trireme was built without zlib: decompress the file first");
}
#endif

}  // namespace trireme::io
