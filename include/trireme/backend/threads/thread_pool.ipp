/// Definitions of trireme/backend/threads/thread_pool.hpp.
#pragma once

#include "trireme/backend/threads/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
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
#include "trireme/backend/threads/sharing_policy.hpp"
#include "trireme/backend/threads/signal.hpp"
#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/backend/threads/thread_place.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

TRIREME_INLINE ThreadPool::ThreadPool(std::size_t threads, std::vector<Cpus> places)
    : places_(std::move(places)), policy_(threads), claims_(std::max(most_tasks, threads)), workers_(threads - 1) {
  patience_ = usable_processors() >= threads ? patience_on_own_cores : std::chrono::nanoseconds(0);
  for (std::size_t thread = 1; thread < threads; ++thread)
    workers_[thread - 1].thread = std::thread([this, thread] { work(thread); });
}

TRIREME_INLINE ThreadPool::~ThreadPool() {
  if (!has_workers()) {
    for (Worker& worker : workers_) worker.thread.detach();
    return;
  }
  ended_.store(true, std::memory_order_relaxed);
  announce(round_.load(std::memory_order_relaxed) + 1);
  for (Worker& worker : workers_) worker.thread.join();
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

TRIREME_INLINE bool ThreadPool::has_workers() const {
#ifdef __linux__
  return process_ == getpid();
#else
  return true;
#endif
}

TRIREME_INLINE void ThreadPool::run(std::size_t tasks, Job job, void (*kind)()) {
  detail::OneBlasThread const one;  // a BLAS that starts threads: this is one of many, or does the work of many
  if (workers_.empty() || tasks > claims_.size() || busy_.exchange(true, std::memory_order_acquire)) {
    for (std::size_t task = 0; task < tasks; ++task) job(task);
  } else {
    run_by_policy(tasks, job, kind);
    release();
  }
}

TRIREME_INLINE void ThreadPool::run_at_once(std::size_t tasks, Job job) {
  if (std::size_t const present = has_workers() ? threads() : 1; tasks > present)
    throw Error(formatted(
        "{} tasks that wait for each other need a thread each, but this process has {}; a child of fork has none of "
        "its parent's threads",
        tasks, present));
  detail::OneBlasThread const one;
  while (busy_.exchange(true, std::memory_order_acquire)) busy_.wait(true, std::memory_order_relaxed);
  set_limited(false);
  set_measured(false);
  keep_off(-1);
  share(tasks, job);
  await_others();
  release();
}

TRIREME_INLINE void ThreadPool::run_by_policy(std::size_t tasks, Job job, void (*kind)()) {
  using detail::Sharing;
  Sharing const sharing = policy_.sharing();
  bool const limited = sharing == Sharing::limited, measured = policy_.measures_losses();
  set_limited(limited);
  set_measured(measured);
  keep_off(limited ? detail::current_cpu() : -1);

  detail::Round round{.begin = Clock::now(), .kind = kind};
  auto const processor = measured ? detail::thread_time() : std::chrono::nanoseconds(0);
  if (sharing == Sharing::alone ||
      (limited && std::ranges::none_of(workers_, [&](Worker const& worker) { return worker.may_work(round.begin); }))) {
    for (std::size_t task = 0; task < tasks; ++task) attempt(job, task);
  } else {
    share(tasks, job);
  }
  if (!policy_.follows() && left_.load() == 0) return;
  auto const used = measured ? detail::thread_time() - processor : std::chrono::nanoseconds(0);
  round.own_end = round.end = Clock::now();
  if (left_.load() != 0) {
    await_others();
    round.end = Clock::now();
  }
  if (measured) round.lost = counted(round.own_end - round.begin - used) + std::chrono::nanoseconds(lost_.exchange(0));
  policy_.add(round);
}

TRIREME_INLINE void ThreadPool::share(std::size_t tasks, Job job) {
  job_ = job;
  tasks_.store(tasks, std::memory_order_relaxed);
  left_.reset(static_cast<std::uint32_t>(tasks - 1));
  std::uint64_t const round = round_.load(std::memory_order_relaxed) + 1;
  for (std::size_t task = 1; task < tasks; ++task) claims_[task].state.store(2 * round, std::memory_order_release);
  announce(round);
  attempt(job, 0);
  take(round, 1, nullptr);
}

TRIREME_INLINE void ThreadPool::await_others() {
  for (std::uint32_t left = left_.load(); left != 0; left = left_.load()) left_.wait_while(left, patience_);
}

TRIREME_INLINE void ThreadPool::set_limited(bool limited) {
  if (limited == limited_) return;
  limited_ = limited;
  auto const loses = [](Worker const& worker) {
    return std::chrono::nanoseconds(worker.lost.load(std::memory_order_relaxed)) >= std::chrono::milliseconds(1);
  };
  bool const all = std::ranges::none_of(workers_, loses);
  for (Worker& worker : workers_) worker.limited.store(limited && (all || loses(worker)), std::memory_order_relaxed);
}

TRIREME_INLINE void ThreadPool::set_measured(bool measured) {
  if (measured == measured_.load(std::memory_order_relaxed)) return;
  measured_.store(measured, std::memory_order_relaxed);
  if (!measured) return;
  lost_.store(0, std::memory_order_relaxed);
  for (Worker& worker : workers_) worker.lost.store(0, std::memory_order_relaxed);
}

TRIREME_INLINE void ThreadPool::keep_off(int cpu) {
  if (cpu == avoided_cpu_) return;
  if (!has_workers()) return;
  avoided_cpu_ = cpu;
  for (Worker& worker : workers_) worker.place.avoid(cpu);
}

TRIREME_INLINE void ThreadPool::release() {
  std::exception_ptr const error = std::exchange(error_, nullptr);
  busy_.store(false);
  busy_.notify_one();
  if (error) std::rethrow_exception(error);
}

TRIREME_INLINE void ThreadPool::attempt(Job const& job, std::size_t task) {
  try {
    job(task);
  } catch (detail::BarrierEnded const&) {  // another task's error is the cause
  } catch (...) {
    keep(std::current_exception(), task);
  }
}

TRIREME_INLINE void ThreadPool::keep(std::exception_ptr error, std::size_t task) {
  std::lock_guard const lock(error_mutex_);
  if (error_ && failed_task_ < task) return;
  error_ = std::move(error);
  failed_task_ = task;
}

TRIREME_INLINE void ThreadPool::announce(std::uint64_t round) {
  round_.store(round, std::memory_order_release);
  signal_.set(static_cast<std::uint32_t>(round));
}

TRIREME_INLINE void ThreadPool::take(std::uint64_t round, std::size_t own, Worker* worker) {
  std::size_t const tasks = tasks_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i + 1 < tasks; ++i) {
    std::size_t const task = 1 + (own - 1 + i) % (tasks - 1);
    if (worker && worker->limited.load(std::memory_order_relaxed) &&
        !worker->cycle.continues(Clock::now(), detail::thread_time))
      return;
    std::uint64_t open = 2 * round;
    // A finished round has no open task, so job_ is this round's.
    if (claims_[task].state.load(std::memory_order_relaxed) != open ||
        !claims_[task].state.compare_exchange_strong(open, open + 1, std::memory_order_acq_rel))
      continue;
    if (worker && measured_.load(std::memory_order_relaxed))
      run_measured(*worker, task);
    else
      attempt(job_, task);
    left_.count_down();
  }
}

