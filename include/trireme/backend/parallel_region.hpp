/// One parallel region of a host space: every thread runs the same function once.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include <Kokkos_Core.hpp>

#include "trireme/backend/profiling.hpp"

namespace trireme {

/// Waits for all threads of the region, which meet often: a team's own barrier gives its core away as soon as it has to
/// wait.
class RegionBarrier {
 public:
  explicit RegionBarrier(std::size_t threads) : threads_(threads) {}

  void operator()() {
    if (threads_ == 1) return;
    std::size_t const round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    constexpr std::size_t patience = 20'000;  // some ten microseconds; then another thread may need this core
    for (std::size_t turns = 0; round_.load(std::memory_order_acquire) == round; ++turns)
      if (turns >= patience) std::this_thread::yield();
  }

 private:
  alignas(64) std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<std::size_t> round_{0};
  std::size_t threads_;
};

namespace detail {

/// A function of any type: Kokkos' loop over teams is compiled once for all of them.
struct RegionFunction {
  void (*run)(void const* f, std::size_t thread, RegionBarrier& barrier);
  void const* f;
  RegionBarrier* barrier;
};

template <class Team>
struct RegionBody {
  RegionFunction function;
  void operator()(Team const& team) const {
    function.run(function.f, static_cast<std::size_t>(team.team_rank()), *function.barrier);
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
  RegionBarrier barrier(threads);
  if (threads == 1) {
    f(std::size_t{0}, barrier);
    return;
  }
  auto const run = [](void const* function, std::size_t thread, RegionBarrier& all) {
    (*static_cast<F const*>(function))(thread, all);
  };
  detail::parallel_region(space, threads, detail::RegionFunction{run, &f, &barrier});
}

}  // namespace trireme
