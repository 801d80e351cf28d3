/// Between the host arrays of users (xtensor, Kokkos Views, standard containers) and the library: the only place that
/// includes xtensor.
#pragma once

#if defined(__clang__) && __clang_major__ == 19 && defined(__cpp_template_template_args) && \
    __has_include(<xtensor/xarray.hpp>)
#error \
    "trireme: Clang 19 reads xtensor before 0.26 only with -fno-relaxed-template-template-args -Wno-deprecated-no-relaxed-template-template-args"
#include "the error above"  // ends the compilation, instead of twenty errors of xtensor's
#endif

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>
#if __has_include(<xtensor/xarray.hpp>)
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#else  // since xtensor 0.26
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#endif

#include "trireme/tensor/host_tensor.hpp"

namespace trireme {

/// An xtensor container, which owns its values.
template <class A>
concept XtensorContainer = std::derived_from<std::remove_cvref_t<A>, xt::xcontainer<std::remove_cvref_t<A>>>;

/// An xtensor expression, evaluated or not.
template <class A>
concept XtensorExpression = xt::is_xexpression<std::remove_cvref_t<A>>::value;

/// A Kokkos::View.
template <class A>
concept KokkosView = Kokkos::is_view<std::remove_cvref_t<A>>::value;

/// A contiguous range of numbers of known size, such as std::vector.
template <class A>
concept ContiguousRange = std::ranges::contiguous_range<A> && std::ranges::sized_range<A> && !XtensorExpression<A> &&
                          !KokkosView<A> && std::is_arithmetic_v<std::ranges::range_value_t<A>>;

namespace detail {
template <class>
inline constexpr bool is_host_tensor = false;
template <class T>
inline constexpr bool is_host_tensor<HostTensor<T>> = true;

template <class>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::initializer_list<T>> = true;

// Row-major without gaps; the stride of an axis of extent 1 does not matter (xtensor writes 0 there).
template <class Extents, class Strides>
bool is_row_major(Extents const& extents, Strides const& strides) {
  std::size_t expected = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] == 0) return true;
    if (extents[axis] != 1 && static_cast<std::size_t>(strides[axis]) != expected) return false;
    expected *= extents[axis];
  }
  return true;
}

template <class A>
auto from_xtensor(A&& a);
template <class V>
auto from_view(V const& view);
template <class R>
auto from_range(R&& range);
}  // namespace detail

/// The types that the library accepts as host data.
template <class A>
concept TensorLike =
    detail::is_host_tensor<std::remove_cvref_t<A>> || XtensorExpression<A> || KokkosView<A> || ContiguousRange<A>;

/// The data of an array as a HostTensor, without a copy where that is possible:
/// - a row-major xtensor container or a standard container is referenced if it is an lvalue (it has to outlive every
///   use) and moved into shared ownership if it is an rvalue;
/// - any other xtensor expression, and a column-major container, is evaluated once;
/// - a Kokkos View that the host can read and that is row-major without gaps is referenced and kept alive; any other
///   View is copied once, through its own execution space where it needs packing.
template <class A>
auto host_tensor(A&& a) {
  static_assert(TensorLike<A>,
                "trireme: data are an xtensor container or expression, a Kokkos View, a HostTensor, or a contiguous "
                "range of numbers such as std::vector<float>");
  if constexpr (detail::is_host_tensor<std::remove_cvref_t<A>>)
    return std::remove_cvref_t<A>(std::forward<A>(a));
  else if constexpr (XtensorExpression<A>)
    return detail::from_xtensor(std::forward<A>(a));
  else if constexpr (KokkosView<A>)
    return detail::from_view(a);
  else
    return detail::from_range(std::forward<A>(a));
}

/// A copy of row-major data as an xtensor array.
template <class T>
xt::xarray<T> to_xarray(T const* data, std::vector<std::size_t> const& extents) {
  auto result = xt::xarray<T>::from_shape(extents);
  std::copy_n(data, result.size(), result.data());
  return result;
}

template <class T>
xt::xarray<T> to_xarray(HostTensor<T> const& tensor) {
  return to_xarray(tensor.data, tensor.extents);
}

namespace detail {

template <class A>
auto from_xtensor(A&& a) {
  using Array = std::remove_cvref_t<A>;
  using T = std::remove_cv_t<typename Array::value_type>;
  static_assert(std::is_arithmetic_v<T>, "trireme: the elements of an xtensor expression have to be numbers");
  HostTensor<T> result;
  result.extents.assign(a.shape().begin(), a.shape().end());
  if constexpr (XtensorContainer<A>) {
    if (is_row_major(result.extents, a.strides())) {
      if constexpr (std::is_lvalue_reference_v<A>) {
        result.data = a.data();
      } else {
        auto kept = std::make_shared<Array>(std::forward<A>(a));
        result.data = std::as_const(*kept).data();
        result.owner = std::move(kept);
      }
      return result;
    }
  }
  auto evaluated = std::make_shared<xt::xarray<T, xt::layout_type::row_major>>(a);
  result.data = evaluated->data();
  result.owner = std::move(evaluated);
  return result;
}

template <class V>
auto from_view(V const& view) {
  using T = typename V::non_const_value_type;
  constexpr std::size_t rank = V::rank;
  static_assert(rank > 0, "trireme: a View of rank 0 holds no samples");
  static_assert(std::is_arithmetic_v<T>, "trireme: the elements of a View have to be numbers");
  HostTensor<T> result;
  std::vector<std::size_t> strides;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    result.extents.push_back(view.extent(axis));
    strides.push_back(view.stride(axis));
  }
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename V::memory_space>::accessible) {
    if (is_row_major(result.extents, strides)) {
      Kokkos::fence("trireme: data written before the host reads it");
      result.data = view.data();
      result.owner = std::make_shared<V>(view);
      return result;
    }
  }
  // All of its memory as it lies there, and put in order here: a copy between spaces cannot change the layout.
  Kokkos::View<T const*, typename V::memory_space, Kokkos::MemoryUnmanaged> const memory(view.data(), view.span());
  auto const read = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, memory);
  std::shared_ptr<T[]> const packed = std::make_shared_for_overwrite<T[]>(view.size());
  T* const to = packed.get();
  std::vector<std::size_t> index(rank, 0);
  std::size_t from = 0;
  for (std::size_t e = 0; e < view.size(); ++e) {
    to[e] = read(from);
    for (std::size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < result.extents[axis]) break;
      from -= strides[axis] * result.extents[axis];
      index[axis] = 0;
    }
  }
  result.data = packed.get();
  result.owner = packed;
  return result;
}

template <class R>
auto from_range(R&& range) {
  using T = std::remove_cv_t<std::ranges::range_value_t<R>>;
  HostTensor<T> result;
  result.extents = {static_cast<std::size_t>(std::ranges::size(range))};
  if constexpr (std::is_lvalue_reference_v<R> || std::ranges::borrowed_range<R>) {
    result.data = std::ranges::data(range);
  } else if constexpr (is_list<std::remove_cvref_t<R>>) {  // which owns nothing
    NewHostTensor<T> copy(result.extents);
    std::ranges::copy(range, copy.memory.get());
    return copy.tensor;
  } else {
    auto kept = std::make_shared<std::remove_cvref_t<R>>(std::forward<R>(range));
    result.data = std::ranges::data(std::as_const(*kept));
    result.owner = std::move(kept);
  }
  return result;
}

}  // namespace detail
}  // namespace trireme
