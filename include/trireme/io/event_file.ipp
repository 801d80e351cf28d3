/// Definitions of trireme/io/event_file.hpp.
#pragma once

#include "trireme/io/event_file.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/crc32c.hpp"
#include "trireme/io/event_file_message.hpp"

#ifdef TRIREME_HAVE_PROTOZERO
namespace trireme::io {

TRIREME_INLINE EventFile::EventFile(std::string const& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError(folder, formatted("the folder cannot be made: {}", error.message()));
  // Absolute, so that the program may change its folder while the file grows.
  std::filesystem::path place = std::filesystem::absolute(folder, error);
  if (error) place = folder;
  do {
    path_ = (place / file_name()).string();
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("cannot be created");
  struct stat status{};
  counts_links_ = ::fstat(descriptor_, &status) == 0 && status.st_nlink > 0;
  try {
    write_bytes(record(version_message(seconds_since_1970())));
    flushed_ = size();
  } catch (...) {
    ::unlink(path_.c_str());
    ::close(descriptor_);
    throw;
  }
}

TRIREME_INLINE EventFile& EventFile::operator=(EventFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(flushed_, other.flushed_);
  std::swap(counts_links_, other.counts_links_);
  return *this;
}

TRIREME_INLINE EventFile::~EventFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

TRIREME_INLINE bool EventFile::in_place() const {
  struct stat opened{}, found{};
  if (::fstat(descriptor_, &opened) != 0) return false;
  if (counts_links_ && opened.st_nlink == 0) return false;
  // Taken to be this file: some network file systems have another inode number at each call.
  return ::stat(path_.c_str(), &found) == 0 || (errno != ENOENT && errno != ENOTDIR && errno != ESTALE);
}

TRIREME_INLINE void EventFile::write(std::span<ScalarEvent const> scalars) {
  double const time = seconds_since_1970();
  std::string records;
  for (auto const& scalar : scalars) records += record(scalar_message(time, scalar));
  write_bytes(records);
}

TRIREME_INLINE void EventFile::flush() {
  int status = 0;
  do status = ::fsync(descriptor_);
  while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EINVAL && errno != ENOTSUP) undo(flushed_);
  flushed_ = size();
}

TRIREME_INLINE std::string EventFile::record(std::string_view content) {
  std::string const length = little_endian(std::uint64_t{content.size()});
  std::string bytes = length + little_endian(masked_crc32c(length));
  bytes += content;
  return bytes + little_endian(masked_crc32c(content));
}

TRIREME_INLINE double EventFile::seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TRIREME_INLINE std::string EventFile::file_name() {
  static std::atomic<unsigned> count{0};
  std::array<char, 256> host{};
  bool const is_named = ::gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
  return formatted("events.out.tfevents.{:010}.{}.{}.{}.v2", static_cast<std::int64_t>(seconds_since_1970()),
                   is_named ? host.data() : "localhost", ::getpid(), count++);
}

TRIREME_INLINE void EventFile::write_bytes(std::string_view bytes) {
  std::int64_t const before = size();
  while (!bytes.empty()) {
    ssize_t const written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) undo(before);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

TRIREME_INLINE std::int64_t EventFile::size() const {
  struct stat status{};
  return ::fstat(descriptor_, &status) == 0 ? std::int64_t{status.st_size} : -1;
}

TRIREME_INLINE void EventFile::undo(std::int64_t bytes) const {
  int const error = errno;
  if (bytes >= 0) static_cast<void>(::ftruncate(descriptor_, bytes) == 0);
  errno = error;
  fail("cannot be written");
}

TRIREME_INLINE void EventFile::fail(char const* what) const {
  throw FileError(path_, formatted("{}: {}", what, std::strerror(errno)));
}

}  // namespace trireme::io

#endif  // TRIREME_HAVE_PROTOZERO
