/// Definitions of trireme/mpi/fault/mpi_check.hpp.
#pragma once

#include "trireme/mpi/fault/mpi_check.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include <mpi.h>

#include "trireme/core/error.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/outside_environment.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/messages.hpp"

namespace trireme::detail {

TRIREME_INLINE bool mpi_is_initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

TRIREME_INLINE bool mpi_is_finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

TRIREME_INLINE void require_mpi(char const* call) {
  if (is_forked_child())
    throw CommunicationError(formatted("{} was to be called in a forked child of a rank, which is no rank", call));
  if (mpi_is_finalized())
    raise_outside_environment(CommunicationError(
        formatted("{} was to be called after MPI had ended; communicate while the Environment lives", call)));
}

TRIREME_INLINE bool& tests_request() {
  static bool tests = false;
  return tests;
}

TRIREME_INLINE int test_request(MPI_Request& request, int& done, MPI_Status* result) {
  tests_request() = true;
  int const status = MPI_Test(&request, &done, result);
  tests_request() = false;
  return status;
}

TRIREME_INLINE void world_error(MPI_Comm* comm, int* status, ...) {
  if (tests_request()) return;
  if (std::FILE* const file = messages()) std::fprintf(file, "%s\n", mpi_error_text(*status).c_str());
  MPI_Abort(*comm, *status);
}

TRIREME_INLINE void return_errors_of_requests() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (MPI_Comm_create_errhandler(&world_error, &handler) != MPI_SUCCESS) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Errhandler_free(&handler);
}

TRIREME_INLINE std::string mpi_error_text(int status) {
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

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE void check(int status, char const* call, std::size_t rank) {
  if (status == MPI_SUCCESS) return;
  throw CommunicationError(formatted("rank {}: {} failed: {}", rank, call, detail::mpi_error_text(status)));
}

TRIREME_INLINE void check(int status, char const* call, MPI_Comm comm) {
  if (status == MPI_SUCCESS) return;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  check(status, call, static_cast<std::size_t>(rank));
}

TRIREME_INLINE void detail::check_made(int status, char const* call, MPI_Comm parent) {
  if (status == MPI_SUCCESS) return;
  int rank = 0;
  MPI_Comm_rank(parent, &rank);
  throw CommunicationError(
      formatted("rank {}: MPI gives no further communicator; let fewer models live at once, or strategies ({}: {})",
                rank, call, mpi_error_text(status)));
}

}  // namespace trireme
