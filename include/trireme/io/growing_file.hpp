/// Files that grow by whole pieces of text, such as the lines of a log.
#pragma once

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
#include "trireme/core/text.hpp"

namespace trireme {

/// A file that is opened by its name, and made if it is absent; links are followed. What a terminal, pipe or device was
/// given stays there, and its size is 0.
class GrowingFile {
 public:
  /// \throws FileError
  explicit GrowingFile(std::string path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot be opened for writing");
  }
  GrowingFile(GrowingFile const&) = delete;
  GrowingFile& operator=(GrowingFile const&) = delete;
  ~GrowingFile() { ::close(descriptor_); }

  std::uint64_t size() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail("cannot be written");
    return S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  }

  /// Drops what is behind the first `bytes`.
  void cut(std::uint64_t bytes) {
    if (size() > bytes && ::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail("cannot be written");
  }

  /// The text is on the disk at the end; after an error the file ends where it ended before.
  void append(std::string_view text) {
    std::uint64_t const before = size();
    while (!text.empty()) {
      ssize_t const written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) undo(before);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    int status = 0;
    do status = ::fsync(descriptor_);
    while (status != 0 && errno == EINTR);
    if (status != 0 && errno != EINVAL && errno != ENOTSUP) undo(before);
  }

 private:
  [[noreturn]] void undo(std::uint64_t before) {
    int const error = errno;
    if (size() > before) static_cast<void>(::ftruncate(descriptor_, static_cast<off_t>(before)) == 0);
    errno = error;
    fail("cannot be written");
  }

  [[noreturn]] void fail(char const* what) const {
    throw FileError(path_, formatted("{}: {}", what, std::strerror(errno)));
  }

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace trireme
