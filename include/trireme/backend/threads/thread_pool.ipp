/// Definitions of trireme/backend/threads/thread_pool.hpp.
#pragma once

#include "trireme/backend/threads/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
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
#include "trireme/backend/threads/waiting_thread.hpp"
#include "trireme/core/linkage.hpp"

namespace trireme {

TRIREME_INLINE ThreadPool::ThreadPool(std::size_t threads, std::vector<Cpus> places) : places_(std::move(places)) {
  patience_ = usable_processors() >= threads ? patience_on_own_cores : std::chrono::nanoseconds(0);
  for (std::size_t thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

TRIREME_INLINE ThreadPool::~ThreadPool() {
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

TRIREME_INLINE std::size_t ThreadPool::usable_processors() const {
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

TRIREME_INLINE void ThreadPool::run(std::size_t tasks, Job job) {
  detail::OneBlasThread const one;  // a BLAS that starts threads: this is one of many, or does the work of many
  auto const begin = Clock::now();
  if (workers_.empty() || tasks > most_tasks || busy_.exchange(true, std::memory_order_acquire)) {
    for (std::size_t task = 0; task < tasks; ++task) job(task);
  } else if (stalls_.avoids_threads(begin)) {
    for (std::size_t task = 0; task < tasks; ++task) job(task);
    release();
  } else {
    share(tasks, job, begin);
  }
}

TRIREME_INLINE void ThreadPool::run_at_once(std::size_t tasks, Job job) {
  detail::OneBlasThread const one;
  while (busy_.exchange(true, std::memory_order_acquire)) busy_.wait(true, std::memory_order_relaxed);
  share(tasks, job, Clock::now());
}

TRIREME_INLINE void ThreadPool::share(std::size_t tasks, Job job, Clock::time_point begin) {
  job_ = job;
  tasks_.store(tasks, std::memory_order_relaxed);
  left_.store(static_cast<std::uint32_t>(tasks - 1), std::memory_order_relaxed);
  std::uint64_t const round = round_.load(std::memory_order_relaxed) + 1;
  for (std::size_t task = 1; task < tasks; ++task) claims_[task].state.store(2 * round, std::memory_order_release);
  announce(round);
  job(0);
  take(round, 1);
  if (std::uint32_t left = left_.load(std::memory_order_acquire); left != 0) {
    auto const own_end = Clock::now();
    for (; left != 0; left = left_.load(std::memory_order_acquire)) detail::wait_while_equal(left_, left, patience_);
    stalls_.add(begin, own_end, Clock::now());
  }
  release();
}

TRIREME_INLINE void ThreadPool::release() {
  busy_.store(false);
  busy_.notify_one();
}

TRIREME_INLINE void ThreadPool::announce(std::uint64_t round) {
  round_.store(round, std::memory_order_release);
  signal_.store(static_cast<std::uint32_t>(round));  // before notify_all checks for sleeping threads
  signal_.notify_all();
}

TRIREME_INLINE void ThreadPool::take(std::uint64_t round, std::size_t own) {
  std::size_t const tasks = tasks_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i + 1 < tasks; ++i) {
    std::size_t const task = 1 + (own - 1 + i) % (tasks - 1);
    std::uint64_t open = 2 * round;
    // A finished round has no open task, so job_ is this round's.
    if (claims_[task].state.load(std::memory_order_relaxed) != open ||
        !claims_[task].state.compare_exchange_strong(open, open + 1, std::memory_order_acq_rel))
      continue;
    job_(task);
    if (left_.fetch_sub(1) == 1) left_.notify_one();
  }
}

TRIREME_INLINE void ThreadPool::work(std::size_t thread) {
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

#ifdef TRIREME_COMPILED
template ThreadPool& ThreadPool::of(Kokkos::DefaultHostExecutionSpace const&);
#endif

}  // namespace trireme
