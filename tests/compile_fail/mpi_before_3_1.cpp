// expect: trireme: MPI 3.1 or newer is needed
#include <mpi.h>
#ifdef TRIREME_MUST_FAIL
#undef MPI_SUBVERSION
#undef MPI_VERSION
#define MPI_VERSION 3
#define MPI_SUBVERSION 0
#endif
#include "trireme/mpi/fault/mpi_check.hpp"
