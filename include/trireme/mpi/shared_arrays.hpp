/// SharedArrays: an array of each rank in memory that all ranks of a node share, so that exchanging it copies nothing.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#if defined(__linux__)
#include <sys/statvfs.h>
#endif

#include "trireme/backend/threads/adaptive_spin.hpp"
#include "trireme/backend/threads/adaptive_yield.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/left_windows.hpp"
#include "trireme/mpi/shared_counter.hpp"

namespace trireme {

/// Each rank writes its own array; the others may read it between two split barriers. A split barrier is two calls,
/// `arrive` and `wait`, with other work between them.
template <class T>
class SharedArrays {
  /// Number of a rank's arrivals; on a cache line of its own, before the rank's array.
  using Arrivals = detail::SharedCounter;
  static constexpr std::size_t line = 64;
  static_assert(sizeof(Arrivals) <= line);

 public:
  /// Arrays of n zeros; null where the ranks do not share memory, or the system has too little of it to share.
  /// Collective.
  static std::unique_ptr<SharedArrays> make(Communicator const& communicator, std::size_t n) {
    std::size_t const bytes = line + n * sizeof(T);
    detail::LeftWindows::own().free(communicator);
    bool const one_node = communicator.split_by_node().size() == communicator.size();
    if (!communicator.allreduce_and(one_node && is_free(bytes * communicator.size())).value()) return nullptr;
    std::unique_ptr<SharedArrays> arrays(new SharedArrays(communicator, bytes));
    return communicator.allreduce_and(arrays->is_coherent()).value() ? std::move(arrays) : nullptr;
  }
  SharedArrays(SharedArrays const&) = delete;
  SharedArrays& operator=(SharedArrays const&) = delete;
  ~SharedArrays() {
    if (detail::is_forked_child() || detail::mpi_is_finalized()) return;
    // Freeing waits for the other ranks, which may not come if an error unwinds this one's stack.
    if (std::uncaught_exceptions() != 0) {
      detail::LeftWindows::own().leave(window_, number_);
      return;
    }
    DeadlineWait waiting("MPI_Win_free");
    arrive();
    wait(waiting);
    MPI_Win_free(&window_);
  }

  /// Array of this rank.
  T* own() { return const_cast<T*>(arrays_[rank_]); }
  /// The arrays of all ranks.
  std::vector<T const*> const& all() const { return arrays_; }
  /// Rank of this process.
  std::size_t rank() const { return rank_; }

  /// Publishes what this rank has written to the ranks that wait. This rank has finished reading the others' arrays.
  void arrive() {
    ++own_arrivals_;
    arrivals_[rank_]->raise();
  }
  /// Returns when all ranks have arrived as often as this one. Spins, yields, then sleeps: a rank that waits leaves
  /// its core to the others.
  void wait() const {
    if (all_have_come()) return;
    DeadlineWait waiting("SharedArrays::wait");
    wait(waiting);
  }

 private:
  SharedArrays(Communicator const& communicator, std::size_t bytes)
      : rank_(communicator.rank()), number_(detail::LeftWindows::own().number(communicator)) {
    DeadlineWait const waiting("MPI_Win_allocate_shared");
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info), "MPI_Info_create", communicator.get());
    MPI_Info_set(info, "alloc_shared_noncontig", "true");  // each rank's memory begins a page, near that rank
    void* own = nullptr;
    int const status =
        MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, info, communicator.get(), &own, &window_);
    MPI_Info_free(&info);
    detail::check_made(status, "MPI_Win_allocate_shared", communicator.get());
    std::fill_n(static_cast<std::byte*>(own), bytes, std::byte{0});
    for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
      MPI_Aint size = 0;
      int unit = 0;
      std::byte* begin = nullptr;
      check(MPI_Win_shared_query(window_, detail::to_mpi_int(rank), &size, &unit, &begin), "MPI_Win_shared_query",
            communicator.get());
      arrivals_.push_back(rank == rank_ ? new (begin) Arrivals(0) : reinterpret_cast<Arrivals*>(begin));
      arrays_.push_back(reinterpret_cast<T const*>(begin + line));
    }
    communicator.barrier();
  }

  /// True if each process loads what the others have stored.
  bool is_coherent() const {
    int* model = nullptr;
    int known = 0;
    MPI_Win_get_attr(window_, MPI_WIN_MODEL, &model, &known);
    return known != 0 && *model == MPI_WIN_UNIFIED;
  }

  /// True if the system can share `bytes` more. Beyond its limit (64 MB in many containers) it would grant the memory
  /// and then kill the program at the first write.
  static bool is_free(std::size_t bytes) {
#if defined(__linux__)
    struct statvfs status{};
    if (statvfs("/dev/shm", &status) == 0)
      return static_cast<double>(bytes) <
             0.8 * static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
#endif
    return bytes > 0;
  }

  void wait(DeadlineWait& waiting) const {
    auto const over = [this] { return all_have_come(); };
    if (spin_(over) || yield_(over)) return;
    constexpr std::chrono::milliseconds between_looks{10};
    for (Arrivals* other : arrivals_)
      while (other->is_below(own_arrivals_)) {
        other->sleep_below(own_arrivals_, between_looks);
        waiting.look();
      }
  }

  bool all_have_come() const {
    return std::ranges::none_of(arrivals_, [this](Arrivals const* other) { return other->is_below(own_arrivals_); });
  }

  std::size_t rank_;
  std::uint64_t number_;  ///< of the window, the same on all ranks
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<Arrivals*> arrivals_;
  std::vector<T const*> arrays_;
  std::uint32_t own_arrivals_ = 0;
  mutable detail::AdaptiveSpin spin_;
  mutable detail::AdaptiveYield yield_;
};

}  // namespace trireme
