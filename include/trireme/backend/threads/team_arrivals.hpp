/// The last teams of a kernel to arrive, which add up what others have stored.
#pragma once

#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

namespace trireme::detail {

/// Counts the teams of a kernel that have stored their share, so that the last to arrive adds all of them up: sums over
/// many teams need no second launch. Threads that store a share fence their memory behind it (`Kokkos::memory_fence`).
/// `arrivals` is 0 when the kernel starts, and so it is when it ends.
struct TeamArrivals {
  unsigned* arrivals;  ///< in the device's memory
  unsigned teams;

  /// True on all threads of the team that comes last, which may then read what the threads of all teams have stored.
  /// \param flag  in scratch memory
  template <class Team>
  KOKKOS_FUNCTION bool is_last(Team const& team, unsigned* flag) const {
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, std::size_t{1}), [&](std::size_t) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, std::size_t{1}), [&](std::size_t) {
        bool const last = Kokkos::atomic_fetch_add(arrivals, 1u) + 1 == teams;
        if (last) *arrivals = 0;
        *flag = last ? 1 : 0;
      });
    });
    team.team_barrier();
    if (*flag == 0) return false;
    Kokkos::memory_fence();
    return true;
  }
};

/// Sums of the teams of a kernel, in a fixed order, without another kernel: of each bunch of teams the last to arrive
/// adds their sums up, of each bunch of these teams the last, and so on. Sums have places in memory: those of the
/// teams, of their bunches, and of bunches of these.
struct TeamTree {
  static constexpr std::uint32_t bunch = 16;

  std::uint32_t teams;

  /// Number of places, none where there is one team.
  KOKKOS_FUNCTION constexpr std::uint32_t places() const {
    std::uint32_t all = 0;
    for (std::uint32_t count = teams; count > 1; count = bunches_of(count)) all += count;
    return all;
  }
  /// Number of bunches, each of which counts arrivals.
  KOKKOS_FUNCTION constexpr std::uint32_t bunches() const {
    std::uint32_t all = 0;
    for (std::uint32_t count = teams; count > 1; count = bunches_of(count)) all += bunches_of(count);
    return all;
  }

  /// Called by all threads of all teams, `index` being the team's, when their sums are in places [0, teams), with
  /// Kokkos::memory_fence behind them. add(first, count, place) adds the sums in `count` places from `first` on up, and
  /// stores them at `place`, with a fence too; at places() belongs the sum of all, wherever that lies.
  /// \param arrivals  of the bunches, which are 0
  /// \param flag      in scratch memory
  template <class Team, class Add>
  KOKKOS_FUNCTION void sum(Team const& team, std::uint32_t index, unsigned* arrivals, unsigned* flag,
                           Add const& add) const {
    std::uint32_t level = 0;
    for (std::uint32_t at = index, count = teams; count > 1;) {
      std::uint32_t const own = at / bunch, first = own * bunch, size = count - first < bunch ? count - first : bunch;
      if (!TeamArrivals{arrivals + own, size}.is_last(team, flag)) return;
      add(level + first, size, level + count + own);
      level += count;
      count = bunches_of(count);
      arrivals += count;
      at = own;
    }
  }

 private:
  KOKKOS_FUNCTION static constexpr std::uint32_t bunches_of(std::uint32_t count) { return (count + bunch - 1) / bunch; }
};

}  // namespace trireme::detail
