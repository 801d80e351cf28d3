/// Comparison of the samples that processes have drawn, which have to be the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"

namespace trireme::data {

/// Samples or batches that a rank has drawn.
struct DrawnCount {
  std::size_t rank = 0, count = 0;
};

/// Throws the error of a rank that has drawn other numbers than the first one; on all processes.
[[noreturn]] inline void raise_differing_draws(DrawnCount const& other, DrawnCount const& first, char const* units,
                                               std::string const& called) {
  raise_uniform(ValueError(
      formatted("rank {} has drawn {} {} of {} where rank {} has drawn {}: a generator has to give all ranks "
                "the same samples",
                other.rank, other.count, units, called, first.rank, first.count)));
}

/// Compares a number of samples or batches between all processes. Collective.
/// \throws ValueError on all processes if one differs.
template <class Group>
void require_same_count(Group const& group, std::size_t drawn, char const* units, std::string const& called) {
  if (group.size() == 1) return;
  std::vector<std::size_t> const all = group.allgather(drawn);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0]) raise_differing_draws({rank, all[rank]}, {0, all[0]}, units, called);
}

/// Compares the samples of an epoch's batches between the processes that draw. Collective.
/// \param drawn  samples after each batch, from the epoch's first on, over all batches before.
/// \param draws  false on a process that draws none.
/// \throws ValueError on all processes, with the samples at the first batch that differs.
template <class Group>
void require_same_draws(Group const& group, std::vector<std::size_t> const& drawn, bool draws,
                        std::string const& called) {
  // One number suffices as long as they are the same; 0 stands for no draws.
  std::uint64_t const hash = hash_bytes(drawn.data(), drawn.size() * sizeof(std::size_t)) | 1;
  std::vector<std::uint64_t> const hashes = group.allgather(draws ? hash : 0);
  auto const first = std::find_if(hashes.begin(), hashes.end(), [](std::uint64_t h) { return h != 0; });
  if (std::all_of(first, hashes.end(), [&](std::uint64_t h) { return h == 0 || h == *first; })) return;
  auto const all = group.allgatherv(drawn);
  auto const at = [&](std::size_t rank, std::size_t batch) -> DrawnCount {
    auto const part = all.part(rank);
    return {rank, part.empty() ? 0 : part[std::min(batch, part.size() - 1)]};
  };
  auto const reference = static_cast<std::size_t>(first - hashes.begin());
  for (std::size_t batch = 0; batch < all.values().size(); ++batch)
    for (std::size_t rank = reference + 1; rank < hashes.size(); ++rank)
      if (hashes[rank] != 0 && at(rank, batch).count != at(reference, batch).count)
        raise_differing_draws(at(rank, batch), at(reference, batch), "samples", called);
}

}  // namespace trireme::data
