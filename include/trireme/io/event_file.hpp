/// TensorBoard's event files: TFRecord files of scalars.
#pragma once

#ifdef TRIREME_HAVE_PROTOZERO

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
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/crc32c.hpp"
#include "trireme/io/event_file_message.hpp"

namespace trireme::io {

/// A new file in a run's folder, which is made if it is not there; the name is TensorFlow's and no other file's.
///
/// The system has each event as soon as it is written: a program that is killed loses none of them.
class EventFile {
 public:
  /// \throws FileError if the folder or the file cannot be made
  explicit EventFile(std::string const& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw FileError(folder, formatted("the folder cannot be made: {}", error.message()));
    do {
      path_ = (std::filesystem::path(folder) / file_name()).string();
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) fail("cannot be created");
    try {
      write_bytes(record(version_message(seconds_since_1970())));
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
  }

  EventFile(EventFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  EventFile& operator=(EventFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~EventFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  std::string const& path() const { return path_; }

  void write(std::span<ScalarEvent const> scalars) {
    double const time = seconds_since_1970();
    std::string records;
    for (auto const& scalar : scalars) records += record(scalar_message(time, scalar));
    write_bytes(records);
  }

  /// Puts what was written on the disk, so that other machines see it and it outlives this one.
  void flush() {
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail("cannot be written");
  }

  /// The bytes of a TFRecord: length and content, each followed by its masked CRC-32C.
  static std::string record(std::string_view content) {
    std::string const length = little_endian(std::uint64_t{content.size()});
    std::string bytes = length + little_endian(masked_crc32c(length));
    bytes += content;
    return bytes + little_endian(masked_crc32c(content));
  }

 private:
  template <class Integer>
  static std::string little_endian(Integer value) {
    std::string bytes(sizeof(Integer), '\0');
    for (std::size_t i = 0; i < sizeof(Integer); ++i) bytes[i] = static_cast<char>((value >> (8 * i)) & 0xFF);
    return bytes;
  }

  static double seconds_since_1970() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }

  static std::string file_name() {
    static std::atomic<unsigned> count{0};
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') std::strcpy(host.data(), "localhost");
    return formatted("events.out.tfevents.{:010}.{}.{}.{}.v2", static_cast<std::int64_t>(seconds_since_1970()),
                     host.data(), ::getpid(), count++);
  }

  void write_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t const written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot be written");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  [[noreturn]] void fail(char const* what) const {
    throw FileError(path_, formatted("{}: {}", what, std::strerror(errno)));
  }

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace trireme::io

#endif  // TRIREME_HAVE_PROTOZERO
