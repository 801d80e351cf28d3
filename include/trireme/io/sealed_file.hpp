/// A checksum behind a file's content, which reveals every damage before the content is read.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"

namespace trireme {

/// Adds the seal, of 16 bytes, to a complete file before its commit. HDF5 does not mind it.
void write_seal(AtomicFile& file);

/// Message on a file that is truncated or damaged, as the checksum at its end tells; empty if the file is whole.
/// \throws FileError if the system does not read the file, which says nothing of its content
std::string damage_of(std::string const& path);

/// True if the file ends as sealed ones do, whether or not its content is that of the checksum.
/// \throws FileError if the system does not read the file
bool has_seal(std::string const& path);

namespace detail {

inline constexpr std::string_view seal_mark = "trireme1";
inline constexpr std::size_t seal_size = 16;  ///< the mark, and the checksum from its lowest byte on

/// A file's content in memory, as the system reads it.
class MappedFile {
 public:
  explicit MappedFile(std::string const& path);
  MappedFile(MappedFile const&) = delete;
  MappedFile& operator=(MappedFile const&) = delete;
  ~MappedFile();

  std::string_view content() const { return {static_cast<char const*>(data_), size_}; }

 private:
  [[noreturn]] void fail(std::string const& path) const;

  int descriptor_ = -1;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

std::array<char, seal_size> seal_of(std::string_view content);

}  // namespace detail

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/sealed_file.ipp"
#endif
