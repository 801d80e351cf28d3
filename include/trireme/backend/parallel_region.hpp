/// One parallel region of a host space: every thread runs the same function once.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/profiling.hpp"

namespace trireme {

/// Waits for all threads of the region.
class RegionBarrier {
 public:
  RegionBarrier() = default;
  template <class Team>
  explicit RegionBarrier(Team const& team)
      : wait_([](void const* all) { static_cast<Team const*>(all)->team_barrier(); }), team_(&team) {}

  void operator()() const {
    if (wait_) wait_(team_);
  }

 private:
  void (*wait_)(void const* team) = nullptr;
  void const* team_ = nullptr;
};

namespace detail {

/// A function of any type: Kokkos' loop over teams is compiled once for all of them.
struct RegionFunction {
  void (*run)(void const* f, std::size_t thread, RegionBarrier const& barrier);
  void const* f;
};

template <class Team>
struct RegionBody {
  RegionFunction function;
  void operator()(Team const& team) const {
    function.run(function.f, static_cast<std::size_t>(team.team_rank()), RegionBarrier(team));
  }
};

template <class Space>
[[gnu::noinline]] void parallel_region(Space const& space, std::size_t threads, RegionFunction const& function) {
  using Policy = Kokkos::TeamPolicy<Space>;
  Kokkos::parallel_for(tool_label("trireme::parallel_region"), Policy(space, 1, static_cast<int>(threads)),
                       RegionBody<typename Policy::member_type>{function});
}

}  // namespace detail

/// Calls f(thread, barrier) on `threads` threads; `barrier()` waits for all of them. f must not throw.
template <class Space, class F>
void parallel_region(Space const& space, std::size_t threads, F const& f) {
  auto const run = [](void const* function, std::size_t thread, RegionBarrier const& barrier) {
    (*static_cast<F const*>(function))(thread, barrier);
  };
  if (threads == 1)
    run(&f, 0, RegionBarrier());
  else
    detail::parallel_region(space, threads, detail::RegionFunction{run, &f});
}

}  // namespace trireme
