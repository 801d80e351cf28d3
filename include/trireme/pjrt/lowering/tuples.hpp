/// Tuples of tensors in a program: a tensor is a Value, a tuple a std::tuple of them.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/pjrt/lowering/value.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::lowering {

/// Tensors whose extents only the run knows.
template <class T>
using Tensors = std::vector<Value<T, AnyExtents>>;

/// Extents of a sample of a value (rows, E...), or of each part of a tuple.
template <class T, std::size_t... E>
constexpr auto sample_extents(Value<T, Extents<E...>> const& x) {
  return without_front(x.extents);
}
template <class... V>
constexpr auto sample_extents(std::tuple<V...> const& x) {
  return std::apply([](auto const&... part) { return Parts{std::tuple{without_front(part.extents)...}}; }, x);
}

/// f(value) for each part in order; a single tensor is its own only part.
template <class T, class E, class F>
void for_each_value(Value<T, E> const& x, F const& f) {
  f(x);
}
template <class... V, class F>
void for_each_value(std::tuple<V...> const& x, F const& f) {
  std::apply([&](auto const&... part) { (f(part), ...); }, x);
}

template <class T, class X>
Tensors<T> list_values(X const& x) {
  Tensors<T> list;
  for_each_value(x, [&](auto const& value) { list.push_back({{value.extents.to_vector()}, value.id}); });
  return list;
}

/// Listed tensors as values like `like`, from the `next`-th on.
template <class T, class E>
Value<T, E> values_like(Value<T, E> const& like, Tensors<T> const& list, std::size_t next = 0) {
  require_equal(like.extents.to_vector(), list[next].extents.values);
  return {like.extents, list[next].id};
}
template <class T, class... E>
std::tuple<Value<T, E>...> values_like(std::tuple<Value<T, E>...> const& like, Tensors<T> const& list) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple{values_like(std::get<I>(like), list, I)...};
  }(std::index_sequence_for<E...>());
}

/// Checks that values have the extents of others. Does not compile if their number or their types differ.
template <class T, class E, class F>
void require_alike(Value<T, E> const& a, Value<T, F> const& b) {
  require_same(a.extents, b.extents);
}
template <class... A, class... B>
void require_alike(std::tuple<A...> const& a, std::tuple<B...> const& b) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (require_alike(std::get<I>(a), std::get<I>(b)), ...);
  }(std::index_sequence_for<A...>());
}

}  // namespace trireme::lowering
