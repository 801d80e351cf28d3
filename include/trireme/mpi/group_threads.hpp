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

#include "trireme/backend/threads/signal.hpp"
#include "trireme/mpi/thread_group.hpp"

namespace trireme {

/// Threads that sleep between the calls of `run`; the caller's own is that of rank 0. A call takes no lock, so one
/// thread at a time uses it.
class GroupThreads {
 public:
  /// Group of so many threads, all of them but the caller's started here.
  explicit GroupThreads(std::size_t threads);
  GroupThreads(GroupThreads const&) = delete;
  GroupThreads& operator=(GroupThreads const&) = delete;
  ~GroupThreads();

  /// Number of threads, the caller's among them.
  std::size_t size() const { return groups_.size(); }
  /// The group's member for the thread `rank`.
  std::shared_ptr<ThreadGroup const> const& group(std::size_t rank) const { return groups_[rank]; }

  /// Calls f(rank) on the thread of each rank, and returns when all are done. Where a call throws, the group ends, so
  /// that no other waits for it, and the error of the lowest rank is thrown again here; the threads can run again.
  template <class F>
  void run(F const& f) {
    if (size() == 1) return f(std::size_t{0});
    run({[](void const* function, std::size_t rank) { (*static_cast<F const*>(function))(rank); }, &f});
  }

 private:
  struct Job {
    void (*run)(void const* f, std::size_t rank);
    void const* f;
  };

  void run(Job job);

  void announce();
  void attempt(std::size_t rank);
  void work(std::size_t rank);

  std::shared_ptr<detail::GroupBarrier> barrier_;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::shared_ptr<ThreadGroup const>> groups_;
  Job job_{};
  std::atomic<bool> ended_{false};
  alignas(64) detail::Signal round_;
  alignas(64) detail::Signal left_;
  std::vector<std::thread> workers_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/mpi/group_threads.ipp"
#endif
