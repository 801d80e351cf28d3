/// Joins: the outputs of branches become one, and its gradient theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/join_kernels.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// The sum of all branches' outputs.
struct SumJoin {
  static constexpr std::string_view class_name = "Add";
  static constexpr bool in_place = false;

  template <class First, class... Rest>
  static constexpr auto output(First const& first, [[maybe_unused]] Rest const&... rest) {
    static_assert((std::is_same_v<First, Rest> && ...), "trireme: Add needs branches with the same output extents");
    if constexpr (!First::is_static) (require_same(first, rest), ...);
    return first;
  }
  template <class Context, class T>
  static void put(Context& context, std::size_t rows, std::size_t columns, T const* branch, T* joined, std::size_t,
                  std::size_t, bool first) {
    if (first)
      kernels::copy(context, rows * columns, branch, joined);
    else
      context.for_each("trireme::add", rows * columns, kernels::AddTo<T>{branch, joined});
  }
  template <class Context, class T>
  static void take(Context& context, std::size_t rows, std::size_t columns, T const* joined, std::size_t, std::size_t,
                   T* branch, bool first) {
    put(context, rows, columns, joined, branch, 0, 0, first);
  }

 private:
  /// \throws ShapeError if extents that are known at run time differ
  template <class E>
  static void require_same(E const& first, E const& other) {
    for (std::size_t axis = 0; axis < E::rank; ++axis)
      if (first[axis] != other[axis])
        throw ShapeError(formatted("Add needs branches with the same output extents, but they have {} and {}",
                                   format_extents(first.to_vector()), format_extents(other.to_vector())));
  }
};

/// The branches' outputs side by side along the last axis.
struct ConcatenateJoin {
  static constexpr std::string_view class_name = "Concatenate";
  static constexpr bool in_place = false;

  template <class First, class... Rest>
  static constexpr auto output(First const& first, Rest const&... rest) {
    static_assert(((First::rank == Rest::rank) && ...), "trireme: Concatenate needs branches of the same rank");
    static_assert((same_but_last<First, Rest>() && ...),
                  "trireme: Concatenate needs branches whose output extents differ in the last axis only");
    if constexpr (!First::is_static || (!Rest::is_static || ...)) (require_same_but_last(first, rest), ...);
    constexpr bool is_static = (static_extent<First, First::rank - 1> != dynamic) &&
                               (true && ... && (static_extent<Rest, Rest::rank - 1> != dynamic));
    constexpr std::size_t sum =
        is_static ? (static_extent<First, First::rank - 1> + ... + static_extent<Rest, Rest::rank - 1>) : dynamic;
    return replace_back<sum>(first, (first.back() + ... + rest.back()));
  }
  template <class Context, class T>
  static void put(Context& context, std::size_t rows, std::size_t columns, T const* branch, T* joined,
                  std::size_t width, std::size_t column, bool) {
    context.for_each("trireme::concatenate", rows, columns,
                     kernels::CopyColumns<T>{branch, columns, joined + column, width, false});
  }
  template <class Context, class T>
  static void take(Context& context, std::size_t rows, std::size_t columns, T const* joined, std::size_t width,
                   std::size_t column, T* branch, bool first) {
    context.for_each("trireme::split", rows, columns,
                     kernels::CopyColumns<T>{joined + column, width, branch, columns, !first});
  }

 private:
  template <class A, class B>
  static constexpr bool same_but_last() {
    for (std::size_t axis = 0; axis + 1 < A::rank && axis + 1 < B::rank; ++axis)
      if (A::static_extents[axis] != B::static_extents[axis]) return false;
    return true;
  }

  /// \throws ShapeError if extents that are known at run time differ before the last axis
  template <class A, class B>
  static void require_same_but_last(A const& first, B const& other) {
    for (std::size_t axis = 0; axis + 1 < A::rank && axis + 1 < B::rank; ++axis)
      if (first[axis] != other[axis])
        throw ShapeError(formatted(
            "Concatenate needs branches whose output extents differ in the last axis only, but they have {} and {}",
            format_extents(first.to_vector()), format_extents(other.to_vector())));
  }
};

/// The outputs of branches as parts of a tuple, which they write where it lies.
struct TupleJoin {
  static constexpr bool in_place = true;

  template <class... Out>
  static constexpr auto output(Out const&... out) {
    static_assert((!is_parts<Out> && ...),
                  "trireme: a branch of Parallel or Fork that hands on a tuple itself would make a tuple of tuples");
    return Parts<Out...>{{out...}};
  }
};

/// A layer that joins the parts of a tuple: it reads them, and writes their gradients, where they lie.
template <class L>
concept JoinsParts = requires { typename L::join; };

template <class>
inline constexpr bool joins_by_sum = false;
template <JoinsParts L>
inline constexpr bool joins_by_sum<L> = std::is_same_v<typename L::join, SumJoin>;

/// The node behind branches, which joins their outputs.
template <class Join>
struct JoinNode {
  using join = Join;
  static constexpr std::string_view class_name = Join::class_name;
  static constexpr bool takes_parts = true;
  static constexpr std::uint32_t leaf_count = 0;  ///< no layer that users know

  template <class... E>
  constexpr auto output(Parts<E...> const& in) const {
    return std::apply([](auto const&... part) { return Join::output(part...); }, in.all);
  }
};

template <class>
inline constexpr bool is_join_node = false;
template <class Join>
inline constexpr bool is_join_node<JoinNode<Join>> = true;

}  // namespace trireme::detail
