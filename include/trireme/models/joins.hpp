/// Joins: the outputs of branches become one, and its gradient theirs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/join_kernels.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// The first `axes` extents that tensors have in common, where the compiler knows those of one of them.
template <std::size_t axes, class... E>
constexpr std::array<std::size_t, axes> common_extents() {
  std::array<std::size_t, axes> common{};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    common[axis] = dynamic;
    ((common[axis] = common[axis] == dynamic ? E::static_extents[axis] : common[axis]), ...);
  }
  return common;
}

/// False if the compiler knows that the first `axes` extents of tensors of one rank differ.
template <std::size_t axes, class... E>
constexpr bool may_agree() {
  constexpr auto common = common_extents<axes, E...>();
  bool agree = true;
  for (std::size_t axis = 0; axis < axes; ++axis)
    agree = agree && (... && (E::static_extents[axis] == dynamic || E::static_extents[axis] == common[axis]));
  return agree;
}

/// True if the first `axes` extents of two tensors are the same.
template <class A, class B>
constexpr bool agree(std::size_t axes, A const& a, B const& b) {
  for (std::size_t axis = 0; axis < axes; ++axis)
    if (a[axis] != b[axis]) return false;
  return true;
}

/// The extents of `first`, of which all but the last are known to the compiler where they are for one of E, and the
/// last is `Last`.
template <std::size_t Last, class... E, class First>
constexpr auto joined_extents(First const& first, std::size_t last) {
  constexpr std::size_t inner = First::rank - 1;
  constexpr auto common = common_extents<inner, First, E...>();
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    Extents<common[I]..., Last> joined;
    ((joined.values[I] = first[I]), ...);
    joined.values[inner] = last;
    return joined;
  }(std::make_index_sequence<inner>());
}

/// A sentence for a branch that hands on a tuple.
template <class... Out>
consteval bool require_tensors() {
  constexpr bool fits = (!is_parts<Out> && ...);
  static_assert(fits, "trireme: a branch of Add, Residual or Concatenate hands on a tuple, and they join tensors");
  return fits;
}

/// The sum of all branches' outputs.
struct SumJoin {
  static constexpr std::string_view class_name = "Add";
  static constexpr bool in_place = false;

  template <class First, class... Rest>
  static constexpr auto output(First const& first, [[maybe_unused]] Rest const&... rest) {
    constexpr bool fits = fit<First, Rest...>();
    if constexpr (require_tensors<First, Rest...>())
      static_assert(fits, "trireme: Add needs branches with the same output extents");
    if constexpr (fits && !is_parts<First> && !(First::is_static && ... && Rest::is_static)) {
      (require_same(first, rest), ...);
      constexpr std::size_t last = First::rank - 1;
      return joined_extents<common_extents<First::rank, First, Rest...>()[last], Rest...>(first, first[last]);
    } else {
      return first;
    }
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
  template <class First, class... Rest>
  static constexpr bool fit() {
    if constexpr (((First::rank == Rest::rank) && ...))
      return may_agree<First::rank, First, Rest...>();
    else
      return false;
  }

  /// \throws ShapeError if extents that are known at run time differ
  template <class A, class B>
  static void require_same(A const& first, B const& other) {
    if (!agree(A::rank, first, other))
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
    constexpr bool are_tensors = require_tensors<First, Rest...>();
    constexpr bool one_rank = ((First::rank == Rest::rank) && ...);
    if constexpr (are_tensors) static_assert(one_rank, "trireme: Concatenate needs branches of the same rank");
    if constexpr (are_tensors && one_rank) {
      static_assert(may_agree<First::rank - 1, First, Rest...>(),
                    "trireme: Concatenate needs branches whose output extents differ in the last axis only");
      if constexpr (!(First::is_static && ... && Rest::is_static)) (require_same_but_last(first, rest), ...);
      constexpr std::size_t last = First::rank - 1;
      constexpr bool is_static =
          (static_extent<First, last> != dynamic) && (true && ... && (static_extent<Rest, last> != dynamic));
      constexpr std::size_t sum = is_static ? (static_extent<First, last> + ... + static_extent<Rest, last>) : dynamic;
      return joined_extents<sum, Rest...>(first, (first.back() + ... + rest.back()));
    } else {
      return first;
    }
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
  /// \throws ShapeError if extents that are known at run time differ before the last axis
  template <class A, class B>
  static void require_same_but_last(A const& first, B const& other) {
    if (!agree(A::rank - 1, first, other))
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