TRIREME_INLINE void ThreadPool::run_measured(Worker& worker, std::size_t task) {
  auto const begin = Clock::now();
  auto const processor = detail::thread_time();
  attempt(job_, task);
  auto const used = detail::thread_time() - processor;
  auto const lost = counted(Clock::now() - begin - used).count();
  lost_.fetch_add(lost, std::memory_order_relaxed);
  worker.lost.fetch_add(lost, std::memory_order_relaxed);
}

TRIREME_INLINE void ThreadPool::work(std::size_t thread) {
  Worker& worker = workers_[thread - 1];
#ifdef __linux__
  if (places_.empty())
    worker.place.take();
  else
    worker.place.take(places_[thread % places_.size()].set);
#endif
#ifdef _OPENMP
  omp_set_num_threads(1);  // for a BLAS that starts threads
#endif
  for (std::uint64_t seen = 0;;) {
    auto const patience = worker.may_work(Clock::now()) ? patience_ : std::chrono::nanoseconds(0);
    signal_.wait_while(static_cast<std::uint32_t>(seen), patience);
    seen = round_.load(std::memory_order_acquire);
    // After the round's number, since the last one may be announced between the two.
    if (ended_.load(std::memory_order_relaxed)) return;
    take(seen, thread, &worker);
  }
}

#ifdef TRIREME_COMPILED
template ThreadPool& ThreadPool::of(Kokkos::DefaultHostExecutionSpace const&);
#endif

}  // namespace trireme
