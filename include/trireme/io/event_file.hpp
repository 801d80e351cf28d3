/// TensorBoard's event files: TFRecord files of scalars.
#pragma once

#ifdef TRIREME_HAVE_PROTOZERO

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/event_file_message.hpp"

namespace trireme::io {

/// A new file in a run's folder, which is made if it is not there; the name is TensorFlow's and no other file's.
///
/// The system has each event as soon as it is written: a program that is killed loses none of them.
class EventFile {
 public:
  /// \throws FileError if the folder or the file cannot be made; no file is left then
  explicit EventFile(std::string const& folder);

  EventFile(EventFile&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        flushed_(other.flushed_),
        counts_links_(other.counts_links_) {}
  EventFile& operator=(EventFile&& other) noexcept;
  ~EventFile();

  /// Path of the file, absolute.
  std::string const& path() const { return path_; }

  /// True if the file is still at its path: neither removed nor moved, alone or with its folder. A file moved away in
  /// whose place a copy of it lies counts as there.
  bool in_place() const;

  /// Writes one event for each scalar. \throws FileError if the file system refuses it; none is in the file then
  void write(std::span<ScalarEvent const> scalars);

  /// Puts what was written on the disk, so that other machines see it and it outlives this one. \throws FileError if
  /// the disk does not take it; the file then ends where it was last put there
  void flush();

  /// The bytes of a TFRecord: length and content, each followed by its masked CRC-32C.
  static std::string record(std::string_view content);

 private:
  template <class Integer>
  static std::string little_endian(Integer value) {
    std::string bytes(sizeof(Integer), '\0');
    for (std::size_t i = 0; i < sizeof(Integer); ++i) bytes[i] = static_cast<char>((value >> (8 * i)) & 0xFF);
    return bytes;
  }

  static double seconds_since_1970();

  static std::string file_name();

  void write_bytes(std::string_view bytes);
  /// Bytes of the file; -1: not known.
  std::int64_t size() const;
  /// Cuts the file to so many bytes, unless they are not known, and reports the error of the call before.
  [[noreturn]] void undo(std::int64_t bytes) const;

  [[noreturn]] void fail(char const* what) const;

  std::string path_;
  int descriptor_ = -1;
  std::int64_t flushed_ = -1;  ///< bytes on the disk
  bool counts_links_ = false;  ///< the file system says when the file has no name left
};

}  // namespace trireme::io

#endif  // TRIREME_HAVE_PROTOZERO

#ifndef TRIREME_COMPILED
#include "trireme/io/event_file.ipp"
#endif
