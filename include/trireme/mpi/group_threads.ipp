/// Definitions of trireme/mpi/group_threads.hpp.
#pragma once

#include "trireme/mpi/group_threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "trireme/backend/threads/signal.hpp"
#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/mpi/thread_group.hpp"

namespace trireme {

namespace detail {

/// Threads spin before they sleep where each has a processor of its own.
TRIREME_INLINE std::chrono::nanoseconds patience_for(std::size_t threads) {
  constexpr std::chrono::microseconds on_own_cores{50};
  return std::thread::hardware_concurrency() >= threads ? on_own_cores : std::chrono::nanoseconds(0);
}

}  // namespace detail

TRIREME_INLINE GroupThreads::GroupThreads(std::size_t threads)
    : barrier_(std::make_shared<detail::GroupBarrier>(threads, detail::patience_for(threads))), errors_(threads) {
  for (std::size_t rank = 0; rank < threads; ++rank)
    groups_.push_back(std::make_shared<ThreadGroup const>(rank, barrier_));
  for (std::size_t rank = 1; rank < threads; ++rank) workers_.emplace_back([this, rank] { work(rank); });
}

TRIREME_INLINE GroupThreads::~GroupThreads() {
  ended_.store(true, std::memory_order_relaxed);
  announce();
  for (std::thread& worker : workers_)
    if (detail::is_forked_child())
      worker.detach();
    else
      worker.join();
}

TRIREME_INLINE void GroupThreads::run(Job job) {
  job_ = job;
  left_.reset(static_cast<std::uint32_t>(workers_.size()));
  announce();
  attempt(0);
  for (std::uint32_t left = left_.load(); left != 0; left = left_.load()) left_.wait_while(left, barrier_->patience());
  if (std::ranges::all_of(errors_, [](auto const& error) { return error == nullptr; })) return;
  barrier_->restart();
  std::exception_ptr first;
  for (std::exception_ptr& error : errors_)
    if (auto const found = std::exchange(error, nullptr); found && !first) first = found;
  std::rethrow_exception(first);
}

TRIREME_INLINE void GroupThreads::announce() { round_.raise(); }

TRIREME_INLINE void GroupThreads::attempt(std::size_t rank) {
  try {
    job_.run(job_.f, rank);
  } catch (detail::BarrierEnded const&) {  // another thread's error is the cause
  } catch (...) {
    errors_[rank] = std::current_exception();
    barrier_->end();
  }
}

TRIREME_INLINE void GroupThreads::work(std::size_t rank) {
  for (std::uint32_t seen = 0;;) {
    round_.wait_while(seen, barrier_->patience());
    if (ended_.load(std::memory_order_relaxed)) return;
    ++seen;
    attempt(rank);
    left_.count_down();
  }
}

}  // namespace trireme
