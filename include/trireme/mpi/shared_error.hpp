/// SharedError: the error of one process, sent to all of them and thrown again there.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "trireme/core/error.hpp"

namespace trireme::detail {

/// Content of an error that is sent: its class, as far as it is one of the library's, its message and its file. The
/// message is one sentence on one line, also of an exception whose text has line ends or is empty.
struct SharedError {
  enum class Kind : char { general, shape, value, file, communication };

  Kind kind = Kind::general;
  std::string message;
  std::string path;  // for Kind::file

  static SharedError from(std::exception_ptr const& error);

  /// Throws the error, marked as uniform. \param origin  put in front of the message, for example "on rank 2: "
  [[noreturn]] void raise(std::string const& origin) const;
};

/// A FileError whose message has the rank in front of the path.
class FileErrorElsewhere : public FileError {
 public:
  FileErrorElsewhere(std::string path, std::string const& message)
      : FileError(std::move(path), ""), message_(message) {}
  char const* what() const noexcept override { return message_.what(); }

 private:
  std::runtime_error message_;  // unlike a string, it is copied without throwing
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/shared_error.ipp"
#endif
