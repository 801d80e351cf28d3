/// Extents of a tuple of tensors, as it goes between layers: a sample has several parts.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/tensor/extents.hpp"

namespace trireme {

/// In memory part follows part, each contiguous: (rows, extents of part 0...), then (rows, extents of part 1...).
/// Towards layers of one tensor it has no axis at all.
template <class... E>
struct Parts {
  static constexpr std::size_t count = sizeof...(E);
  static constexpr std::size_t rank = 0;
  static constexpr std::array<std::size_t, 0> static_extents{};
  static constexpr bool is_static = (E::is_static && ...);

  std::tuple<E...> all{};

  /// Extents of part I.
  template <std::size_t I>
  constexpr auto const& part() const {
    return std::get<I>(all);
  }

  /// Number of elements of a sample, over all parts.
  constexpr std::size_t size() const { return before<count>(); }
  /// Of them, those before part I.
  template <std::size_t I>
  constexpr std::size_t before() const {
    return [&]<std::size_t... J>(std::index_sequence<J...>) {
      return (std::get<J>(all).size() + ... + std::size_t{0});
    }(std::make_index_sequence<I>());
  }

  /// One extent, the elements of all parts.
  std::vector<std::size_t> to_vector() const { return {size()}; }
};

/// True for Parts.
template <class>
inline constexpr bool is_parts = false;
template <class... E>
inline constexpr bool is_parts<Parts<E...>> = true;

/// Number of tensors.
template <class E>
inline constexpr std::size_t parts_count = 1;
template <class... E>
inline constexpr std::size_t parts_count<Parts<E...>> = sizeof...(E);

/// Part I; of a single tensor, itself.
template <std::size_t I, class E>
constexpr auto const& part_of(E const& extents) {
  if constexpr (is_parts<E>)
    return extents.template part<I>();
  else
    return extents;
}

/// f(part, elements of a sample before it) for each part in order; a single tensor is its own only part.
template <class E, class F>
constexpr void for_each_part(E const& extents, F&& f) {
  if constexpr (is_parts<E>) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(extents.template part<I>(), extents.template before<I>()), ...);
    }(std::make_index_sequence<E::count>());
  } else {
    f(extents, std::size_t{0});
  }
}

/// The extents of each part.
template <class E>
std::vector<std::vector<std::size_t>> list_parts(E const& extents) {
  std::vector<std::vector<std::size_t>> list;
  for_each_part(extents, [&](auto const& part, std::size_t) { list.push_back(part.to_vector()); });
  return list;
}

}  // namespace trireme
