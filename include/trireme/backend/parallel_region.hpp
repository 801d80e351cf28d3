/// One parallel region of a host space: every thread runs the same function once.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/profiling.hpp"

namespace trireme {

namespace detail {

template <class Team, class F>
struct RegionBody {
  F const* f;
  void operator()(Team const& team) const {
    Barrier const barrier{&team};
    (*f)(static_cast<std::size_t>(team.team_rank()), barrier);
  }
  struct Barrier {
    Team const* team;
    void operator()() const { team->team_barrier(); }
  };
};

}  // namespace detail

/// Calls f(thread, barrier) on `threads` threads; `barrier()` waits for all of them. f must not throw.
template <class Space, class F>
void parallel_region(Space const& space, std::size_t threads, F const& f) {
  if (threads == 1) {
    f(std::size_t{0}, [] {});
    return;
  }
  using Policy = Kokkos::TeamPolicy<Space>;
  using Body = detail::RegionBody<typename Policy::member_type, F>;
  Kokkos::parallel_for(tool_label("trireme::parallel_region"), Policy(space, 1, static_cast<int>(threads)), Body{&f});
}

}  // namespace trireme
