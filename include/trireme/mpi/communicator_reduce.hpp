/// Reductions and broadcasts of Communicator.
#pragma once

#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"

namespace trireme {

template <class T, class Part>
void Communicator::in_chunks(T* data, std::size_t n, Part&& part) const {
  auto const [type, units] = detail::wire_type<std::remove_const_t<T>>();
  std::size_t const scalar_size = sizeof(T) / units;
  auto* const bytes = reinterpret_cast<std::conditional_t<std::is_const_v<T>, std::byte const, std::byte>*>(data);
  // By value: a structured binding cannot be captured by every supported compiler.
  detail::in_chunks(n * units, largest_count_, [&, t = type](std::size_t offset, int count) {
    part(bytes == nullptr ? nullptr : bytes + offset * scalar_size, count, t);
  });
}

template <class R>
void Communicator::allreduce(R& values, MPI_Op operation) const {
  in_chunks(std::ranges::data(values), std::ranges::size(values), [&](void* data, int count, MPI_Datatype type) {
    detail::complete("MPI_Iallreduce", comm_, [&](MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, data, count, type, operation, comm_, request);
    });
  });
}

template <Reducible T>
Request Communicator::iallreduce_sum(T* data, std::size_t n) const {
  Request request("MPI_Iallreduce", rank_);
  in_chunks(data, n, [&](void* part, int count, MPI_Datatype type) {
    check(MPI_Iallreduce(MPI_IN_PLACE, part, count, type, MPI_SUM, comm_, request.next()), "MPI_Iallreduce", comm_);
  });
  return request;
}

template <Reducible T>
void Communicator::reduce_scatter_sum(std::span<T const> all, std::span<T> part,
                                      std::span<std::size_t const> counts) const {
  std::size_t total = 0;
  for (std::size_t const count : counts) total += count;
  if (counts.size() != size_ || total != all.size() || counts[rank_] != part.size())
    throw ShapeError(
        formatted("reduce_scatter_sum on rank {}: {} counts that add up to {}, for {} ranks, {} values "
                  "and a part of {}",
                  rank_, counts.size(), total, size_, all.size(), part.size()));
  if (total <= largest_count_) {
    std::vector<int> int_counts;
    for (std::size_t const count : counts) int_counts.push_back(static_cast<int>(count));
    detail::complete("MPI_Ireduce_scatter", comm_, [&](MPI_Request* request) {
      return MPI_Ireduce_scatter(all.data(), part.data(), int_counts.data(), detail::wire_type<T>().type, MPI_SUM,
                                 comm_, request);
    });
    return;
  }
  T const* source = all.data();
  for (std::size_t owner = 0; owner < size_; ++owner) {
    detail::in_chunks(counts[owner], largest_count_, [&](std::size_t offset, int count) {
      detail::complete("MPI_Ireduce", comm_, [&](MPI_Request* request) {
        return MPI_Ireduce(source + offset, part.data() + (owner == rank_ ? offset : 0), count,
                           detail::wire_type<T>().type, MPI_SUM, detail::to_mpi_int(owner), comm_, request);
      });
    });
    source += counts[owner];
  }
}

template <TransferableRange R>
void Communicator::broadcast(R&& values, std::size_t root) const {
  in_chunks(std::ranges::data(values), std::ranges::size(values), [&](void* data, int count, MPI_Datatype type) {
    detail::complete("MPI_Ibcast", comm_, [&](MPI_Request* request) {
      return MPI_Ibcast(data, count, type, detail::to_mpi_int(root), comm_, request);
    });
  });
}

inline void Communicator::broadcast(std::string& text, std::size_t root) const {
  text.resize(broadcast(text.size(), root));
  broadcast(std::span<char>(text), root);
}

template <Transferable T>
Uniform<T> Communicator::broadcast(T value, std::size_t root) const {
  broadcast(std::span<T>(&value, 1), root);
  return detail::UniformAccess::make(value);
}

}  // namespace trireme
