/// StatusDirectory: the directory that holds the status records of one run.
#pragma once

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
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// Owner of a file descriptor, which it closes.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }

 private:
  int number_ = -1;
};

/// Directory of one run and one user. Its files are opened through its descriptor, so that replacing its path later has
/// no effect. Not collective.
class StatusDirectory {
 public:
  /// Opens `parent/name`, which the first process of the run makes. \param name  unique to the run
  /// \throws FileError also where that is a link, another user's, or open to others
  void open(std::string const& parent, std::string const& name) {
    parent_ = Descriptor(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent_) fail(parent, "cannot be used");
    name_ = name;
    path_ = parent + '/' + name;
    if (::mkdirat(parent_.get(), name_.c_str(), 0700) != 0 && errno != EEXIST) fail(path_, "cannot be created");
    Descriptor found(::openat(parent_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0) fail(path_, "cannot be used");
    if (status.st_uid != ::geteuid() || (status.st_mode & 0777) != 0700)
      throw FileError(path_, "is no directory that this user alone can use, as the status records of a run need");
    directory_ = std::move(found);
  }

  explicit operator bool() const { return static_cast<bool>(directory_); }
  std::string const& path() const { return path_; }

  /// A new file; false, with errno, if it cannot be made or the run has one of that name already.
  Descriptor create(std::string const& file) const {
    return Descriptor(
        ::openat(directory_.get(), file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  /// A new file of `size` zeros with disk space allocated, so that mapped memory can be written to. \throws FileError
  Descriptor create(std::string const& file, std::size_t size) const {
    Descriptor made = create(file);
    if (!made) fail(path_ + '/' + file, "cannot be created");
    errno = ::posix_fallocate(made.get(), 0, static_cast<off_t>(size));
    if (errno == 0) return made;
    int const reason = errno;
    remove(file);
    errno = reason;
    fail(path_ + '/' + file, "cannot be given room");
  }
  /// A file of another process of the run; false unless there is one of this user and `size`.
  Descriptor find(std::string const& file, std::size_t size) const {
    Descriptor found(::openat(directory_.get(), file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    struct stat status {};
    bool const fits = found && ::fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                      status.st_uid == ::geteuid() && static_cast<std::size_t>(status.st_size) == size;
    return fits ? std::move(found) : Descriptor();
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    int const again = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const listing = again < 0 ? nullptr : ::fdopendir(again);  // which closes it
    if (listing == nullptr) return names;
    while (dirent const* const entry = ::readdir(listing)) names.emplace_back(entry->d_name);
    ::closedir(listing);
    return names;
  }

  void remove(std::string const& file) const { ::unlinkat(directory_.get(), file.c_str(), 0); }
  /// Removes the directory if it is empty, as it is for the last of the processes that call this.
  void remove_if_empty() const { ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR); }

 private:
  [[noreturn]] static void fail(std::string const& path, std::string_view what) {
    throw FileError(path, formatted("{}, for the status records of the run: {}", what, std::strerror(errno)));
  }

  Descriptor parent_, directory_;
  std::string name_, path_;
};

}  // namespace trireme::detail
