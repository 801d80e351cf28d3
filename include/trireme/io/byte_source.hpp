/// The content of a file from its first byte to its last, decompressed on the way if it is a gzip file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/gzip.hpp"
#include "trireme/io/stated_extents.hpp"

namespace trireme::io {

namespace detail {

/// All bytes of a file as they are. \throws FileError if it cannot be read.
std::string file_bytes(std::string const& path);

}  // namespace detail

/// Gives bytes in their order. Bytes are decompressed as they are read, so that a reader that learns from the first
/// ones how many there have to be never holds more.
class ByteSource {
 public:
  /// \throws FileError if the file cannot be read.
  explicit ByteSource(std::string const& path)
      : ByteSource(path, within_memory(path, [&] { return detail::file_bytes(path); })) {}

  /// The content of a file that is in memory. The first bytes distinguish a gzip file, not its name.
  /// \param subject  begins each message after the path: empty, or a part of the file, such as "'layers/dense/vars/0' "
  ByteSource(std::string path, std::string bytes, std::string subject = {});
  ByteSource(ByteSource const&) = delete;
  ByteSource& operator=(ByteSource const&) = delete;

  /// Path of the file, for messages.
  std::string const& path() const { return path_; }
  /// Part of the file, for messages, as the constructor takes it.
  std::string const& subject() const { return subject_; }

  /// Bytes that were read.
  std::size_t position() const { return position_; }

  /// Bytes that follow; of compressed data the most that may.
  std::size_t left() const { return gzip_ ? gzip_->left() : bytes_.size() - position_; }

  /// The next `count` bytes; fewer at the end alone.
  std::size_t read(char* to, std::size_t count);

  /// The next bytes as text; fewer than `count` at the end alone.
  std::string text(std::size_t count);

  /// \throws FileError if there are bytes behind the last of these values.
  void require_end(std::size_t values);

  /// \throws FileError always: path, subject and `what`
  [[noreturn]] void fail(std::string const& what) const { throw FileError(path_, subject_ + what); }

 private:
  std::string path_;
  std::string subject_;
  std::string bytes_;
  std::optional<GzipReader> gzip_;
  std::size_t position_ = 0;
};

}  // namespace trireme::io

#ifndef TRIREME_COMPILED
#include "trireme/io/byte_source.ipp"
#endif
