/// StatusDirectory: the directory that holds the status records of one run.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }

 private:
  int number_ = -1;
};

/// Names in a directory, at most so many of them, in no order; none if it cannot be read.
std::vector<std::string> directory_entries(Descriptor const& directory, std::size_t limit);

/// True for a directory that its user alone, who is that of this process, can use.
bool is_private(struct stat const& status);

/// Directory of one run and one user. Its files are opened through its descriptor, so that replacing its path later has
/// no effect. Not collective.
class StatusDirectory {
 public:
  /// Opens `parent/name`, which the first process of the run makes. \param name  unique to the run
  /// \throws FileError also where that is a link, another user's, or open to others
  void open(std::string const& parent, std::string const& name);

  explicit operator bool() const { return static_cast<bool>(directory_); }
  std::string const& path() const { return path_; }
  std::string const& name() const { return name_; }
  Descriptor const& descriptor() const { return directory_; }
  /// The folder in which it lies.
  Descriptor const& parent() const { return parent_; }

  /// A new file; false, with errno, if it cannot be made or the run has one of that name already.
  Descriptor create(std::string const& file) const;
  /// A new file of `size` zeros with disk space allocated, so that mapped memory can be written to. \throws FileError
  Descriptor create(std::string const& file, std::size_t size) const;
  /// A file of another process of the run; false unless there is one of this user and `size`.
  Descriptor find(std::string const& file, std::size_t size) const;

  std::vector<std::string> files() const {
    return directory_entries(directory_, std::numeric_limits<std::size_t>::max());
  }

  /// Sets the time at which a file was changed to now.
  void touch(std::string const& file) const {
    ::utimensat(directory_.get(), file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
  void remove(std::string const& file) const { ::unlinkat(directory_.get(), file.c_str(), 0); }
  /// Removes the directory if it is empty, as it is for the last of the processes that call this.
  void remove_if_empty() const { ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR); }

 private:
  [[noreturn]] static void fail(std::string const& path, std::string_view what);

  Descriptor parent_, directory_;
  std::string name_, path_;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/status_directory.ipp"
#endif
