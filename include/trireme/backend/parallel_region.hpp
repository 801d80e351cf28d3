/// One parallel region of a host space: every thread runs the same function once.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include <Kokkos_Core.hpp>

namespace trireme {

namespace detail {

/// A barrier for threads that meet often: a team's own gives its core away as soon as it has to wait.
class SpinBarrier {
 public:
  explicit SpinBarrier(std::size_t threads) : threads_(threads) {}

  void wait() {
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

template <class Team, class F>
struct RegionBody {
  F const* f;
  SpinBarrier* barrier;
  void operator()(Team const& team) const {
    (*f)(static_cast<std::size_t>(team.team_rank()), [this] { barrier->wait(); });
  }
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
  detail::SpinBarrier barrier(threads);
  Kokkos::parallel_for("trireme::parallel_region", Policy(space, 1, static_cast<int>(threads)), Body{&f, &barrier});
}

}  // namespace trireme
