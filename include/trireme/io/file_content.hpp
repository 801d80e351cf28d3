/// Whole files in memory, decompressed on the way if they are gzip files.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/io/gzip.hpp"
#include "trireme/text.hpp"

namespace trireme::io {

/// The content of a file; of a gzip file (told by its first bytes, not by its name), what is compressed in it.
/// \throws FileError if it cannot be read.
inline std::vector<char> file_content(std::string const& path) {
  errno = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw FileError(path, formatted("cannot be opened: {}", std::strerror(errno)));
  std::vector<char> bytes;
  std::size_t size = 0;
  do {
    if (size == bytes.size()) bytes.resize(size == 0 ? std::size_t{1} << 16 : 2 * size);
    size += std::fread(bytes.data() + size, 1, bytes.size() - size, file.get());
  } while (size == bytes.size());
  if (std::ferror(file.get())) throw FileError(path, formatted("cannot be read: {}", std::strerror(errno)));
  bytes.resize(size);
  return is_gzip(bytes) ? gunzip(path, bytes) : bytes;
}

}  // namespace trireme::io
