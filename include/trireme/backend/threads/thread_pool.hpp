/// The library's own threads for the work of a host space: any free thread runs a task.
///
/// The threads of OpenMP all have to arrive before a parallel region ends: beside another busy process, a task that any
/// thread could have done waits until the scheduler runs an idle thread. Here the caller waits only for tasks that have
/// begun, and runs all others itself; and where threads lose their core within tasks it leaves them alone for a while.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

#include <Kokkos_Core.hpp>

#include "trireme/backend/threads/one_blas_thread.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/backend/threads/stall_record.hpp"
#include "trireme/backend/threads/waiting_thread.hpp"

namespace trireme {

/// The library's own threads for the work of a host space: any free thread runs a task.
class ThreadPool {
 public:
  /// Processors that a thread may use.
  struct Cpus {  // not an alias: nvcc takes no vector of a type without a name
#ifdef __linux__
    cpu_set_t set;
#endif
  };

  /// \param threads  including the caller's own
  /// \param places   the processors that each thread may use; empty: those of the thread that calls this
  explicit ThreadPool(std::size_t threads, std::vector<Cpus> places = {}) : places_(std::move(places)) {
    patience_ = usable_processors() >= threads ? patience_on_own_cores : std::chrono::nanoseconds(0);
    for (std::size_t thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
  }
  ThreadPool(ThreadPool const&) = delete;
  ThreadPool& operator=(ThreadPool const&) = delete;
  ~ThreadPool() {
#ifdef __linux__
    if (process_ != getpid()) {  // a child has none of its parent's threads
      for (std::thread& worker : workers_) worker.detach();
      return;
    }
#endif
    ended_.store(true, std::memory_order_relaxed);
    announce(round_.load(std::memory_order_relaxed) + 1);
    for (std::thread& worker : workers_) worker.join();
  }

  /// The pool of a host space: as many threads as it has, on the same processors. It lives until Kokkos ends.
  template <class Space>
  static ThreadPool& of(Space const& space) {
    static std::unique_ptr<ThreadPool> pool = [&] {
      Kokkos::push_finalize_hook([] { pool.reset(); });
      return std::make_unique<ThreadPool>(static_cast<std::size_t>(space.concurrency()), places_of(space));
    }();
    return *pool;
  }

  /// Number of threads, the caller's among them.
  std::size_t threads() const { return workers_.size() + 1; }
  /// The time that its threads spin before they sleep.
  std::chrono::nanoseconds patience() const { return patience_; }

  /// f(task) for each task below `tasks`, the first by the caller; returns when all are done. f must not throw. While
  /// another thread uses the pool, or its threads have lost their cores lately, the caller runs all of them.
  template <class F>
  void run(std::size_t tasks, F const& f) {
    if (tasks == 0) return;
    if (tasks == 1) return f(std::size_t{0});
    detail::OneBlasThread const one;  // a BLAS that starts threads: this is one of many, or does the work of many
    auto const begin = Clock::now();
    if (workers_.empty() || tasks > most_tasks || busy_.exchange(true, std::memory_order_acquire)) {
      for (std::size_t task = 0; task < tasks; ++task) f(task);
    } else if (stalls_.avoids_threads(begin)) {
      for (std::size_t task = 0; task < tasks; ++task) f(task);
      release();
    } else {
      share(tasks, f, begin);
    }
  }

  /// The same for tasks that wait for each other: at most as many as threads. Waits for the pool.
  template <class F>
  void run_at_once(std::size_t tasks, F const& f) {
    if (tasks == 1) return f(std::size_t{0});
    detail::OneBlasThread const one;
    while (busy_.exchange(true, std::memory_order_acquire)) busy_.wait(true, std::memory_order_relaxed);
    share(tasks, f, Clock::now());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t most_tasks = 1024;
  /// Longer than the time between the steps of a training loop, and short beside a time slice of the scheduler.
  static constexpr std::chrono::nanoseconds patience_on_own_cores{50'000};

  struct Job {
    void (*run)(void const* f, std::size_t task);
    void const* f;
  };
  /// State of a task: 2 * round if it is open, the next number once a thread has taken it.
  struct alignas(64) Claim {
    std::atomic<std::uint64_t> state{0};
  };

  template <class Space>
  static std::vector<Cpus> places_of(Space const& space) {
    std::vector<Cpus> places(static_cast<std::size_t>(space.concurrency()));
    if (places.size() == 1) return {};
#ifdef __linux__
    Kokkos::parallel_for(
        tool_label("trireme::places"),
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>(space, 0, places.size(), Kokkos::ChunkSize(1)),
        [&places](std::size_t thread) { sched_getaffinity(0, sizeof(cpu_set_t), &places[thread].set); });
#endif
    return places;
  }

  std::size_t usable_processors() const {
#ifdef __linux__
    cpu_set_t all;
    CPU_ZERO(&all);
    for (Cpus const& place : places_) CPU_OR(&all, &all, &place.set);
    if (places_.empty()) sched_getaffinity(0, sizeof(all), &all);
    return static_cast<std::size_t>(CPU_COUNT(&all));
#else
    return std::thread::hardware_concurrency();
#endif
  }

  template <class F>
  void share(std::size_t tasks, F const& f, Clock::time_point begin) {
    job_ = {[](void const* function, std::size_t task) { (*static_cast<F const*>(function))(task); }, &f};
    tasks_.store(tasks, std::memory_order_relaxed);
    left_.store(static_cast<std::uint32_t>(tasks - 1), std::memory_order_relaxed);
    std::uint64_t const round = round_.load(std::memory_order_relaxed) + 1;
    for (std::size_t task = 1; task < tasks; ++task) claims_[task].state.store(2 * round, std::memory_order_release);
    announce(round);
    f(std::size_t{0});
    take(round, 1);
    if (std::uint32_t left = left_.load(std::memory_order_acquire); left != 0) {
      auto const own_end = Clock::now();
      for (; left != 0; left = left_.load(std::memory_order_acquire)) detail::wait_while_equal(left_, left, patience_);
      stalls_.add(begin, own_end, Clock::now());
    }
    release();
  }

  void release() {
    busy_.store(false);
    busy_.notify_one();
  }

  void announce(std::uint64_t round) {
    round_.store(round, std::memory_order_release);
    signal_.store(static_cast<std::uint32_t>(round));  // before notify_all checks for sleeping threads
    signal_.notify_all();
  }

  /// Runs the open tasks of the round, a thread's own one first: its rows are in its core's cache.
  void take(std::uint64_t round, std::size_t own) {
    std::size_t const tasks = tasks_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i + 1 < tasks; ++i) {
      std::size_t const task = 1 + (own - 1 + i) % (tasks - 1);
      std::uint64_t open = 2 * round;
      // A finished round has no open task, so job_ is this round's.
      if (claims_[task].state.load(std::memory_order_relaxed) != open ||
          !claims_[task].state.compare_exchange_strong(open, open + 1, std::memory_order_acq_rel))
        continue;
      job_.run(job_.f, task);
      if (left_.fetch_sub(1) == 1) left_.notify_one();
    }
  }

  void work(std::size_t thread) {
#ifdef __linux__
    if (!places_.empty()) sched_setaffinity(0, sizeof(cpu_set_t), &places_[thread % places_.size()].set);
#endif
#ifdef _OPENMP
    omp_set_num_threads(1);  // for a BLAS that starts threads
#endif
    for (std::uint64_t seen = 0;;) {
      detail::wait_while_equal(signal_, static_cast<std::uint32_t>(seen), patience_);
      if (ended_.load(std::memory_order_relaxed)) return;
      seen = round_.load(std::memory_order_acquire);
      take(seen, thread);
    }
  }

#ifdef __linux__
  pid_t process_ = getpid();
#endif
  std::vector<Cpus> places_;
  std::chrono::nanoseconds patience_{};
  detail::StallRecord stalls_;  ///< of the thread that has set busy_
  Job job_{};
  std::atomic<std::size_t> tasks_{0};
  alignas(64) std::atomic<std::uint64_t> round_{0};
  std::atomic<std::uint32_t> signal_{0};  ///< the round's last bits, which threads wait for
  std::atomic<bool> ended_{false};
  alignas(64) std::atomic<std::uint32_t> left_{0};
  alignas(64) std::atomic<bool> busy_{false};
  std::array<Claim, most_tasks> claims_{};
  std::vector<std::thread> workers_;
};

}  // namespace trireme
