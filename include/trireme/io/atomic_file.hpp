/// Files that appear whole or not at all.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "trireme/error.hpp"
#include "trireme/text.hpp"

namespace trireme {

/// Written beside its final place, and moved there by `commit` once it is on the disk: under the final name there is
/// always the old file or the new one, whenever the program or the machine stops. Without `commit` the old one stays.
///
/// A program that is killed may leave `<path>.<process id>.<number>.tmp` behind.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot be created");
  }

  AtomicFile(AtomicFile const&) = delete;
  AtomicFile& operator=(AtomicFile const&) = delete;

  ~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!committed_) ::unlink(temporary_.c_str());
  }

  /// Where it is being written, for libraries that open files by name.
  std::string const& temporary() const { return temporary_; }

  void write(void const* data, std::size_t bytes) {
    auto const* from = static_cast<char const*>(data);
    while (bytes > 0) {
      ssize_t const written = ::write(descriptor_, from, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot be written");
      from += written;
      bytes -= static_cast<std::size_t>(written);
    }
  }

  void write(std::string_view text) { write(text.data(), text.size()); }

  void commit() {
    if (::fsync(descriptor_) != 0) fail("cannot be written");
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot be written");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be replaced");
    committed_ = true;
    sync_folder();
  }

 private:
  static std::string temporary_name(std::string const& path) {
    static std::atomic<unsigned> count{0};
    return formatted("{}.{}.{}.tmp", path, ::getpid(), count++);
  }

  /// Without this the new name may be lost with the power, though not the file.
  void sync_folder() const {
    std::size_t const slash = path_.rfind('/');
    std::string const folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
    int const descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;  // a folder that may be written to but not read
    int const status = ::fsync(descriptor);
    int const error = errno;
    ::close(descriptor);
    errno = error;
    if (status != 0 && error != EINVAL && error != ENOTSUP) fail("is written, but its folder cannot be synchronised");
  }

  [[noreturn]] void fail(char const* what) const {
    throw FileError(path_, formatted("{}: {}", what, std::strerror(errno)));
  }

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

/// Replaces the file by `content`.
inline void write_atomically(std::string const& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace trireme
