/// The last team of a kernel to arrive, which adds up what all have stored.
#pragma once

#include <cstddef>

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

}  // namespace trireme::detail
