/// Definitions of trireme/io/byte_source.hpp.
#pragma once

#include "trireme/io/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/gzip.hpp"
#include "trireme/io/stated_extents.hpp"

namespace trireme::io::detail {

TRIREME_INLINE std::string file_bytes(std::string const& path) {
  errno = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw FileError(path, formatted("cannot be opened: {}", std::strerror(errno)));
  struct stat status{};
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

}  // namespace trireme::io::detail

namespace trireme::io {

TRIREME_INLINE ByteSource::ByteSource(std::string path, std::string bytes, std::string subject)
    : path_(std::move(path)), subject_(std::move(subject)), bytes_(std::move(bytes)) {
  if (is_gzip(bytes_)) gzip_.emplace(path_, bytes_);
}

TRIREME_INLINE std::size_t ByteSource::read(char* to, std::size_t count) {
  if (gzip_) {
    count = gzip_->read(to, count);
  } else {
    count = std::min(count, bytes_.size() - position_);
    if (count != 0) std::memcpy(to, bytes_.data() + position_, count);
  }
  position_ += count;
  return count;
}

TRIREME_INLINE std::string ByteSource::text(std::size_t count) {
  std::string result(std::min(count, left()), '\0');
  result.resize(read(result.data(), result.size()));
  return result;
}

TRIREME_INLINE void ByteSource::require_end(std::size_t values) {
  std::size_t const end = position_;
  char byte = 0;
  if (read(&byte, 1) != 0) fail(formatted("byte {}: more bytes follow the last of the {} values", end, values));
}

}  // namespace trireme::io
