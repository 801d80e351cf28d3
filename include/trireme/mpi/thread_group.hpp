/// ThreadGroup: the host threads that drive several devices of one process, as a group of processes is for strategies.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/core/extremum.hpp"
#include "trireme/mpi/gathered.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

namespace detail {

/// Barrier of a group's threads, with a pointer of each that the others read between two barriers.
class GroupBarrier : public ThreadBarrier {
 public:
  /// \param patience  the time that a thread spins before it sleeps
  GroupBarrier(std::size_t threads, std::chrono::nanoseconds patience)
      : ThreadBarrier(threads, patience), shown_(threads) {}

  /// Pointer of thread `rank`, which the others read.
  void const*& shown(std::size_t rank) { return shown_[rank]; }

 private:
  std::vector<void const*> shown_;
};

}  // namespace detail

/// One thread's member of the group: collectives of Communicator, called by all threads in the same order, on values in
/// host memory. Sums are taken in the order of the ranks, so that their bits do not depend on which thread comes first.
///
/// If a thread fails, all others leave their collectives by an exception of the library's own.
class ThreadGroup {
 public:
  static constexpr bool distributed = true;
  /// The members, as texts call them.
  static constexpr char const* member = "device";
  static constexpr char const* members = "devices";

  ThreadGroup(std::size_t rank, std::shared_ptr<detail::GroupBarrier> barrier)
      : rank_(rank), barrier_(std::move(barrier)) {}

  /// Index of this thread in the group. Local.
  std::size_t rank() const { return rank_; }
  /// Number of threads. Local.
  std::size_t size() const { return barrier_->threads(); }
  /// True for rank 0. Local.
  bool is_chief() const { return rank_ == 0; }

  /// Waits until all threads of the group call it.
  void barrier() const {
    if (size() > 1) (*barrier_)();
  }

  /// Sum of every thread's value.
  template <class T>
    requires std::is_arithmetic_v<T>
  Uniform<T> allreduce_sum(T value) const {
    return reduced(value, sum_of<T>);
  }
  /// Adds the ranges of all threads element by element, in place.
  template <class Range>
    requires std::ranges::contiguous_range<Range>
  void allreduce_sum(Range&& values) const {
    reduce(values, sum_of<std::ranges::range_value_t<Range>>);
  }
  /// A NaN anywhere gives NaN everywhere.
  template <class T>
  Uniform<T> allreduce_max(T value) const {
    return reduced(value, detail::extremum<detail::Extremum::largest, T>);
  }
  /// Smallest of every thread's values; NaN if one is NaN.
  template <class T>
  Uniform<T> allreduce_min(T value) const {
    return reduced(value, detail::extremum<detail::Extremum::smallest, T>);
  }
  /// True if the value is true on any thread.
  Uniform<bool> allreduce_or(bool value) const;
  /// True if the value is true on every thread.
  Uniform<bool> allreduce_and(bool value) const;

  /// Copies the root's values to all threads, which may pass the same memory.
  template <class Range>
    requires std::ranges::contiguous_range<Range>
  void broadcast(Range&& values, std::size_t root = 0) const {
    auto* const own = std::ranges::data(values);
    exchange(own, [&](auto const& of) {
      if (of(root) != own) std::copy_n(of(root), std::ranges::size(values), own);
    });
  }
  /// The root's value, on every thread.
  template <class T>
    requires(!std::ranges::range<T>)
  Uniform<T> broadcast(T value, std::size_t root = 0) const {
    std::optional<T> result;
    exchange(&value, [&](auto const& of) { result = *of(root); });
    return detail::UniformAccess::make(*std::move(result));
  }

