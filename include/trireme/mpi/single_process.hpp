/// SingleProcess: a group of one process, with the members of Communicator that strategies use, without MPI.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/mpi/chief_scope.hpp"
#include "trireme/mpi/gathered.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

/// Group of one process: every value is uniform, since there is no other process.
class SingleProcess {
 public:
  static constexpr bool distributed = false;

  /// Always 0.
  std::size_t rank() const { return 0; }
  /// Always 1.
  std::size_t size() const { return 1; }
  /// Always true.
  bool is_chief() const { return true; }

  /// The value itself.
  template <class T>
    requires std::is_arithmetic_v<T>
  Uniform<T> allreduce_sum(T value) const {
    return detail::UniformAccess::make(value);
  }
  /// Leaves the values as they are.
  template <class Range>
    requires(!std::is_arithmetic_v<std::decay_t<Range>>)
  void allreduce_sum(Range&&) const {}
  /// The value itself.
  template <class T>
  Uniform<T> allreduce_max(T value) const {
    return detail::UniformAccess::make(value);
  }
  /// The value itself.
  template <class T>
  Uniform<T> allreduce_min(T value) const {
    return detail::UniformAccess::make(value);
  }
  /// The value itself.
  Uniform<bool> allreduce_or(bool value) const { return detail::UniformAccess::make(value); }
  /// The value itself.
  Uniform<bool> allreduce_and(bool value) const { return detail::UniformAccess::make(value); }

  /// Leaves the values as they are.
  template <class Range>
    requires(!std::is_arithmetic_v<std::decay_t<Range>>)
  void broadcast(Range&&, std::size_t = 0) const {}
  /// The value itself.
  template <class T>
    requires std::is_arithmetic_v<T>
  Uniform<T> broadcast(T value, std::size_t = 0) const {
    return detail::UniformAccess::make(value);
  }
  /// One value.
  template <class T>
  std::vector<T> allgather(T const& value) const {
    return {value};
  }
  /// One part, a copy of the values.
  template <class Range>
  Gathered<std::ranges::range_value_t<Range>> allgatherv(Range const& values) const {
    Gathered<std::ranges::range_value_t<Range>> gathered(std::vector<std::size_t>{std::ranges::size(values)});
    std::copy(std::ranges::begin(values), std::ranges::end(values), gathered.values().begin());
    return gathered;
  }

  /// One part, a copy of the values.
  template <class Range>
  Gathered<std::ranges::range_value_t<Range>> gatherv(Range const& values, std::size_t = 0) const {
    return allgatherv(values);
  }

  /// Runs f and returns its result; marks an Error that it throws as uniform.
  template <class F>
  auto together(F&& f) const {
    try {
      return std::forward<F>(f)();
    } catch (Error& error) {
      error.mark_uniform();
      throw;
    }
  }

  /// Runs f(ChiefScope const&, arguments...) and returns its result.
  template <class F, class... Arguments>
  auto on_chief(F&& f, Arguments&&... arguments) const {
    return together(
        [&] { return detail::ChiefAccess::run(std::forward<F>(f), std::forward<Arguments>(arguments)...); });
  }
};

}  // namespace trireme
