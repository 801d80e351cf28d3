/// Definitions of trireme/mpi/fault/status_directory.hpp.
#pragma once

#include "trireme/mpi/fault/status_directory.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

TRIREME_INLINE Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

TRIREME_INLINE Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

TRIREME_INLINE std::vector<std::string> directory_entries(Descriptor const& directory, std::size_t limit) {
  std::vector<std::string> names;
  int const again = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = again < 0 ? nullptr : ::fdopendir(again);  // which closes it
  if (listing == nullptr) return names;
  while (names.size() < limit) {
    dirent const* const entry = ::readdir(listing);
    if (entry == nullptr) break;
    std::string_view const name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(listing);
  return names;
}

TRIREME_INLINE bool is_private(struct stat const& status) {
  return S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 0777) == 0700;
}

TRIREME_INLINE void StatusDirectory::open(std::string const& parent, std::string const& name) {
  parent_ = Descriptor(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent_) fail(parent, "cannot be used");
  name_ = name;
  path_ = parent + '/' + name;
  if (::mkdirat(parent_.get(), name_.c_str(), 0700) != 0 && errno != EEXIST) fail(path_, "cannot be created");
  Descriptor found(::openat(parent_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!found || ::fstat(found.get(), &status) != 0) fail(path_, "cannot be used");
  if (!is_private(status))
    throw FileError(path_, "is no directory that this user alone can use, as the status records of a run need");
  directory_ = std::move(found);
}

TRIREME_INLINE Descriptor StatusDirectory::create(std::string const& file) const {
  return Descriptor(::openat(directory_.get(), file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
}

TRIREME_INLINE Descriptor StatusDirectory::create(std::string const& file, std::size_t size) const {
  Descriptor made = create(file);
  if (!made) fail(path_ + '/' + file, "cannot be created");
  errno = ::posix_fallocate(made.get(), 0, static_cast<off_t>(size));
  if (errno == 0) return made;
  int const reason = errno;
  remove(file);
  errno = reason;
  fail(path_ + '/' + file, "cannot be given room");
}

TRIREME_INLINE Descriptor StatusDirectory::find(std::string const& file, std::size_t size) const {
  Descriptor found(::openat(directory_.get(), file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  bool const fits = found && ::fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                    status.st_uid == ::geteuid() && static_cast<std::size_t>(status.st_size) == size;
  return fits ? std::move(found) : Descriptor();
}

TRIREME_INLINE void StatusDirectory::fail(std::string const& path, std::string_view what) {
  throw FileError(path, formatted("{}, for the status records of the run: {}", what, std::strerror(errno)));
}

}  // namespace trireme::detail
