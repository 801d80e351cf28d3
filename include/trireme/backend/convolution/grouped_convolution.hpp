/// Convolution with small kernels by all threads of a host: groups of samples, each by row products of one thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/row_convolution.hpp"
#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

/// Groups depend on the number of samples alone, and so do the sums of their kernel gradients.
template <class T>
class GroupedConvolution {
 public:
  /// True if each group can have a kernel gradient of its own in the cache, and lines fill register tiles.
  static constexpr bool fits(Window2D const& w, std::size_t filters) {
    return RowConvolution<T>::fits(w) && kernel_size(w, filters) * sizeof(T) <= (std::size_t{64} << 10) &&
           w.width.out >= 8;
  }
  static constexpr std::size_t workspace(Window2D const& w, std::size_t filters) {
    return aligned_bytes(most_groups * kernel_size(w, filters) * sizeof(T));
  }

  GroupedConvolution(Window2D const& w, std::size_t filters, Workspace workspace)
      : w_(w), filters_(filters), sums_(workspace.take<T>(most_groups * kernel_size(w, filters))) {}

  template <class Context>
  void forward(Context& context, std::size_t rows, T const* x, T const* kernel, T* y) const {
    std::size_t const groups = std::min(rows, most_groups);
    context.for_rows("trireme::convolution", groups, [&](std::size_t group) {
      std::size_t const begin = rows * group / groups, end = rows * (group + 1) / groups;
      of_thread().forward(end - begin, x + begin * w_.input_size(), kernel, y + begin * w_.positions() * filters_);
    });
  }

  /// kernel_gradient is overwritten; it and dx may be null.
  template <class Context>
  void backward(Context& context, std::size_t rows, T const* x, T const* kernel, T const* dy, T* kernel_gradient,
                T* dx) const {
    std::size_t const groups = std::min(rows, most_groups), size = kernel_size(w_, filters_);
    context.for_rows("trireme::convolution_backward", groups, [&](std::size_t group) {
      std::size_t const begin = rows * group / groups, end = rows * (group + 1) / groups;
      of_thread().backward(end - begin, x + begin * w_.input_size(), kernel, dy + begin * w_.positions() * filters_,
                           kernel_gradient ? sums_ + group * size : nullptr,
                           dx ? dx + begin * w_.input_size() : nullptr);
    });
    if (!kernel_gradient || groups == 0) return;
    std::size_t const filters = filters_;
    T const* const sums = sums_;
    context.for_rows("trireme::kernel_gradient", size / filters, [=](std::size_t row) {
      T* const total = kernel_gradient + row * filters;
      std::copy_n(sums + row * filters, filters, total);
      for (std::size_t group = 1; group < groups; ++group)
        for (std::size_t k = 0; k < filters; ++k) total[k] += sums[group * size + row * filters + k];
    });
  }

 private:
  static constexpr std::size_t most_groups = 16;
  static constexpr std::size_t kernel_size(Window2D const& w, std::size_t filters) {
    return w.taps() * w.channels * filters;
  }
  RowConvolution<T> of_thread() const {
    T* const memory = pack_buffer<T, 4>(RowConvolution<T>::workspace(w_, filters_) / sizeof(T));
    return {w_, filters_, Workspace(reinterpret_cast<std::byte*>(memory))};
  }

  Window2D w_;
  std::size_t filters_;
  T* sums_;
};

}  // namespace trireme::detail
