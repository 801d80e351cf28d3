/// Conversion of an MPI call's status into an error: every MPI call of the library is wrapped in `check`.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

static_assert(MPI_VERSION > 3 || (MPI_VERSION == 3 && MPI_SUBVERSION >= 1),
              "trireme: MPI 3.1 or newer is needed (MPICH 3.2, Open MPI 2.0), and this mpi.h is an older one's");

/// \throws CommunicationError naming the rank, the call and MPI's own text, unless `status` is MPI_SUCCESS.
///
/// MPI returns a status only on communicators whose error handler is MPI_ERRORS_RETURN, as `Communicator` sets it.
void check(int status, char const* call, MPI_Comm comm);

/// The same where the communicator may be gone already, as for a request.
void check(int status, char const* call, std::size_t rank);

namespace detail {
/// `check` of a call that makes a communicator or a window, of which an MPI has only so many.
void check_made(int status, char const* call, MPI_Comm parent);

bool mpi_is_initialized();
bool mpi_is_finalized();

/// Check before an MPI call on a communicator that may have outlived MPI. \throws CommunicationError
void require_mpi(char const* call);

/// True while the library tests one of its own requests.
bool& tests_request();

/// As MPI_Test, which reports errors of a request to the error handler of MPI_COMM_WORLD, whatever its communicator.
int test_request(MPI_Request& request, int& done, MPI_Status* result = MPI_STATUS_IGNORE);

/// MPI's text for an error code, on one line: MPICH's has a line for each function on its stack.
std::string mpi_error_text(int status);

/// Error handler of MPI_COMM_WORLD where the library has started MPI: the library's own requests return errors, and all
/// other errors there stay fatal.
void world_error(MPI_Comm* comm, int* status, ...);
void return_errors_of_requests();

}  // namespace detail

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/mpi_check.ipp"
#endif
