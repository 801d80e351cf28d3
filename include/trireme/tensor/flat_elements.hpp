/// The elements of a row-major array without gaps, where they lie: reads and writes go there, and nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme {

/// A View, an xtensor container, or a contiguous range of T, as `infer` takes them.
template <class A, class T>
concept ArrayOf =
    (KokkosView<A> &&
     std::is_same_v<std::remove_const_t<typename std::remove_cvref_t<A>::value_type>, std::remove_const_t<T>>) ||
    (XtensorContainer<A> && std::is_same_v<typename std::remove_cvref_t<A>::value_type, T>) ||
    (ContiguousRange<A> && std::is_same_v<std::ranges::range_value_t<A>, T>);

namespace detail {

template <class Extents, class Strides>
void require_row_major(Extents const& extents, Strides const& strides, char const* what) {
  if (!is_row_major(extents, strides))
    throw ShapeError(formatted("the {} of infer have to lie row by row without gaps (LayoutRight)", what));
}

/// \throws ShapeError if so many elements were given where others are needed.
inline void require_sizes(std::size_t given, std::size_t needed, char const* what) {
  if (given != needed) throw ShapeError(formatted("{} {} were given where {} are needed", given, what, needed));
}

}  // namespace detail

/// The elements of an array in row-major order.
///
/// \param what  the array's name in messages.  \throws ShapeError if the elements lie otherwise.
template <class A>
auto flat_elements(A&& array, char const* what) {
  if constexpr (KokkosView<A>) {
    using View = std::remove_cvref_t<A>;
    std::array<std::size_t, View::rank> extents{}, strides{};
    for (std::size_t axis = 0; axis < View::rank; ++axis) {
      extents[axis] = array.extent(axis);
      strides[axis] = array.stride(axis);
    }
    detail::require_row_major(extents, strides, what);
    return std::span<typename View::value_type>(array.data(), array.size());
  } else if constexpr (XtensorContainer<A>) {
    detail::require_row_major(array.shape(), array.strides(), what);
    return std::span(array.data(), array.size());
  } else {
    return std::span(std::ranges::data(array), std::ranges::size(array));
  }
}

}  // namespace trireme
