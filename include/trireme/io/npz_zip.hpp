/// The part of the zip format that numpy uses without compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/sealed_file.hpp"

namespace trireme::detail {

/// The checksum of zip files, continued from `crc`.
std::uint32_t zip_crc32(void const* data, std::size_t bytes, std::uint32_t crc = 0);

/// Little-endian numbers at the end of a string, and at a place in memory.
void put(std::string& text, std::size_t value, int bytes);

std::size_t take(char const* from, int bytes);

inline constexpr std::string_view zip_local = "PK\x03\x04";
inline constexpr std::string_view zip_central = "PK\x01\x02";
inline constexpr std::string_view zip_end = "PK\x05\x06";
inline constexpr std::size_t zip_local_size = 30;
inline constexpr std::size_t zip_central_size = 46;
inline constexpr std::size_t zip_end_size = 22;
inline constexpr std::string_view zip64_locator = "PK\x06\x07";
inline constexpr std::string_view zip64_end = "PK\x06\x06";
inline constexpr std::size_t zip64_locator_size = 20;
inline constexpr std::size_t zip64_end_size = 56;

class ZipWriter {
 public:
  explicit ZipWriter(std::string const& path) : file_(path), path_(path) {}

  /// Adds a member that consists of a header and of data.
  void add(std::string const& name, std::string const& header, void const* data, std::size_t bytes);

  void commit(bool sealed = false);

 private:
  AtomicFile file_;
  std::string path_;
  std::string directory_;
  std::size_t offset_ = 0;
  std::size_t members_ = 0;
};

class ZipReader {
 public:
  explicit ZipReader(std::string const& path);

  std::string const& path() const { return path_; }

  bool holds(std::string const& name) const { return find(name) != nullptr; }

  /// The content of a member, with its checksum verified. \throws FileError if it has more bytes than `most`
  std::string read(std::string const& name, std::size_t most) const;

  /// Calls f(name, content) for each member, in the directory's order.
  template <class F>
  void for_each_member(F const& f) const {
    for_each_entry([&](std::string_view name, char const* entry) {
      f(std::string(name), content(printable(name, 200), entry, size_));
    });
  }

 private:
  static std::string array_name(std::string const& name) { return name.substr(0, name.rfind(".npy")); }

  /// Calls f(name, entry) for the members in the directory's order.
  template <class F>
  void for_each_entry(F const& f) const {
    for (std::size_t at = 0; at + zip_central_size <= directory_.size();) {
      char const* const entry = &directory_[at];
      if (std::string_view(entry, 4) != zip_central) throw FileError(path_, "has a damaged directory");
      std::size_t const name_size = take(entry + 28, 2);
      at += zip_central_size + name_size + take(entry + 30, 2) + take(entry + 32, 2);
      if (at > directory_.size()) throw FileError(path_, "has a damaged directory");
      f(std::string_view(entry + zip_central_size, name_size), entry);
    }
  }

  /// The entry of a member in the directory, or null.
  char const* find(std::string const& name) const;

  struct Extent {
    std::size_t size;
    std::size_t offset;  ///< of the local header
  };

  /// The extent of a member, whose numbers stand in a zip64 field where the entry's own are all ones.
  Extent extent(std::string const& name, char const* entry) const;

  /// The directory that the end record of the file names, or the zip64 end record before it.
  std::string directory(char const* end, std::size_t place) const;

  std::string content(std::string const& name, char const* entry, std::size_t most) const;

  std::string bytes(std::size_t offset, std::size_t count) const;

  std::string path_;
  mutable std::ifstream file_;
  std::size_t size_ = 0;
  mutable std::size_t left_ = 0;  ///< bytes of members that have not been read yet
  std::string directory_;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/io/npz_zip.ipp"
#endif
