/// The library's own threads for the work of a host space: any free thread runs a task.
///
/// The threads of OpenMP all have to arrive before a parallel region ends: beside another busy process, a task that any
/// thread could have done waits until the scheduler runs an idle thread. Here the caller waits only for tasks that have
/// begun, and runs all others itself; and where threads lose their core within tasks they take fewer (SharingPolicy).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
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

#include "trireme/backend/threads/duty_cycle.hpp"
#include "trireme/backend/threads/one_blas_thread.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/backend/threads/sharing_policy.hpp"
#include "trireme/backend/threads/signal.hpp"
#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/backend/threads/thread_place.hpp"

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

  /// Tasks that threads share at most, or as many as there are threads: of more the caller runs all.
  static constexpr std::size_t most_tasks = 1024;

  /// \param threads  including the caller's own
  /// \param places   the processors that each thread may use; empty: those of the thread that calls this
  explicit ThreadPool(std::size_t threads, std::vector<Cpus> places = {});
  ThreadPool(ThreadPool const&) = delete;
  ThreadPool& operator=(ThreadPool const&) = delete;
  ~ThreadPool();

  /// The pool of a host space: as many threads as it has, on the same processors. It lives until Kokkos ends.
  template <class Space>
  static ThreadPool& of(Space const& space);

  /// Number of threads, the caller's among them.
  std::size_t threads() const { return workers_.size() + 1; }
  /// The time that its threads spin before they sleep.
  std::chrono::nanoseconds patience() const { return patience_; }

  /// f(task) for each task below `tasks`, the first by the caller; returns when all are done. While another thread uses
  /// the pool the caller runs all of them. Where calls throw, the error of the lowest such task is thrown again here,
  /// once none is running.
  /// \param kind  the same for calls of the same work, by which the pool compares ways of sharing; null: by F
  template <class F>
  void run(std::size_t tasks, F const& f, void (*kind)() = nullptr) {
    if (tasks == 0) return;
    if (tasks == 1) return f(std::size_t{0});
    Job const job = Job::of(f);
    run(tasks, job, kind ? kind : reinterpret_cast<void (*)()>(job.run));
  }

  /// The same for tasks that wait for each other at `barrier`, as many as it has threads. Waits for the pool. A call
  /// that throws ends the barrier, so that no other waits for it.
  /// \throws Error if the pool has fewer threads, or if this process is a child of fork, which has none of them
  template <class F>
  void run_at_once(ThreadBarrier& barrier, F const& f) {
    if (barrier.threads() == 1) return f(std::size_t{0});
    auto const task = [&](std::size_t index) {
      try {
        f(index);
      } catch (...) {
        barrier.end();
        throw;
      }
    };
    run_at_once(barrier.threads(), Job::of(task));
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// Longer than the time between the steps of a training loop, and short beside a time slice of the scheduler.
  static constexpr std::chrono::nanoseconds patience_on_own_cores{50'000};

  /// A function of tasks; f outlives it.
  struct Job {
    void (*run)(void const* f, std::size_t task);
    void const* f;

    template <class F>
    static Job of(F const& f) {
      return {[](void const* function, std::size_t task) { (*static_cast<F const*>(function))(task); }, &f};
    }
    void operator()(std::size_t task) const { run(f, task); }
  };
  /// State of a task: 2 * round if it is open, the next number once a thread has taken it.
  struct alignas(64) Claim {
    std::atomic<std::uint64_t> state{0};
  };
  /// A thread other than the callers'.
  struct alignas(64) Worker {
    std::atomic<bool> limited{false};   ///< it takes tasks as `cycle` lets it
    std::atomic<std::int64_t> lost{0};  ///< nanoseconds in which its tasks had no core, since measuring began
    detail::DutyCycle cycle{};
    detail::ThreadPlace place{};  ///< which callers change
    std::thread thread{};

    bool may_work(Clock::time_point now) const { return !limited.load(std::memory_order_relaxed) || cycle.works(now); }
  };

  template <class Space>
  static std::vector<Cpus> places_of(Space const& space);
  /// Time without a core that counts: a lost core takes milliseconds, the clocks that are compared less than this.
  static std::chrono::nanoseconds counted(std::chrono::nanoseconds lost) {
    return lost < std::chrono::microseconds(100) ? std::chrono::nanoseconds(0) : lost;
  }

  void run(std::size_t tasks, Job job, void (*kind)());
  void run_at_once(std::size_t tasks, Job job);
  /// Runs a task, and keeps its error for the caller.
  void attempt(Job const& job, std::size_t task);
  void keep(std::exception_ptr error, std::size_t task);
  void run_by_policy(std::size_t tasks, Job job, void (*kind)());
  /// Opens all tasks but the first to the other threads, and runs that and those that none of them takes.
  void share(std::size_t tasks, Job job);
  void await_others();
  /// Lets workers whose tasks have lost their core, or all if none has, work in turns; or no longer.
  void set_limited(bool limited);
  void set_measured(bool measured);
  /// Keeps the workers off a processor; -1: off none.
  void keep_off(int cpu);
  /// Leaves the pool to other callers. \throws what a task has thrown
  void release();
  void announce(std::uint64_t round);
  /// Runs open tasks of the round, a thread's own one first: its rows are in its core's cache.
  /// \param worker  nullptr: the caller, which leaves none
  void take(std::uint64_t round, std::size_t own, Worker* worker);
  void run_measured(Worker& worker, std::size_t task);
  void work(std::size_t thread);

  std::size_t usable_processors() const;
  /// False in a child of fork, which has none of its parent's threads.
  bool has_workers() const;

#ifdef __linux__
  pid_t process_ = getpid();
#endif
  std::vector<Cpus> places_;
  std::chrono::nanoseconds patience_{};
  detail::SharingPolicy policy_;  ///< of the thread that has set busy_, as are these:
  bool limited_ = false;
  int avoided_cpu_ = -1;  ///< of the workers
  std::vector<Claim> claims_;
  Job job_{};
  std::atomic<std::size_t> tasks_{0};
  alignas(64) std::atomic<std::uint64_t> round_{0};
  detail::Signal signal_;  ///< the round's last bits, which threads wait for
  std::atomic<bool> ended_{false};
  std::atomic<bool> measured_{false};
  alignas(64) detail::Signal left_;
  std::atomic<std::int64_t> lost_{0};  ///< nanoseconds of the round in which workers' tasks had no core, if measured
  alignas(64) std::atomic<bool> busy_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;  ///< of the round's tasks that threw, that of the lowest
  std::size_t failed_task_ = 0;
  std::vector<Worker> workers_;
};

template <class Space>
ThreadPool& ThreadPool::of(Space const& space) {
  // Not destroyed by exit, which a thread may call while another one takes a step.
  static ThreadPool* pool = [&] {
    Kokkos::push_finalize_hook([] { delete std::exchange(pool, nullptr); });
    return std::make_unique<ThreadPool>(static_cast<std::size_t>(space.concurrency()), places_of(space)).release();
  }();
  return *pool;
}

template <class Space>
std::vector<ThreadPool::Cpus> ThreadPool::places_of(Space const& space) {
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

#ifdef TRIREME_COMPILED
extern template ThreadPool& ThreadPool::of(Kokkos::DefaultHostExecutionSpace const&);
#endif

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/backend/threads/thread_pool.ipp"
#endif