  /// Every thread's value, by rank.
  template <class T>
  std::vector<T> allgather(T const& value) const {
    std::vector<T> values;
    allgather_into(value, values);
    return values;
  }
  /// Every thread's value into `values`, by rank.
  template <class T>
  void allgather_into(T const& value, std::vector<T>& values) const {
    values.resize(size());
    exchange(&value, [&](auto const& of) {
      for (std::size_t rank = 0; rank < size(); ++rank) values[rank] = *of(rank);
    });
  }
  /// Every thread's values, by rank; the parts may differ in length, and be empty.
  template <class Range>
  Gathered<std::ranges::range_value_t<Range>> allgatherv(Range const& values) const {
    using T = std::ranges::range_value_t<Range>;
    Gathered<T> gathered(allgather(std::size_t{std::ranges::size(values)}));
    exchange(std::ranges::data(values), [&](auto const& of) {
      for (std::size_t rank = 0; rank < size(); ++rank)
        std::copy_n(of(rank), gathered.part(rank).size(), gathered.part(rank).begin());
    });
    return gathered;
  }
  /// `counts[rank]` values of each rank, into `values`, which has room for all of them.
  template <class T>
  void allgatherv_into(std::span<T const> own, std::vector<std::size_t> const& counts, std::vector<T>& values) const {
    exchange(own.data(), [&](auto const& of) {
      auto to = values.begin();
      for (std::size_t rank = 0; rank < size(); ++rank) to = std::copy_n(of(rank), counts[rank], to);
    });
  }
  /// Always true: no call has a largest count.
  static constexpr bool fits_one_call(std::size_t) { return true; }
  /// Every thread's values, by rank, on every thread.
  template <class Range>
  Gathered<std::ranges::range_value_t<Range>> gatherv(Range const& values, std::size_t = 0) const {
    return allgatherv(values);
  }

  /// Runs f on every thread and returns its result. If it throws anywhere, all throw the error of the lowest rank that
  /// failed.
  template <class F>
  std::invoke_result_t<F> together(F&& f) const {
    using Result = std::invoke_result_t<F>;
    std::exception_ptr error;
    if constexpr (std::is_void_v<Result>) {
      attempt(error, [&] { std::invoke(std::forward<F>(f)); });
      agree_no_error(error);
    } else {
      std::optional<Result> result;
      attempt(error, [&] { result.emplace(std::invoke(std::forward<F>(f))); });
      agree_no_error(error);
      return *std::move(result);
    }
  }
  /// Throws on all threads if any has an error; `error` is this thread's, or null.
  void agree_no_error(std::exception_ptr const& error) const {
    for (std::exception_ptr const& each : allgather(error))
      if (each) std::rethrow_exception(each);
  }

 private:
  template <class T>
  static T sum_of(T a, T b) {
    return a + b;
  }

  template <class F>
  static void attempt(std::exception_ptr& error, F const& f) {
    try {
      f();
    } catch (detail::BarrierEnded const&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
  }

  /// Calls f with a function of a rank to the pointer that its thread passes here; what it points to stays until all
  /// threads have returned from f.
  template <class T, class F>
  void exchange(T* own, F const& f) const {
    barrier_->shown(rank_) = own;
    barrier();
    f([this](std::size_t rank) { return static_cast<T*>(const_cast<void*>(barrier_->shown(rank))); });
    barrier();
  }

  template <class T, class Operation>
  Uniform<T> reduced(T value, Operation const& operation) const {
    reduce(std::span(&value, 1), operation);
    return detail::UniformAccess::make(value);
  }
  template <class Range, class Operation>
  void reduce(Range&& values, Operation const& operation) const {
    if (size() == 1) return;
    using T = std::ranges::range_value_t<Range>;
    std::size_t const count = std::ranges::size(values);
    std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> results(count);
    exchange(std::ranges::data(values), [&](auto const& of) {
      std::copy_n(of(0), count, results.begin());
      for (std::size_t rank = 1; rank < size(); ++rank)
        for (std::size_t i = 0; i < count; ++i) results[i] = operation(static_cast<T>(results[i]), of(rank)[i]);
    });
    std::copy_n(results.begin(), count, std::ranges::data(values));
  }

  std::size_t rank_;
  std::shared_ptr<detail::GroupBarrier> barrier_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/mpi/thread_group.ipp"
#endif
