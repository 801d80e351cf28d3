/// Conversion of an MPI call's status into an error: every MPI call of the library is wrapped in `check`.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/outside_environment.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// \throws CommunicationError naming the rank, the call and MPI's own text, unless `status` is MPI_SUCCESS.
///
/// MPI returns a status only on communicators whose error handler is MPI_ERRORS_RETURN, as `Communicator` sets it.
inline void check(int status, char const* call, MPI_Comm comm);

/// The same where the communicator may be gone already, as for a request.
inline void check(int status, char const* call, std::size_t rank);

namespace detail {
inline bool mpi_is_initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}
inline bool mpi_is_finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

/// Check before an MPI call on a communicator that may have outlived MPI. \throws CommunicationError
inline void require_mpi(char const* call) {
  if (mpi_is_finalized())
    raise_outside_environment(CommunicationError(
        formatted("{} was to be called after MPI had ended; communicate while the Environment lives", call)));
}

/// True while the library tests one of its own requests.
inline bool& tests_request() {
  static bool tests = false;
  return tests;
}

/// As MPI_Test, which reports errors of a request to the error handler of MPI_COMM_WORLD, whatever its communicator.
inline int test_request(MPI_Request& request, int& done, MPI_Status* result = MPI_STATUS_IGNORE) {
  tests_request() = true;
  int const status = MPI_Test(&request, &done, result);
  tests_request() = false;
  return status;
}

inline std::string mpi_error_text(int status);

/// Error handler of MPI_COMM_WORLD where the library has started MPI: the library's own requests return errors, and all
/// other errors there stay fatal.
inline void world_error(MPI_Comm* comm, int* status, ...) {
  if (tests_request()) return;
  std::fprintf(stderr, "%s\n", mpi_error_text(*status).c_str());
  MPI_Abort(*comm, *status);
}
inline void return_errors_of_requests() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (MPI_Comm_create_errhandler(&world_error, &handler) != MPI_SUCCESS) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Errhandler_free(&handler);
}

/// MPI's text for an error code, on one line: MPICH's has a line for each function on its stack.
inline std::string mpi_error_text(int status) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (MPI_Error_string(status, text.data(), &length) != MPI_SUCCESS) return formatted("error code {}", status);
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
  throw CommunicationError(formatted("rank {}: {} failed: {}", rank, call, detail::mpi_error_text(status)));
}

inline void check(int status, char const* call, MPI_Comm comm) {
  if (status == MPI_SUCCESS) return;
  int rank = 0;
  MPI_Comm_rank(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, &rank);
  check(status, call, static_cast<std::size_t>(rank));
}

}  // namespace trireme
