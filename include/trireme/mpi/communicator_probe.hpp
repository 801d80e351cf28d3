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

template <Transferable T>
void Communicator::discard_messages(int tag) const {
  // Messages arrive in order, so that an empty one ends those of its sender.
  std::span<T const> const empty;
  Requests ends;
  for (std::size_t to = 0; to < size_; ++to) ends.push(isend(empty, to, tag));
  auto const [type, units] = detail::wire_type<T>();
  std::vector<T> dropped;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    int const from = detail::to_mpi_int(rank);
    for (int count = -1; count != 0;) {
      DeadlineWait waiting("MPI_Iprobe");
      int waits = 0;
      MPI_Status status;
      while (check(MPI_Iprobe(from, tag, comm_, &waits, &status), "MPI_Iprobe", comm_), waits == 0) waiting.turn();
      check(MPI_Get_count(&status, type, &count), "MPI_Get_count", comm_);
      dropped.resize((static_cast<std::size_t>(count) + units - 1) / units);
      check(MPI_Recv(dropped.data(), count, type, from, tag, comm_, MPI_STATUS_IGNORE), "MPI_Recv", comm_);
    }
  }
  ends.wait_all();
}

}  // namespace trireme
