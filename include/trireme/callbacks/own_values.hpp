/// Values of callbacks that differ between processes, in a checkpoint: each process saves its own, and has them again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/stored_tensor.hpp"

namespace trireme::detail {

/// The values of callbacks among those of a run, without what the chief alone holds.
StoredTensors values_of_callbacks(StoredTensors const& run);

/// Gives the run these values of callbacks in place of its own.
void set_values_of_callbacks(StoredTensors& run, StoredTensors own);

/// Adds the values of callbacks of each process that has others than the chief to the chief's tensors, which are to be
/// saved: below "own/2/" those of rank 2. Collective.
template <class Group>
void gather_own_values(Group const& group, StoredTensors& run) {
  if (group.size() == 1) return;
  PackedTensors own(values_of_callbacks(run));
  std::uint64_t const hash = data::hash_combine(data::hash_bytes(own.contents.data(), own.contents.size()),
                                                data::hash_bytes(own.values.data(), own.values.size()));
  std::vector<std::uint64_t> const hashes = group.allgather(hash);
  if (std::ranges::all_of(hashes, [&](std::uint64_t other) { return other == hashes[0]; })) return;
  if (hash == hashes[0]) own = {{}, {}};
  auto const contents = group.gatherv(own.contents), values = group.gatherv(own.values);
  if (!group.is_chief()) return;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
    if (hashes[rank] == hashes[0]) continue;
    auto const text = contents.part(rank), bytes = values.part(rank);
    PackedTensors const packed({text.begin(), text.end()}, {bytes.begin(), bytes.end()});
    for (auto& [name, tensor] : packed.tensors()) run.emplace(formatted("own/{}/{}", rank, name), std::move(tensor));
  }
}

/// Values that processes of a saved run had of their own, by rank; empty on all processes but the chief.
using OwnValues = std::map<std::size_t, StoredTensors>;

/// Takes them out of the tensors that the chief has read.
OwnValues take_own_values(StoredTensors& run);

/// Name of a value that another process had otherwise than the chief; empty if there is none.
std::string differing_value(OwnValues const& own, StoredTensors const& run);

/// True if so many processes have saved the run, as far as its values say it.
bool was_saved_by(std::size_t processes, StoredTensors const& run);

/// Gives each process the values of callbacks that it had in a run which as many processes have saved. Otherwise, all
/// have the chief's. `own` is the chief's; all have `run`. \return the name of a value that differed then, or nothing.
/// Collective.
template <class Group>
std::string scatter_own_values(Group const& group, OwnValues own, StoredTensors& run) {
  if (!was_saved_by(group.size(), run)) {
    std::string name = differing_value(own, run);
    group.broadcast(name);
    return name;
  }
  if constexpr (Group::distributed) {
    own.erase(0), own.erase(own.lower_bound(group.size()), own.end());  // trireme writes none of these
    std::vector<std::size_t> sizes(2 * group.size());
    std::vector<PackedTensors> packed;
    for (auto const& [rank, tensors] : own) {
      packed.emplace_back(tensors);
      sizes[2 * rank] = packed.back().contents.size();
      sizes[2 * rank + 1] = packed.back().values.size();
    }
    group.broadcast(sizes);
    auto next = packed.begin();
    for (auto const& [rank, tensors] : own) {
      group.send(next->contents, rank);
      group.send(next++->values, rank);
    }
    std::size_t const size = sizes[2 * group.rank()];
    if (size == 0) return {};
    PackedTensors mine({}, {});
    mine.contents.resize(size);
    mine.values.resize(sizes[2 * group.rank() + 1]);
    group.receive(mine.contents, 0);
    group.receive(mine.values, 0);
    set_values_of_callbacks(run, mine.tensors());
  }
  return {};
}

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/own_values.ipp"
#endif
