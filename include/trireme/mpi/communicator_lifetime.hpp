/// Construction, splitting and destruction of a Communicator.
#pragma once

#include "trireme/mpi/communicator.hpp"

namespace trireme {

namespace detail {
MPI_Comm duplicated(MPI_Comm parent);
}  // namespace detail

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/mpi/communicator_lifetime.ipp"
#endif
