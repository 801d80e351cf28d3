/// One array of samples, or a tuple of them whose samples are put together: row after row, each with its parts one
/// after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/host_tensor.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::data {

namespace detail {

template <class>
inline constexpr bool is_array_tuple = false;
template <class... A>
inline constexpr bool is_array_tuple<std::tuple<A...>> = sizeof...(A) > 0 && (TensorLike<A> && ...);

/// The scalar of a row: one that holds all numbers of its parts exactly.
template <class First, class... Rest>
constexpr auto row_scalar() {
  constexpr auto is_small = []<class V>(V) { return std::is_integral_v<V> && sizeof(V) <= 2; };
  if constexpr ((std::is_same_v<First, Rest> && ...))
    return First{};
  else if constexpr ((std::is_integral_v<First> && ... && std::is_integral_v<Rest>))
    return std::common_type_t<First, Rest...>{};
  else if constexpr (((is_small(First{}) || std::is_same_v<First, float>) && ... &&
                      (is_small(Rest{}) || std::is_same_v<Rest, float>)))
    return float{};
  else
    return double{};
}

}  // namespace detail

/// Array of samples (samples, extents...), or `std::tuple{a, b}` or `std::tie(a, b)` of several.
template <class A>
concept SampleArrays = TensorLike<A> || detail::is_array_tuple<std::remove_cvref_t<A>>;

/// One array of samples, or a tuple of arrays whose samples are put together.
template <class T>
struct SampleRows {
  HostTensor<T> tensor;
  std::vector<std::vector<std::size_t>> parts{};  ///< extents of each part of a sample; none for one array

  /// Extents of a sample; of several parts, (all their numbers).
  std::vector<std::size_t> extents() const { return tensor.sample_extents(); }
};

namespace detail {

template <class... T>
auto join_rows(HostTensor<T> const&... array) {
  using Row = decltype(row_scalar<T...>());
  std::vector<std::size_t> const samples{array.samples()...};
  std::string names = joined({array.name()...}, ", ");
  if (std::adjacent_find(samples.begin(), samples.end(), std::not_equal_to{}) != samples.end())
    throw ShapeError(formatted("the arrays of a tuple ({}) hold different numbers of samples: {}", names,
                               joined({std::to_string(array.samples())...}, ", ")));
  SampleRows<Row> rows;
  rows.parts = {array.sample_extents()...};
  std::size_t width = 0;
  std::vector<std::size_t> widths;
  for (auto const& part : rows.parts) {
    widths.push_back(1);
    for (std::size_t const extent : part) widths.back() *= extent;
    width += widths.back();
  }
  bool const named = (!array.origin.empty() || ...);
  NewHostTensor<Row> joined({samples[0], width}, named ? std::move(names) : std::string());
  Row* to = joined.memory.get();
  std::size_t part = 0;
  auto const copy = [&](auto const& from) {
    std::size_t const size = widths[part++];
    for (std::size_t i = 0; i < samples[0]; ++i)
      std::transform(from.data + i * size, from.data + (i + 1) * size, to + i * width,
                     [](auto value) { return static_cast<Row>(value); });
    to += size;
  };
  (copy(array), ...);
  rows.tensor = std::move(joined.tensor);
  return rows;
}

}  // namespace detail

/// Rows of one array (samples, extents...), referenced where `host_tensor` can; those of several are copied together
/// once, to (samples, all their numbers).
/// \throws ShapeError if the arrays differ in their number of samples.
template <SampleArrays A>
auto sample_rows(A&& arrays) {
  if constexpr (TensorLike<A>) {
    auto tensor = host_tensor(std::forward<A>(arrays));
    return SampleRows<typename decltype(tensor)::value_type>{std::move(tensor)};
  } else {
    return std::apply([](auto const&... array) { return detail::join_rows(host_tensor(array)...); }, arrays);
  }
}

}  // namespace trireme::data
