/// Probes of Communicator for messages that have arrived.
#pragma once

#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"

namespace trireme {

inline std::optional<std::size_t> Communicator::probe(int tag) const {
  int waits = 0;
  MPI_Status status;
  check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &waits, &status), "MPI_Iprobe", comm_);
  return waits != 0 ? std::optional(static_cast<std::size_t>(status.MPI_SOURCE)) : std::nullopt;
}

inline std::size_t Communicator::await(int tag) const {
  DeadlineWait waiting("MPI_Iprobe");
  waiting.be_patient();  // the others work meanwhile
  while (true) {
    if (auto const from = probe(tag)) return *from;
    waiting.turn();
  }
}

}  // namespace trireme
