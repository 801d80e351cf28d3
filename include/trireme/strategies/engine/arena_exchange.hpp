/// Transfers of an arena's values between the chief and the processes that hold its parts (ArenaMap).
///
/// All are collective, and go through the host in pieces: no process needs memory for values that it does not hold,
/// except the chief if it receives all of them. `held`: the values that this process holds, in memory of the Space.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "trireme/backend/execution/views.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/engine/arena_map.hpp"

namespace trireme {

namespace detail {
/// Elements of a message.
inline constexpr std::size_t arena_piece = std::size_t{1} << 18;
}  // namespace detail

/// Fills `all` on the chief: the arena's first `elements` values.
template <class Space, class T>
void collect_arena(Communicator const& group, ArenaMap const& map, std::size_t elements, T* held, std::vector<T>& all) {
  if (group.is_chief()) all.assign(elements, T{0});
  std::vector<T> sent;
  map.for_each_source(0, elements, detail::arena_piece,
                      [&](std::size_t rank, std::size_t first, std::size_t local, std::size_t count) {
                        if (rank == group.rank()) {
                          if (!group.is_chief()) sent.resize(count);
                          std::span<T> const to(group.is_chief() ? all.data() + first : sent.data(), count);
                          copy_view(host_view(to), space_view<Space>(held + local, count));
                          if (!group.is_chief()) group.send(to, 0);
                        } else if (group.is_chief()) {
                          group.receive(std::span<T>(all.data() + first, count), rank);
                        }
                      });
}

/// Overwrites the arena from element `offset` on with the chief's values; those of other processes are ignored.
template <class Space, class T>
void spread_arena(Communicator const& group, ArenaMap const& map, std::size_t offset, std::span<T const> values,
                  T* held) {
  std::size_t const total = group.broadcast(values.size()).value();
  std::vector<T> some(std::min(detail::arena_piece, total));
  for (std::size_t begin = 0; begin < total; begin += detail::arena_piece) {
    std::span<T> const now(some.data(), std::min(detail::arena_piece, total - begin));
    if (group.is_chief()) std::copy_n(values.data() + begin, now.size(), now.data());
    group.broadcast(now);
    std::size_t const from = offset + begin;
    map.for_each_held(group.rank(), from, from + now.size(),
                      [&](std::size_t first, std::size_t local, std::size_t count) {
                        copy_view(space_view<Space>(held + local, count), host_view(now.subspan(first - from, count)));
                      });
  }
}

/// Elements [offset, offset + count) of the arena, on every process.
template <class Space, class T>
std::vector<T> share_arena(Communicator const& group, ArenaMap const& map, std::size_t offset, std::size_t count,
                           T* held) {
  std::vector<T> values(count);
  map.for_each_source(offset, offset + count, count,
                      [&](std::size_t rank, std::size_t first, std::size_t local, std::size_t n) {
                        std::span<T> const part(values.data() + (first - offset), n);
                        if (rank == group.rank()) copy_view(host_view(part), space_view<Space>(held + local, n));
                        group.broadcast(part, rank);
                      });
  return values;
}

}  // namespace trireme
