/// Turns the status of an MPI call into an error: every MPI call of the library is wrapped in `check`.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "trireme/error.hpp"

namespace trireme {

/// \throws CommunicationError naming the rank, the call and MPI's own text, unless `status` is MPI_SUCCESS.
///
/// MPI returns a status only on communicators whose error handler is MPI_ERRORS_RETURN, as `Communicator` sets it.
inline void check(int status, char const* call, MPI_Comm comm);

/// The same where the communicator may be gone already, as for a request.
inline void check(int status, char const* call, std::size_t rank);

namespace detail {
/// MPI's text for an error code, on one line: MPICH's has a line for each function on its stack.
inline std::string mpi_error_text(int status) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (MPI_Error_string(status, text.data(), &length) != MPI_SUCCESS) return fmt::format("error code {}", status);
  std::string line;
  for (char const c : std::string_view(text.data(), static_cast<std::size_t>(length))) {
    if (c != '\n')
      line += c;
    else if (!line.empty() && line.back() != ':')
      line += "; ";
    else
      line += ' ';
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == ';')) line.pop_back();
  return line;
}
}  // namespace detail

inline void check(int status, char const* call, std::size_t rank) {
  if (status == MPI_SUCCESS) return;
  throw CommunicationError(fmt::format("rank {}: {} failed: {}", rank, call, detail::mpi_error_text(status)));
}

inline void check(int status, char const* call, MPI_Comm comm) {
  if (status == MPI_SUCCESS) return;
  int rank = 0;
  MPI_Comm_rank(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, &rank);
  check(status, call, static_cast<std::size_t>(rank));
}

}  // namespace trireme
