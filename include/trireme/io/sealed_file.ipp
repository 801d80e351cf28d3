/// Definitions of trireme/io/sealed_file.hpp.
#pragma once

#include "trireme/io/sealed_file.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"

namespace trireme::detail {

TRIREME_INLINE MappedFile::MappedFile(std::string const& path) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) fail(path);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (data_ == MAP_FAILED) fail(path);
}

TRIREME_INLINE MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(data_, size_);
  ::close(descriptor_);
}

TRIREME_INLINE void MappedFile::fail(std::string const& path) const {
  int const error = errno;
  if (descriptor_ >= 0) ::close(descriptor_);
  throw FileError(path, formatted("cannot be read: {}", std::strerror(error)));
}

TRIREME_INLINE std::array<char, seal_size> seal_of(std::string_view content) {
  std::array<char, seal_size> seal{};
  seal_mark.copy(seal.data(), seal_mark.size());
  std::uint64_t const hash = data::hash_bytes(content.data(), content.size());
  for (std::size_t i = 0; i < 8; ++i) seal[seal_mark.size() + i] = static_cast<char>(hash >> (8 * i) & 0xff);
  return seal;
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE void write_seal(AtomicFile& file) {
  auto const seal = detail::seal_of(detail::MappedFile(file.temporary()).content());
  file.append({seal.data(), seal.size()});
}

TRIREME_INLINE std::string damage_of(std::string const& path) {
  detail::MappedFile const file(path);
  std::string_view const all = file.content();
  if (all.size() < detail::seal_size) return FileError(path, "is truncated").what();
  auto const seal = detail::seal_of(all.substr(0, all.size() - detail::seal_size));
  if (all.substr(all.size() - detail::seal_size) == std::string_view(seal.data(), seal.size())) return {};
  return FileError(path, "is truncated or damaged: its checksum is not that of its content").what();
}

TRIREME_INLINE bool has_seal(std::string const& path) {
  detail::MappedFile const file(path);
  std::string_view const all = file.content();
  return all.size() >= detail::seal_size && all.substr(all.size() - detail::seal_size).starts_with(detail::seal_mark);
}

}  // namespace trireme
