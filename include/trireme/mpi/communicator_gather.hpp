/// Gathers of Communicator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"

namespace trireme {

namespace detail {
/// Tag of the library's own messages: the largest that every MPI allows.
inline constexpr int gather_tag = 32767;

/// Counts and displacements of a gather as MPI takes them.
struct GatherLayout {
  template <class T>
  explicit GatherLayout(Gathered<T> const& gathered) {
    std::size_t const units = wire_type<T>().units;
    for (std::size_t rank = 0; rank < gathered.parts(); ++rank) {
      counts.push_back(static_cast<int>(gathered.part(rank).size() * units));
      offsets.push_back(static_cast<int>(gathered.offset(rank) * units));
    }
  }
  std::vector<int> counts;
  std::vector<int> offsets;
};
}  // namespace detail

template <Transferable T>
std::vector<T> Communicator::allgather(T const& value) const {
  std::vector<T> values;
  allgather_into(value, values);
  return values;
}

template <Transferable T>
void Communicator::allgather_into(T const& value, std::vector<T>& values) const {
  values.resize(size_);
  auto const [type, units] = detail::wire_type<T>();
  int const count = static_cast<int>(units);
  detail::complete("MPI_Iallgather", comm_, [&, t = type](MPI_Request* request) {
    return MPI_Iallgather(&value, count, t, values.data(), count, t, comm_, request);
  });
}

template <Transferable T>
void Communicator::allgatherv_into(std::span<T const> own, std::vector<std::size_t> const& counts,
                                   std::vector<T>& values) const {
  thread_local std::vector<int> sizes, offsets;  // kept, so that a step allocates nothing
  sizes.clear();
  offsets.clear();
  auto const [type, units] = detail::wire_type<T>();
  std::size_t total = 0;
  for (std::size_t const count : counts) {
    sizes.push_back(static_cast<int>(count * units));
    offsets.push_back(static_cast<int>(total * units));
    total += count;
  }
  if (counts.size() != size_ || counts[rank_] != own.size() || total != values.size())
    throw ShapeError(
        formatted("allgatherv_into on rank {}: {} counts that add up to {}, for {} ranks, {} values of "
                  "its own and room for {}",
                  rank_, counts.size(), total, size_, own.size(), values.size()));
  detail::complete(
      "MPI_Iallgatherv", comm_, [&, t = type, count = static_cast<int>(own.size() * units)](MPI_Request* request) {
        return MPI_Iallgatherv(own.data(), count, t, values.data(), sizes.data(), offsets.data(), t, comm_, request);
      });
}

template <class T>
bool Communicator::fits_one_call(Gathered<T> const& gathered) const {
  return gathered.values().size() * detail::wire_type<T>().units <= largest_count_;
}

template <TransferableRange R>
Gathered<std::ranges::range_value_t<R>> Communicator::allgatherv(R const& values) const {
  return allgatherv_of(std::span<std::ranges::range_value_t<R> const>(values));
}

template <class T>
Gathered<T> Communicator::allgatherv_of(std::span<T const> values) const {
  Gathered<T> gathered(allgather(values.size()));
  auto const [type, units] = detail::wire_type<T>();
  if (fits_one_call(gathered)) {
    detail::GatherLayout const layout(gathered);
    int const own = static_cast<int>(values.size() * units);
    detail::complete("MPI_Iallgatherv", comm_, [&, t = type](MPI_Request* request) {
      return MPI_Iallgatherv(values.data(), own, t, gathered.values().data(), layout.counts.data(),
                             layout.offsets.data(), t, comm_, request);
    });
    return gathered;
  }
  std::copy(values.begin(), values.end(), gathered.part(rank_).begin());
  for (std::size_t owner = 0; owner < size_; ++owner) broadcast(gathered.part(owner), owner);
  return gathered;
}

template <TransferableRange R>
Gathered<std::ranges::range_value_t<R>> Communicator::gatherv(R const& values, std::size_t root) const {
  return gatherv_of(std::span<std::ranges::range_value_t<R> const>(values), root);
}

template <class T>
Gathered<T> Communicator::gatherv_of(std::span<T const> values, std::size_t root) const {
  // All get the counts, so that all choose the same calls for the values.
  std::vector<std::size_t> const counts = allgather(values.size());
  std::size_t total = 0;
  for (std::size_t const count : counts) total += count;
  auto const [type, units] = detail::wire_type<T>();
  Gathered<T> gathered(rank_ == root ? counts : std::vector<std::size_t>{});
  if (total * units <= largest_count_) {
    detail::GatherLayout const layout(gathered);
    int const own = static_cast<int>(values.size() * units);
    detail::complete("MPI_Igatherv", comm_, [&, t = type](MPI_Request* request) {
      return MPI_Igatherv(values.data(), own, t, gathered.values().data(), layout.counts.data(), layout.offsets.data(),
                          t, detail::to_mpi_int(root), comm_, request);
    });
  } else if (rank_ != root) {
    send(values, root, detail::gather_tag);
  } else {
    std::copy(values.begin(), values.end(), gathered.part(root).begin());
    for (std::size_t owner = 0; owner < size_; ++owner)
      if (owner != root) receive(gathered.part(owner), owner, detail::gather_tag);
  }
  return gathered;
}

}  // namespace trireme
