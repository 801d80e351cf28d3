/// A convolution and the max-pooling behind it as one layer, for a thread that has its rows: values that pooling drops
/// are never written, and backward touches only the largest ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/backend/convolution/pooled_convolution.hpp"
#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/layers/pooling2d.hpp"

namespace trireme {

/// Conv2D and MaxPooling2D as one layer: input (H, W, C), output and parameters those of the two. Results are those of
/// the two layers, to rounding: among equal values the first gets the gradient. One difference remains: an input that
/// is not a number and that no largest value depends on leaves the kernel's gradient alone.
template <class Conv, class Pool>
struct ConvPool {
  using composite = void;  ///< of two layers: names, parameters and keys of random numbers stay theirs
  static constexpr std::uint32_t leaf_count = 2;

  Conv convolution{};
  Pool pooling{};

  template <class In>
  constexpr auto output(In const& in) const {
    return pooling.output(convolution.output(in));
  }
  /// Number of parameters, those of the convolution.
  template <class T, class In>
  constexpr std::size_t parameter_elements(In const& in) const {
    return detail::parameter_elements<T>(convolution, in);
  }

  /// Bytes that `rows` rows keep between forward and backward, and that the kernels need.
  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    using Kernels = KernelsFor<T, In>;
    return aligned_bytes(rows * output(in).size() * sizeof(typename Kernels::Tap)) +
           Kernels::workspace(convolution.window(in), convolution.filters);
  }

  template <class Context, class In, class T>
  void forward(Context&, In const& in, ForwardPass<T> const& f) const {
    using Kernels = KernelsFor<T, In>;
    Window2D const w = convolution.window(in);
    auto const parameters = detail::layer_tensors(convolution.parameters(in), f.parameters);
    Workspace workspace(f.workspace);
    auto* const taps = workspace.take<typename Kernels::Tap>(f.rows * output(in).size());
    Kernels(w, convolution.filters, workspace)
        .forward(convolution.activation, f.rows, f.x.block(), parameters[Conv::kernel], parameters[Conv::bias], f.y,
                 taps);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    using Kernels = KernelsFor<T, In>;
    Window2D const w = convolution.window(in);
    auto const parameters = detail::layer_tensors(convolution.parameters(in), b.parameters);
    auto const gradients = detail::layer_gradients(convolution.parameters(in), b.gradients, b.sink);
    std::size_t const positions = b.rows * output(in).size() / convolution.filters;
    Workspace workspace(b.workspace);
    auto const* const taps = workspace.take<typename Kernels::Tap>(positions * convolution.filters);
    kernels::activation_gradient(context, convolution.activation, positions, convolution.filters, b.y, b.y, b.dy, b.dy);
    gradients[Conv::bias].column_sums(context, "trireme::conv2d_bias_gradient", positions, b.dy);
    Kernels(w, convolution.filters, workspace)
        .backward(b.rows, b.x.block(), parameters[Conv::kernel], b.dy, taps, gradients[Conv::kernel].values(), b.dx);
  }

 private:
  template <class T, class In>
  using KernelsFor = detail::PooledConvolution<T, Conv::kernel_height, Conv::kernel_width, static_extent<In, 2>,
                                               Conv::D::height, Pool::height, Pool::width>;
};

namespace detail {

template <class A, class B>
inline constexpr bool is_conv_pool = false;
/// Windows of pooling side by side, each position of the convolution next to the other.
template <std::size_t F, std::size_t KH, std::size_t KW, class... C, std::size_t H, std::size_t W, class... P>
inline constexpr bool is_conv_pool<Conv2D<F, KH, KW, C...>, MaxPooling2D<H, W, P...>> = [] {
  using Conv = Conv2D<F, KH, KW, C...>;
  using Pool = MaxPooling2D<H, W, P...>;
  return CommutesWithMax<typename Conv::A> && Conv::S::height == 1 && Conv::S::width == 1 &&
         (Conv::D::width == 1 || KW == 1) && !Pool::same && Pool::S::height == H && Pool::S::width == W;
}();

}  // namespace detail

/// True if two neighbours run as one ConvPool under a context.
template <class Context, class A, class B>
inline constexpr bool fuses = Context::owns_rows && detail::has_simd && detail::is_conv_pool<A, B>;

}  // namespace trireme
