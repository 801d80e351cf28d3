/// Definitions of trireme/io/growing_file.hpp.
#pragma once

#include "trireme/io/growing_file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

TRIREME_INLINE GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot be opened for writing");
}

TRIREME_INLINE std::uint64_t GrowingFile::size() const {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) fail("cannot be written");
  return S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
}

TRIREME_INLINE void GrowingFile::cut(std::uint64_t bytes) {
  if (size() > bytes && ::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail("cannot be written");
}

TRIREME_INLINE std::uint64_t GrowingFile::append(std::string_view text) {
  std::uint64_t done = 0;
  while (done < text.size()) {
    ssize_t const written = ::write(descriptor_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) undo(done);
    done += static_cast<std::uint64_t>(written);
  }
  int status = 0;
  do status = ::fsync(descriptor_);
  while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EINVAL && errno != ENOTSUP) undo(done);
  return position();
}

TRIREME_INLINE std::uint64_t GrowingFile::position() const {
  off_t const at = size() > 0 ? ::lseek(descriptor_, 0, SEEK_CUR) : 0;
  return at < 0 ? 0 : static_cast<std::uint64_t>(at);
}

TRIREME_INLINE void GrowingFile::undo(std::uint64_t written) {
  int const error = errno;
  std::uint64_t const end = position();
  if (written > 0 && end >= written && size() == end)  // the text of others stays
    static_cast<void>(::ftruncate(descriptor_, static_cast<off_t>(end - written)) == 0);
  errno = error;
  fail("cannot be written");
}

TRIREME_INLINE void GrowingFile::fail(char const* what) const {
  throw FileError(path_, formatted("{}: {}", what, std::strerror(errno)));
}

}  // namespace trireme
