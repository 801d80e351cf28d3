/// GroupThreads: the threads of a ThreadGroup, which run one function at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "trireme/backend/threads/waiting_thread.hpp"
#include "trireme/mpi/thread_group.hpp"

namespace trireme {

/// Threads that sleep between the calls of `run`; the caller's own is that of rank 0. A call takes no lock, so one
/// thread at a time uses it.
class GroupThreads {
 public:
  /// Group of so many threads, all of them but the caller's started here.
  explicit GroupThreads(std::size_t threads)
      : barrier_(std::make_shared<detail::GroupBarrier>(threads, patience_for(threads))), errors_(threads) {
    for (std::size_t rank = 0; rank < threads; ++rank)
      groups_.push_back(std::make_shared<ThreadGroup const>(rank, barrier_));
    for (std::size_t rank = 1; rank < threads; ++rank) workers_.emplace_back([this, rank] { work(rank); });
  }
  GroupThreads(GroupThreads const&) = delete;
  GroupThreads& operator=(GroupThreads const&) = delete;
  ~GroupThreads() {
    ended_.store(true, std::memory_order_relaxed);
    announce();
    for (std::thread& worker : workers_) worker.join();
  }

  /// Number of threads, the caller's among them.
  std::size_t size() const { return groups_.size(); }
  /// The group's member for the thread `rank`.
  std::shared_ptr<ThreadGroup const> const& group(std::size_t rank) const { return groups_[rank]; }

  /// Calls f(rank) on the thread of each rank, and returns when all are done. Where a call throws, the group ends, so
  /// that no other waits for it, and the error of the lowest rank is thrown again here; the threads can run again.
  template <class F>
  void run(F const& f) {
    if (size() == 1) return f(std::size_t{0});
    job_ = {[](void const* function, std::size_t rank) { (*static_cast<F const*>(function))(rank); }, &f};
    left_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
    announce();
    attempt(0);
    for (std::uint32_t left = left_.load(std::memory_order_acquire); left != 0;
         left = left_.load(std::memory_order_acquire))
      detail::wait_while_equal(left_, left, barrier_->patience());
    if (std::ranges::all_of(errors_, [](auto const& error) { return error == nullptr; })) return;
    barrier_->restart();
    std::exception_ptr first;
    for (std::exception_ptr& error : errors_)
      if (auto const found = std::exchange(error, nullptr); found && !first) first = found;
    std::rethrow_exception(first);
  }

 private:
  struct Job {
    void (*run)(void const* f, std::size_t rank);
    void const* f;
  };

  /// Threads spin before they sleep where each has a processor of its own.
  static std::chrono::nanoseconds patience_for(std::size_t threads) {
    constexpr std::chrono::microseconds on_own_cores{50};
    return std::thread::hardware_concurrency() >= threads ? on_own_cores : std::chrono::nanoseconds(0);
  }

  void announce() {
    round_.fetch_add(1);
    round_.notify_all();
  }

  void attempt(std::size_t rank) {
    try {
      job_.run(job_.f, rank);
    } catch (detail::GroupEnded const&) {  // another thread's error is the cause
    } catch (...) {
      errors_[rank] = std::current_exception();
      barrier_->end();
    }
  }

  void work(std::size_t rank) {
    for (std::uint32_t seen = 0;;) {
      detail::wait_while_equal(round_, seen, barrier_->patience());
      if (ended_.load(std::memory_order_relaxed)) return;
      ++seen;
      attempt(rank);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    }
  }

  std::shared_ptr<detail::GroupBarrier> barrier_;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::shared_ptr<ThreadGroup const>> groups_;
  Job job_{};
  std::atomic<bool> ended_{false};
  alignas(64) std::atomic<std::uint32_t> round_{0};
  alignas(64) std::atomic<std::uint32_t> left_{0};
  std::vector<std::thread> workers_;
};

}  // namespace trireme
