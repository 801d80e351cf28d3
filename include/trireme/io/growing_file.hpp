/// Files that grow by whole pieces of text, such as the lines of a log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// A file that is opened by its name, and made if it is absent; links are followed. What a terminal, pipe or device was
/// given stays there, and its size is 0.
class GrowingFile {
 public:
  /// \throws FileError
  explicit GrowingFile(std::string path);
  GrowingFile(GrowingFile const&) = delete;
  GrowingFile& operator=(GrowingFile const&) = delete;
  ~GrowingFile() { ::close(descriptor_); }

  /// Bytes in the file now; 0 unless it is a regular file.
  std::uint64_t size() const;

  /// Drops what is behind the first `bytes`.
  void cut(std::uint64_t bytes);

  /// The text is on the disk at the end; after an error it is no longer in the file, unless another program has
  /// appended to it since. \return the bytes up to the end of the text; 0 unless it is a regular file
  std::uint64_t append(std::string_view text);

 private:
  /// Bytes up to the end of what was written last.
  std::uint64_t position() const;

  [[noreturn]] void undo(std::uint64_t written);

  [[noreturn]] void fail(char const* what) const;

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/growing_file.ipp"
#endif
