/// Lanes: the threads that share one row of a kernel. A kernel of rows is written once over them, for a host thread
/// that has a row to itself and for the threads of a device, whose neighbours read neighbouring elements.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/simd/row_sum.hpp"

namespace trireme {

/// One thread alone. Members, of every kind of lanes:
///   for_each(n, f)     f(j) for j < n; a lane may read in a later call only what its own element j left, or what
///                      another call of `for_each` has finished
///   sum<T>(n, term)    the sum of term(j) for j < n, on all lanes; here in this order
///   row_sum<T>(n, term)  the same; here as `trireme::row_sum`, which vectorises
///   max<T>(n, term)    the largest term(j) for j < n, n at least 1, on all lanes
///   once(f)            f() on one lane, after the calls before it
/// `term` is called once for each j and may store, as in `for_each`.
struct OneLane {
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(std::size_t n, F const& f) const {
    for (std::size_t j = 0; j < n; ++j) f(j);
  }
  template <class T, class Term>
  KOKKOS_FORCEINLINE_FUNCTION T sum(std::size_t n, Term const& term) const {
    T sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += term(j);
    return sum;
  }
  template <class T, class Term>
  KOKKOS_FORCEINLINE_FUNCTION T row_sum(std::size_t n, Term const& term) const {
    return trireme::row_sum<T>(n, term);
  }
  template <class T, class Term>
  KOKKOS_FORCEINLINE_FUNCTION T max(std::size_t n, Term const& term) const {
    T largest = term(0);
    for (std::size_t j = 1; j < n; ++j) {
      T const value = term(j);
      largest = value > largest ? value : largest;
    }
    return largest;
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void once(F const& f) const {
    f();
  }
};

/// The vector lanes of one thread of a team.
template <class Team>
struct TeamLanes {
  Team const& team;

  template <class F>
  KOKKOS_FUNCTION void for_each(std::size_t n, F const& f) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, n), f);
  }
  template <class T, class Term>
  KOKKOS_FUNCTION T sum(std::size_t n, Term const& term) const {
    T sum = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, n), [&](std::size_t j, T& partial) { partial += term(j); },
        Kokkos::Sum<T>(sum));
    return sum;
  }
  template <class T, class Term>
  KOKKOS_FUNCTION T row_sum(std::size_t n, Term const& term) const {
    return sum<T>(n, term);
  }
  template <class T, class Term>
  KOKKOS_FUNCTION T max(std::size_t n, Term const& term) const {
    T largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, n),
        [&](std::size_t j, T& partial) {
          T const value = term(j);
          partial = value > partial ? value : partial;
        },
        Kokkos::Max<T>(largest));
    return largest;
  }
  template <class F>
  KOKKOS_FUNCTION void once(F const& f) const {
    Kokkos::single(Kokkos::PerThread(team), f);
  }
};

namespace detail {

/// A kernel of rows as one of indices: a host thread takes a row whole.
template <class F>
struct OfOneLane {
  F f;
  KOKKOS_FUNCTION void operator()(std::size_t row) const { f(row, OneLane{}); }
};

/// The lanes of a device that share a row of `columns` elements: a power of 2, at most 32.
constexpr std::size_t lanes_for(std::size_t columns) {
  std::size_t lanes = 1;
  while (lanes < columns && lanes < 32) lanes *= 2;
  return lanes;
}

/// Each thread of a team takes rows, with its vector lanes.
template <class F, class Space>
struct OfTeamLanes {
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  F f;
  std::size_t rows;
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const size = static_cast<std::size_t>(team.team_size());
    std::size_t const first = static_cast<std::size_t>(team.league_rank()) * size;
    std::size_t const all = static_cast<std::size_t>(team.league_size()) * size;
    for (std::size_t row = first + static_cast<std::size_t>(team.team_rank()); row < rows; row += all)
      f(row, TeamLanes<Team>{team});
  }
};

}  // namespace detail
}  // namespace trireme
