/// Datasets over arrays that every process holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "trireme/data/dataset.hpp"
#include "trireme/data/tensor_source.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::data {

/// Samples along the first axis of x and their targets along that of y; every process holds the same.
///
/// \param x, y           xtensor containers or expressions, Kokkos Views, HostTensors, or ranges such as std::vector;
///                       referenced where layout and memory space allow (see `host_tensor`): an lvalue container has to
///                       outlive the dataset and all that is made from it.
/// \param sample_weight  one number a sample.
/// \throws ShapeError if the numbers of samples differ.
template <TensorLike XArray, TensorLike YArray, TensorLike WArray>
auto from_tensor_slices(XArray&& x, YArray&& y, WArray&& sample_weight);

template <TensorLike XArray, TensorLike YArray>
auto from_tensor_slices(XArray&& x, YArray&& y);

/// Samples without targets, for `predict`.
template <TensorLike XArray>
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
Dataset<X, Y> tensor_dataset(HostTensor<X> x, HostTensor<Y> y, HostTensor<double> weight) {
  SampleDescription description{x.sample_extents(), y.sample_extents()};
  if (!x.origin.empty()) description.x_name = x.origin;
  if (!y.origin.empty()) description.y_name = y.origin;
  return {std::make_shared<TensorSource<X, Y>>(std::move(x), std::move(y), std::move(weight)), std::move(description)};
}

}  // namespace detail

template <TensorLike XArray, TensorLike YArray, TensorLike WArray>
auto from_tensor_slices(XArray&& x, YArray&& y, WArray&& sample_weight) {
  return detail::tensor_dataset(host_tensor(std::forward<XArray>(x)), host_tensor(std::forward<YArray>(y)),
                                detail::as_weights(host_tensor(std::forward<WArray>(sample_weight))));
}

template <TensorLike XArray, TensorLike YArray>
auto from_tensor_slices(XArray&& x, YArray&& y) {
  return detail::tensor_dataset(host_tensor(std::forward<XArray>(x)), host_tensor(std::forward<YArray>(y)), {});
}

template <TensorLike XArray>
auto from_tensor_slices(XArray&& x) {
  auto samples = host_tensor(std::forward<XArray>(x));
  HostTensor<std::int32_t> none;
  none.extents = {samples.samples(), 0};
  return detail::tensor_dataset(std::move(samples), std::move(none), {});
}

}  // namespace trireme::data
