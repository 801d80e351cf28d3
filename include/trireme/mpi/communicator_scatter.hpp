/// Nonblocking collectives of a Communicator on arrays whose parts belong to ranks.
#pragma once

#include "trireme/mpi/communicator.hpp"

namespace trireme {

namespace detail {
/// Tag of a process's message to itself.
inline constexpr int own_part_tag = 106;
}  // namespace detail

template <Reducible T>
Request Communicator::ireduce_sum(T* data, std::size_t n, std::size_t root) const {
  Request request("MPI_Ireduce", rank_);
  bool const here = rank_ == root;
  in_chunks(data, n, [&](void* part, int count, MPI_Datatype type) {
    check(MPI_Ireduce(here ? MPI_IN_PLACE : part, here ? part : nullptr, count, type, MPI_SUM, detail::to_mpi_int(root),
                      comm_, request.next()),
          "MPI_Ireduce", comm_);
  });
  return request;
}

template <Reducible T>
Request Communicator::ireduce_scatter_sum(T const* all, T* own, RankParts const& parts) const {
  Request request("MPI_Ireduce_scatter", rank_);
  MPI_Datatype const type = detail::wire_type<T>().type;
  if (parts.total() <= largest_count_) {
    check(MPI_Ireduce_scatter(all, own, parts.mpi_counts(), type, MPI_SUM, comm_, request.next()),
          "MPI_Ireduce_scatter", comm_);
    return request;
  }
  for (std::size_t owner = 0; owner < size_; ++owner)
    detail::in_chunks(parts.count(owner), largest_count_, [&](std::size_t offset, int count) {
      check(MPI_Ireduce(all + parts.offset(owner) + offset, owner == rank_ ? own + offset : nullptr, count, type,
                        MPI_SUM, detail::to_mpi_int(owner), comm_, request.next()),
            "MPI_Ireduce", comm_);
    });
  return request;
}

template <Reducible T>
Request Communicator::iallgather_parts(T const* own, T* all, RankParts const& parts) const {
  Request request("MPI_Iallgatherv", rank_);
  MPI_Datatype const type = detail::wire_type<T>().type;
  T* const place = all + parts.offset(rank_);
  std::size_t const count = parts.count(rank_);
  if (parts.total() <= largest_count_) {
    bool const in_place = own == place;
    check(MPI_Iallgatherv(in_place ? MPI_IN_PLACE : static_cast<void const*>(own), static_cast<int>(count), type, all,
                          parts.mpi_counts(), parts.mpi_offsets(), type, comm_, request.next()),
          "MPI_Iallgatherv", comm_);
    return request;
  }
  // Each owner's part from its place in the whole.
  if (own != place)  // by MPI, which reads memory of devices where the caller's is there
    detail::in_chunks(count, largest_count_, [&](std::size_t offset, int n) {
      check(MPI_Sendrecv(own + offset, n, type, detail::to_mpi_int(rank_), detail::own_part_tag, place + offset, n,
                         type, detail::to_mpi_int(rank_), detail::own_part_tag, comm_, MPI_STATUS_IGNORE),
            "MPI_Sendrecv", comm_);
    });
  for (std::size_t owner = 0; owner < size_; ++owner)
    detail::in_chunks(parts.count(owner), largest_count_, [&](std::size_t offset, int n) {
      check(MPI_Ibcast(all + parts.offset(owner) + offset, n, type, detail::to_mpi_int(owner), comm_, request.next()),
            "MPI_Ibcast", comm_);
    });
  return request;
}

}  // namespace trireme
