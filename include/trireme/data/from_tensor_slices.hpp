/// Datasets over arrays that every process holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "trireme/data/dataset.hpp"
#include "trireme/data/sample_rows.hpp"
#include "trireme/data/tensor_source.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::data {

/// Dataset over arrays that every process holds: samples along the first axis of x and their targets along that of y.
/// Not collective; `fit` compares the processes' data. Source: `tf.data.Dataset.from_tensor_slices`.
///
/// For a model of several inputs x is a tuple of arrays, `std::tie(x1, x2)`, and so is y for one of several outputs;
/// they are copied together once, row by row.
///
/// Lifetime: a container given by name is not copied where layout and memory space allow (see `host_tensor`). It has to
/// outlive the dataset and all that is made from it, and to stay as it is during `fit`, which reads rows one step
/// ahead. A temporary, or `std::move(x)`, is owned by the dataset.
///
/// \param x, y           (samples, extents...), class indices (samples): xtensor containers or expressions, Kokkos
/// Views, HostTensors, or ranges such as std::vector.
/// \param sample_weight  (samples), by which each sample's loss counts.
/// Compile-time errors: other arguments, such as a pointer, nested vectors or values in braces.
/// \throws ShapeError if the numbers of samples differ.
template <SampleArrays XArray, SampleArrays YArray, TensorLike WArray>
auto from_tensor_slices(XArray&& x, YArray&& y, WArray&& sample_weight);

/// Dataset whose samples weigh 1 each. The arrays have to outlive it, unless they are temporaries.
/// \throws ShapeError if the numbers of samples differ.
template <SampleArrays XArray, SampleArrays YArray>
auto from_tensor_slices(XArray&& x, YArray&& y);

/// Dataset without targets, for `predict`: x (samples, extents...). The array has to outlive it, unless it is a
/// temporary.
template <SampleArrays XArray>
auto from_tensor_slices(XArray&& x);

namespace detail {

template <class W>
HostTensor<double> as_weights(HostTensor<W> weight) {
  if constexpr (std::is_same_v<W, double>) {
    return weight;
  } else {
    NewHostTensor<double> converted(weight.extents, weight.origin);
    std::transform(weight.data, weight.data + weight.size(), converted.memory.get(),
                   [](W value) { return static_cast<double>(value); });
    return converted.tensor;
  }
}

template <class X, class Y>
Dataset<X, Y> tensor_dataset(SampleRows<X> x, SampleRows<Y> y, HostTensor<double> weight) {
  SampleDescription description{x.extents(), y.extents()};
  description.x_parts = std::move(x.parts);
  description.y_parts = std::move(y.parts);
  if (!x.tensor.origin.empty()) description.x_name = x.tensor.origin;
  if (!y.tensor.origin.empty()) description.y_name = y.tensor.origin;
  return {std::make_shared<TensorSource<X, Y>>(std::move(x.tensor), std::move(y.tensor), std::move(weight)),
          std::move(description)};
}

}  // namespace detail

template <SampleArrays XArray, SampleArrays YArray, TensorLike WArray>
auto from_tensor_slices(XArray&& x, YArray&& y, WArray&& sample_weight) {
  return detail::tensor_dataset(sample_rows(std::forward<XArray>(x)), sample_rows(std::forward<YArray>(y)),
                                detail::as_weights(host_tensor(std::forward<WArray>(sample_weight))));
}

template <SampleArrays XArray, SampleArrays YArray>
auto from_tensor_slices(XArray&& x, YArray&& y) {
  return detail::tensor_dataset(sample_rows(std::forward<XArray>(x)), sample_rows(std::forward<YArray>(y)), {});
}

template <SampleArrays XArray>
auto from_tensor_slices(XArray&& x) {
  auto samples = sample_rows(std::forward<XArray>(x));
  SampleRows<std::int32_t> none;
  none.tensor.extents = {samples.tensor.samples(), 0};
  return detail::tensor_dataset(std::move(samples), std::move(none), {});
}

namespace detail {

template <class...>
inline constexpr bool are_slices = false;
template <SampleArrays X>
inline constexpr bool are_slices<X> = true;
template <SampleArrays X, SampleArrays Y>
inline constexpr bool are_slices<X, Y> = true;
template <SampleArrays X, SampleArrays Y, TensorLike W>
inline constexpr bool are_slices<X, Y, W> = true;

/// True if all arguments are arrays; does not compile if one is not.
template <class... Given>
consteval bool require_arrays() {
  constexpr bool arrays = sizeof...(Given) > 0 && (SampleArrays<Given> && ...);
  static_assert(arrays,
                "trireme: samples and targets are arrays: xtensor containers or expressions, Kokkos Views, "
                "HostTensors, or contiguous ranges of numbers such as std::vector<float>; those of several inputs are "
                "std::tie(a, b)");
  return arrays;
}

/// Values in braces, which have no type, however deep they are.
struct Braces {
  Braces(std::initializer_list<Braces>);
  template <class V>
  Braces(V const&);
};

}  // namespace detail

// Overloads for the calls that fit none above: they do not compile, and say what fits.
/// \cond
template <class... Given>
  requires(!detail::are_slices<Given...>)
Dataset<float, std::int32_t> from_tensor_slices(Given&&...) {
  if constexpr (detail::require_arrays<Given...>())
    static_assert(detail::are_slices<Given...>,
                  "trireme: from_tensor_slices takes x, y and at most one array of weights");
  return {nullptr, {}};
}
// Braces in the place of an array, from which no type is deduced.
template <class... Given>
Dataset<float, std::int32_t> from_tensor_slices(detail::Braces const&, Given&&...) {
  static_assert(detail::require_arrays<detail::Braces, Given...>());
  return {nullptr, {}};
}
template <class X, class... Given>
Dataset<float, std::int32_t> from_tensor_slices(X&&, detail::Braces const&, Given&&...) {
  static_assert(detail::require_arrays<X, detail::Braces, Given...>());
  return {nullptr, {}};
}
template <class... Given>
Dataset<float, std::int32_t> from_tensor_slices(detail::Braces const&, detail::Braces const&, Given&&...) {
  static_assert(detail::require_arrays<detail::Braces, Given...>());
  return {nullptr, {}};
}
/// \endcond

}  // namespace trireme::data
