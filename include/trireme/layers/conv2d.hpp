/// Conv2D: a bank of filters slid over (height, width, channels).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "trireme/backend/convolution/convolution.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/layers/window_output.hpp"

namespace trireme {

/// Two-dimensional convolution, y = activation(kernel * x + b), as in Keras without mirroring the kernel:
/// `Conv2D<32, 3, 3, ReLU, Same, Strides<2, 2>>{}`; also Dilation<h, w> and NoBias.
///
/// Input (H, W, C) as height, width and channels, output (H', W', Filters); parameters kernel (KH, KW, C, Filters) and,
/// without NoBias, bias b (Filters). With Same H' = ceil(H / stride), otherwise (Valid) H' = floor((H - (KH - 1)
/// dilation - 1) / stride) + 1; W' likewise. Designated initializers name the members in this order. Source: Keras
/// `Conv2D`.
///
/// Compile-time errors: Filters, KH or KW is 0; another option, or two of one kind; an input without exactly three
/// extents; with Valid a static extent that is smaller than the window.
/// \throws ShapeError from `compile` if a window does not fit an input with `dynamic` extents.
/// \throws ValueError from `compile` if Filters is `dynamic` and `filters` is 0.
template <std::size_t Filters, std::size_t KH, std::size_t KW, class... Options>
struct Conv2D {
  static_assert(Filters > 0 && KH > 0 && KW > 0, "trireme: Conv2D has at least one filter, of at least 1 x 1, not 0");
  using Chosen = detail::ChosenOptions<
      detail::Takes<detail::AnyActivation, detail::AnyPadding, detail::AnyStrides, detail::AnyDilation, NoBias>,
      Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: Conv2D takes as options an activation, Same or Valid, Strides<h, w>, Dilation<h, w> and "
                "NoBias, each once at most");
  using A = typename Chosen::template get<detail::AnyActivation, Linear>;
  using S = typename Chosen::template get<detail::AnyStrides, Strides<1, 1>>;
  using D = typename Chosen::template get<detail::AnyDilation, Dilation<1, 1>>;
  static constexpr std::size_t kernel_height = KH, kernel_width = KW;
  static constexpr bool same = std::is_same_v<typename Chosen::template get<detail::AnyPadding, Valid>, Same>;
  static constexpr bool use_bias = !Chosen::template has<NoBias>;
  static constexpr std::string_view class_name = "Conv2D";
  enum Parameters : std::size_t { kernel, bias };
  enum Saved : std::size_t { preactivation, workspace };

  Extent<Filters> filters{};
  A activation{};
  Initializer kernel_initializer = GlorotUniform{};
  Initializer bias_initializer = Zeros{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  LayerName name{};

  void config(Config& c) const {
    c("filters", std::size_t{filters}, intervals::positive_count);
    c("activation", activation);
  }

  template <class In>
  constexpr auto output(In const& in) const {
    return detail::window_output<KH, KW, S, D, same, Filters>("Conv2D", in, filters);
  }

  template <class In>
  constexpr auto parameters(In const& in) const {
    ParameterShape const weights{"kernel", {KH, KW, in[2], filters}};
    if constexpr (use_bias)
      return std::array{weights, ParameterShape{"bias", {filters}}};
    else
      return std::array{weights};
  }
  Initializer initializer(std::size_t i) const { return i == kernel ? kernel_initializer : bias_initializer; }
  Regularizer regularizer(std::size_t i) const { return i == kernel ? kernel_regularizer : bias_regularizer; }

  /// Operations of forward, for one sample.
  template <class In>
  constexpr std::size_t flops(In const& in) const {
    return (2 * KH * KW * in[2] + 1) * output(in).size();
  }

  using final_activation = A;
  constexpr auto without_activation() const {
    return Conv2D<Filters, KH, KW, detail::without_activation_t<Options>...>{.filters = filters};
  }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    return std::array{SavedTensor{needs_preactivation<A>() ? rows * output(in).size() : 0},
                      SavedTensor::of<std::byte>(convolution_workspace<T, Context>(window(in), filters, rows))};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    Window2D const w = window(in);
    T* const z = needs_preactivation<A>() ? f.saved[preactivation] : f.y;
    Workspace const space(saved_as<std::byte>(f, workspace));
    T const* const weights = f.parameters[kernel];
    if constexpr (!use_bias && std::is_same_v<A, Linear>) {
      convolution(context, w, filters, f.rows, f.x, weights, z, space);
    } else if constexpr (is_host_context<Context>) {
      convolution(context, w, filters, f.rows, f.x, weights, z, space);
      kernels::bias_activation(context, activation, f.rows * w.positions(), filters, f.parameters[bias], z, f.y);
    } else {
      if constexpr (detail::HasVendorConvolution<Context>)
        if (detail::vendor_convolution(context, w, filters, f.rows, f.x, weights, z))
          return kernels::bias_activation(context, activation, f.rows * w.positions(), filters, f.parameters[bias], z,
                                          f.y);
      detail::unfolded_convolution(context, w, filters, f.rows, f.x, weights, z, space, [&](Product<T> const& product) {
        kernels::product_bias_activation(context, activation, product, f.parameters[bias], f.y + (product.c - z));
      });
    }
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    Window2D const w = window(in);
    std::size_t const positions = b.rows * w.positions();
    T const* const z = needs_preactivation<A>() ? b.saved[preactivation] : b.y;
    bool summed = false;
    if constexpr (!std::is_same_v<A, Linear>)
      summed = kernels::activation_and_bias_gradient(context, activation, positions, filters, z, b.y, b.dy, b.dy,
                                                     b.gradients[bias]);
    if (!summed) b.gradients[bias].column_sums(context, "trireme::conv2d_bias_gradient", positions, b.dy);
    convolution_backward(context, w, filters, b.rows, b.x, b.parameters[kernel], b.dy, b.gradients[kernel], b.dx,
                         Workspace(saved_as<std::byte>(b, workspace)));
  }

  /// Window of the kernel over an input of these extents: padding, strides and positions.
  template <class In>
  constexpr Window2D window(In const& in) const {
    return detail::window_2d<KH, KW, S, D, same>("Conv2D", in);
  }
};
template <class... Values>
Conv2D(Values const&...) -> Conv2D<detail::size_from_values<Values...>(), 1, 1>;

}  // namespace trireme
