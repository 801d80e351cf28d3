/// The errors that trireme throws. Each message is one sentence that names the file, value or type at fault.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace trireme {

/// Base of every error of the library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  /// True if every process of the communicator throws this same error, so that each may end in order;
  /// otherwise the other processes know nothing of it and have to be aborted.
  bool uniform() const noexcept { return uniform_; }
  /// Declares that every process of the communicator throws this same error.
  void mark_uniform() noexcept { uniform_ = true; }

 private:
  bool uniform_ = false;
};

/// Throws an error that every process of the communicator comes to by itself.
template <class E>
[[noreturn]] void raise_uniform(E error) {
  error.mark_uniform();
  throw error;
}

/// Extents that do not fit each other, known only at run time.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A value that is outside of what is allowed: an option, a label, a sample.
class ValueError : public Error {
 public:
  using Error::Error;
};

/// A file that is missing, truncated, of another kind, or that cannot be written.
class FileError : public Error {
 public:
  /// Error of the file at `path`, with which its message begins.
  FileError(std::string path, std::string const& what) : Error(path + ": " + what), path_(std::move(path)) {}
  /// Path of the file.
  std::string const& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// A run of `fit` that was saved and left because a process received a signal; the same on all processes.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// An MPI call that failed.
class CommunicationError : public Error {
 public:
  using Error::Error;
};

}  // namespace trireme
