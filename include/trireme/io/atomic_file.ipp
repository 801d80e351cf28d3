/// Definitions of trireme/io/atomic_file.hpp.
#pragma once

#include "trireme/io/atomic_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

TRIREME_INLINE AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat old{};
  if (::stat(path_.c_str(), &old) == 0 && S_ISREG(old.st_mode)) permissions_ = old.st_mode & 0777;
  mode_t const mode = permissions_ ? (*permissions_ & 0666) | 0600 : 0666;  // readable to no more than the old one
  do {  // names that exist belong to other processes, on other machines too, or to killed ones
    temporary_ = temporary_name(path_);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("cannot be created");
}

TRIREME_INLINE AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!renamed_ && !detail::is_forked_child()) ::unlink(temporary_.c_str());
}

TRIREME_INLINE void AtomicFile::write(void const* data, std::size_t bytes) {
  auto const* from = static_cast<char const*>(data);
  while (bytes > 0) {
    ssize_t const written = ::write(descriptor_, from, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

TRIREME_INLINE void AtomicFile::append(std::string_view text) {
  if (::lseek(descriptor_, 0, SEEK_END) < 0) fail("cannot be written");
  write(text);
}

TRIREME_INLINE void AtomicFile::commit() {
  if (permissions_) ::fchmod(descriptor_, *permissions_);  // some file systems have none
  if (synchronise(descriptor_) != 0) fail("cannot be written");
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot be written");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be replaced");
  renamed_ = true;
  sync_folder();
}

TRIREME_INLINE std::string AtomicFile::temporary_name(std::string const& path) {
  static std::atomic<unsigned> count{0};
  return formatted("{}.{}.{}.tmp", path, ::getpid(), count++);
}

TRIREME_INLINE int AtomicFile::synchronise(int descriptor) {
  int status = 0;
  do status = ::fsync(descriptor);
  while (status != 0 && errno == EINTR);
  return status;
}

TRIREME_INLINE void AtomicFile::sync_folder() const {
  std::size_t const slash = path_.rfind('/');
  std::string const folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
  int const descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a folder that may be written to but not read
  int const status = synchronise(descriptor);
  int const error = errno;
  ::close(descriptor);
  errno = error;
  if (status != 0 && error != EINVAL && error != ENOTSUP) fail("is written, but its folder cannot be synchronised");
}

TRIREME_INLINE void AtomicFile::fail(char const* what) const {
  throw FileError(path_, formatted("{}: {}", what, std::strerror(errno)));
}

TRIREME_INLINE void write_atomically(std::string const& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace trireme
