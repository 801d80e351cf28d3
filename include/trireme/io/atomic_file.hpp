/// Files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// Written beside its final place, and moved there by `commit` once it is on the disk: under the final name there is
/// always the old file or the new one, whenever the program or the machine stops. Without `commit` the old one stays.
///
/// The new file has the permissions of the old one, or those of any new file. Several processes may write the same
/// target: each writes a file of its own, and the last commit remains. A link of that name is replaced, not followed.
///
/// A program that is killed may leave `<path>.<process id>.<number>.tmp` behind.
class AtomicFile {
 public:
  /// \throws FileError if no file can be made beside `path`
  explicit AtomicFile(std::string path);

  AtomicFile(AtomicFile const&) = delete;
  AtomicFile& operator=(AtomicFile const&) = delete;

  ~AtomicFile();

  /// Path of the file while it is being written, for libraries that open files by name.
  std::string const& temporary() const { return temporary_; }

  /// Writes bytes behind those that this object has written. \throws FileError if the file system refuses them
  void write(void const* data, std::size_t bytes);

  /// Writes text, as bytes. \throws FileError if the file system refuses it
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// Behind all that was written, also by libraries.
  void append(std::string_view text);

  /// Puts the file on the disk and moves it to its final name. \throws FileError if that fails
  void commit();

 private:
  static std::string temporary_name(std::string const& path);

  static int synchronise(int descriptor);

  /// Without this the new name may be lost with the power, though not the file.
  void sync_folder() const;

  [[noreturn]] void fail(char const* what) const;

  std::string path_;
  std::string temporary_;
  std::optional<mode_t> permissions_;  ///< of the file that is replaced
  int descriptor_ = -1;
  bool renamed_ = false;
};

/// Replaces the file by `content`.
void write_atomically(std::string const& path, std::string_view content);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/atomic_file.ipp"
#endif
