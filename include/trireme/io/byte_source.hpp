/// The content of a file from its first byte to its last, decompressed on the way if it is a gzip file.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/gzip.hpp"
#include "trireme/io/stated_extents.hpp"

namespace trireme::io {

namespace detail {

/// All bytes of a file as they are. \throws FileError if it cannot be read.
inline std::string file_bytes(std::string const& path) {
  errno = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw FileError(path, formatted("cannot be opened: {}", std::strerror(errno)));
  struct stat status {};
  bool const sized = ::fstat(::fileno(file.get()), &status) == 0 && S_ISREG(status.st_mode);
  std::string bytes(sized ? static_cast<std::size_t>(status.st_size) + 1 : std::size_t{1} << 16, '\0');
  std::size_t size = 0;
  while (true) {
    size += std::fread(bytes.data() + size, 1, bytes.size() - size, file.get());
    if (size < bytes.size()) break;
    bytes.resize(2 * size);
  }
  if (std::ferror(file.get())) throw FileError(path, formatted("cannot be read: {}", std::strerror(errno)));
  bytes.resize(size);
  return bytes;
}

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
  ByteSource(std::string path, std::string bytes, std::string subject = {})
      : path_(std::move(path)), subject_(std::move(subject)), bytes_(std::move(bytes)) {
    if (is_gzip(bytes_)) gzip_.emplace(path_, bytes_);
  }
  ByteSource(ByteSource const&) = delete;
  ByteSource& operator=(ByteSource const&) = delete;

  std::string const& path() const { return path_; }
  std::string const& subject() const { return subject_; }

  /// Bytes that were read.
  std::size_t position() const { return position_; }

  /// Bytes that follow; of compressed data the most that may.
  std::size_t left() const { return gzip_ ? gzip_->left() : bytes_.size() - position_; }

  /// The next `count` bytes; fewer at the end alone.
  std::size_t read(char* to, std::size_t count) {
    if (gzip_) {
      count = gzip_->read(to, count);
    } else {
      count = std::min(count, bytes_.size() - position_);
      if (count != 0) std::memcpy(to, bytes_.data() + position_, count);
    }
    position_ += count;
    return count;
  }

  /// The next bytes as text; fewer than `count` at the end alone.
  std::string text(std::size_t count) {
    std::string result(std::min(count, left()), '\0');
    result.resize(read(result.data(), result.size()));
    return result;
  }

  /// \throws FileError if there are bytes behind the last of these values.
  void require_end(std::size_t values) {
    std::size_t const end = position_;
    char byte = 0;
    if (read(&byte, 1) != 0) fail(formatted("byte {}: more bytes follow the last of the {} values", end, values));
  }

  [[noreturn]] void fail(std::string const& what) const { throw FileError(path_, subject_ + what); }

 private:
  std::string path_;
  std::string subject_;
  std::string bytes_;
  std::optional<GzipReader> gzip_;
  std::size_t position_ = 0;
};

}  // namespace trireme::io
