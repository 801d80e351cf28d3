/// Datasets over arrays that every process holds.
#pragma once

#include <algorithm>
#include <cstdint>
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

}  // namespace trireme::data
