/// Decompression of gzip data, where the library was built with zlib.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#ifdef TRIREME_HAVE_ZLIB
#include <zlib.h>
#endif

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::io {

/// True if data begin as gzip files do.
inline bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// The most bytes that compressed data may become: 256 times their own number, or 64 MiB. Arrays and tables of data
/// stay far below; what does not, such as gigabytes of zeros, has to be decompressed before it is read.
constexpr std::size_t gzip_limit(std::size_t compressed) {
  constexpr std::size_t ratio = 256, always = std::size_t{1} << 26;
  return compressed > static_cast<std::size_t>(-1) / ratio ? static_cast<std::size_t>(-1)
                                                           : std::max(always, ratio * compressed);
}

#ifdef TRIREME_HAVE_ZLIB
/// The content of a gzip file, of all its members if there are several, piece by piece.
class GzipReader {
 public:
  /// `compressed` has to outlive the reader. \throws FileError if zlib cannot be started, or if there is none.
  GzipReader(std::string path, std::string_view compressed);
  GzipReader(GzipReader const&) = delete;
  GzipReader& operator=(GzipReader const&) = delete;
  ~GzipReader() { inflateEnd(&stream_); }

  /// The most bytes that may follow.
  std::size_t left() const { return ended_ ? 0 : left_; }

  /// The next `count` bytes; fewer at the end of the content alone, which is verified then.
  /// \throws FileError naming the byte where the data end too early or are damaged, or if they become too many
  std::size_t read(char* to, std::size_t count);

 private:
  std::size_t inflate_piece(char* to, std::size_t count);

  std::string path_;
  std::string_view compressed_;
  std::size_t given_ = 0;  ///< compressed bytes that zlib was given
  std::size_t left_;
  bool ended_ = false;
  z_stream stream_{};
};
#else
/// A reader of gzip data; without zlib its construction fails.
class GzipReader {
 public:
  GzipReader(std::string const& path, std::string_view) {
    throw FileError(path, "is compressed with gzip, but trireme was built without zlib: decompress the file first");
  }
  std::size_t left() const { return 0; }
  std::size_t read(char*, std::size_t) { return 0; }
};
#endif

}  // namespace trireme::io

#ifndef TRIREME_COMPILED
#include "trireme/io/gzip.ipp"
#endif
