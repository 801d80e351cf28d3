/// Definitions of trireme/io/gzip.hpp.
#pragma once

#include "trireme/io/gzip.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#ifdef TRIREME_HAVE_ZLIB
#include <zlib.h>
#endif

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

#ifdef TRIREME_HAVE_ZLIB
namespace trireme::io {

TRIREME_INLINE GzipReader::GzipReader(std::string path, std::string_view compressed)
    : path_(std::move(path)), compressed_(compressed), left_(gzip_limit(compressed.size())) {
  if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw FileError(path_, "zlib could not be started");
}

TRIREME_INLINE std::size_t GzipReader::read(char* to, std::size_t count) {
  std::size_t written = 0;
  while (written < count && !ended_) written += inflate_piece(to + written, count - written);
  if (written > left_)
    throw FileError(path_, formatted("becomes more than {} bytes of {} compressed ones: decompress it first if that "
                                     "is right",
                                     gzip_limit(compressed_.size()), compressed_.size()));
  left_ -= written;
  return written;
}

TRIREME_INLINE std::size_t GzipReader::inflate_piece(char* to, std::size_t count) {
  constexpr std::size_t piece = std::size_t{1} << 24;  // zlib counts in 32 bits
  if (stream_.avail_in == 0 && given_ < compressed_.size()) {
    std::size_t const size = std::min(piece, compressed_.size() - given_);
    // zlib does not write to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed_.data() + given_));
    stream_.avail_in = static_cast<uInt>(size);
    given_ += size;
  }
  std::size_t const room = std::min(piece, count);
  stream_.next_out = reinterpret_cast<Bytef*>(to);
  stream_.avail_out = static_cast<uInt>(room);
  int const status = inflate(&stream_, Z_NO_FLUSH);
  std::size_t const at = given_ - stream_.avail_in;
  if (status == Z_STREAM_END) {
    // Another member may follow; what is no gzip header is padding.
    ended_ = !is_gzip(compressed_.substr(at));
    if (!ended_) inflateReset(&stream_);
  } else if (status == Z_BUF_ERROR || (status == Z_OK && at == compressed_.size() && stream_.avail_out != 0)) {
    throw FileError(path_, formatted("the compressed data end at byte {}, before their end mark: the file is truncated",
                                     compressed_.size()));
  } else if (status != Z_OK) {
    throw FileError(path_, formatted("the compressed data are damaged near byte {}{}{}", at, stream_.msg ? ": " : "",
                                     stream_.msg ? stream_.msg : ""));
  }
  return room - stream_.avail_out;
}

}  // namespace trireme::io

#endif  // TRIREME_HAVE_ZLIB
