/// Value: a tensor within a program under construction, with its element type and extents in its type.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/element.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::lowering {

/// Extents that are known at run time only, even their number: those of a parameter in a table.
struct AnyExtents {
  std::vector<std::size_t> values;
  std::vector<std::size_t> const& to_vector() const { return values; }
};

/// A tensor, by the id of its value. `E`: Extents<...>, `dynamic` for extents known at run time only, such as the rows
/// of a batch; or AnyExtents.
template <class T, class E>
struct Value {
  using element = T;
  using extents_type = E;
  E extents;
  std::size_t id;
};

/// A single number.
using NoExtents = Extents<>;
template <class T>
using Scalar = Value<T, NoExtents>;

/// Extents of a batch of samples with extents E: (rows, E...).
template <std::size_t... E>
constexpr Extents<dynamic, E...> with_rows(std::size_t rows, Extents<E...> const& sample) {
  Extents<dynamic, E...> extents;
  extents.values[0] = rows;
  for (std::size_t axis = 0; axis < sizeof...(E); ++axis) extents.values[axis + 1] = sample[axis];
  return extents;
}

namespace detail {
template <std::size_t... E, std::size_t... I>
constexpr auto without_back(Extents<E...> const& extents, std::index_sequence<I...>) {
  return Extents<Extents<E...>::static_extents[I]...>{{extents[I]...}};
}
template <std::size_t... E, std::size_t... I>
constexpr auto without_front(Extents<E...> const& extents, std::index_sequence<I...>) {
  return Extents<Extents<E...>::static_extents[I + 1]...>{{extents[I + 1]...}};
}
}  // namespace detail

template <std::size_t... E>
constexpr auto without_back(Extents<E...> const& extents) {
  return detail::without_back(extents, std::make_index_sequence<sizeof...(E) - 1>{});
}
template <std::size_t... E>
constexpr auto without_front(Extents<E...> const& extents) {
  return detail::without_front(extents, std::make_index_sequence<sizeof...(E) - 1>{});
}
/// Extents of the last axis alone.
template <std::size_t... E>
constexpr auto back_of(Extents<E...> const& extents) {
  return Extents<Extents<E...>::static_extents[sizeof...(E) - 1]>{{extents.back()}};
}

inline void require_equal(std::vector<std::size_t> const& a, std::vector<std::size_t> const& b) {
  if (a != b)
    throw ShapeError(formatted("an operation of a program was given tensors of extents {} and {}", format_extents(a),
                               format_extents(b)));
}

/// Checks that extents are equal. Does not compile if the types differ; throws ShapeError if only the values do.
template <std::size_t... A, std::size_t... B>
void require_same(Extents<A...> const& a, Extents<B...> const& b) {
  static_assert(sizeof...(A) == sizeof...(B),
                "trireme: an operation of a program was given tensors of different ranks");
  if constexpr (sizeof...(A) == sizeof...(B))
    static_assert(((A == B || A == dynamic || B == dynamic) && ...),
                  "trireme: an operation of a program was given tensors whose extents differ");
  require_equal(a.to_vector(), b.to_vector());
}
template <class A, class B>
void require_same(A const& a, B const& b) {
  require_equal(a.to_vector(), b.to_vector());
}

/// The same tensor with the type of other extents of the same values.
template <class E, class T, class F>
Value<T, E> typed(Value<T, F> const& x, E const& extents) {
  require_equal(x.extents.to_vector(), extents.to_vector());
  return {extents, x.id};
}

}  // namespace trireme::lowering
