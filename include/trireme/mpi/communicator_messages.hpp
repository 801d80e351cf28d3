/// Point-to-point messages of Communicator.
#pragma once

#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"

namespace trireme {

template <TransferableRange R>
void Communicator::send(R const& values, std::size_t to, int tag) const {
  in_chunks(std::ranges::data(values), std::ranges::size(values), [&](void const* data, int count, MPI_Datatype type) {
    detail::complete("MPI_Isend", comm_, [&](MPI_Request* request) {
      return MPI_Isend(data, count, type, detail::to_mpi_int(to), tag, comm_, request);
    });
  });
}

template <TransferableRange R>
void Communicator::receive(R&& values, std::size_t from, int tag) const {
  in_chunks(std::ranges::data(values), std::ranges::size(values), [&](void* data, int count, MPI_Datatype type) {
    MPI_Status status;
    detail::complete(
        "MPI_Irecv", comm_,
        [&](MPI_Request* request) {
          return MPI_Irecv(data, count, type, detail::to_mpi_int(from), tag, comm_, request);
        },
        &status);
    int received = 0;
    check(MPI_Get_count(&status, type, &received), "MPI_Get_count", comm_);
    if (received != count)
      throw CommunicationError(formatted("rank {}: a message of {} elements from rank {}, where {} were expected",
                                         rank_, received, from, count));
  });
}

template <TransferableRange R>
Request Communicator::isend(R const& values, std::size_t to, int tag) const {
  Request request("MPI_Isend", rank_);
  in_chunks(std::ranges::data(values), std::ranges::size(values), [&](void const* data, int count, MPI_Datatype type) {
    check(MPI_Isend(data, count, type, detail::to_mpi_int(to), tag, comm_, request.next()), "MPI_Isend", comm_);
  });
  return request;
}

template <TransferableRange R>
Request Communicator::ireceive(R&& values, std::size_t from, int tag) const {
  Request request("MPI_Irecv", rank_);
  in_chunks(std::ranges::data(values), std::ranges::size(values), [&](void* data, int count, MPI_Datatype type) {
    check(MPI_Irecv(data, count, type, detail::to_mpi_int(from), tag, comm_, request.next()), "MPI_Irecv", comm_);
  });
  return request;
}

}  // namespace trireme
