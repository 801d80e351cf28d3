/// MaxPooling2D, AveragePooling2D and GlobalAveragePooling2D over (height, width, channels).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/layers/pooling_kernels.hpp"
#include "trireme/layers/window_output.hpp"

namespace trireme {

/// Largest value of each window of H x W positions, for each channel: `MaxPooling2D<2, 2>{}`. The stride is the window
/// unless Strides<h, w> is given; also Same.
///
/// Input (H0, W0, C) as height, width and channels, output (H', W', C); H' and W' follow from window and stride as in
/// Conv2D, and Same pads with nothing that could be the largest. No parameters. Among equal values the first gets the
/// gradient. Source: Keras `MaxPooling2D`.
///
/// Compile-time errors: H or W is 0, or H * W exceeds 65535; another option, or two of one kind; an input without
/// exactly three extents; with Valid a static extent that is smaller than the window.
/// \throws ShapeError from `compile` if a window does not fit an input with `dynamic` extents.
template <std::size_t H, std::size_t W, class... Options>
struct MaxPooling2D {
  static_assert(H > 0 && W > 0, "trireme: MaxPooling2D has a window of at least 1 x 1, not 0");
  using Chosen = detail::ChosenOptions<detail::Takes<detail::AnyPadding, detail::AnyStrides>, Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: MaxPooling2D takes as options Same or Valid and Strides<h, w>, each once at most");
  using S = typename Chosen::template get<detail::AnyStrides, Strides<H, W>>;
  static constexpr std::size_t height = H, width = W;
  static constexpr bool same = std::is_same_v<typename Chosen::template get<detail::AnyPadding, Valid>, Same>;
  static constexpr std::string_view class_name = "MaxPooling2D";
  enum Saved : std::size_t { taps };  ///< of each output, the tap of its window that was largest
  static_assert(H * W <= 65535, "trireme: a pooling window has at most 65535 taps");

  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    return detail::window_output<H, W, S, Dilation<1, 1>, same, static_extent<In, 2>>("MaxPooling2D", in, in[2]);
  }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    return std::array{SavedTensor::of<std::uint16_t>(is_tiling(window(in)) ? 0 : rows * output(in).size())};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    Window2D const w = window(in);
    if (is_tiling(w)) {
      context.for_each("trireme::max_pool", f.rows * w.positions(), w.channels,
                       kernels::MaxPoolInside<T, H, W>{w, f.x, f.y});
    } else {
      context.for_rows("trireme::max_pool", f.rows * w.positions(), w.channels,
                       kernels::MaxPool<T>{w, f.x, f.y, saved_as<std::uint16_t>(f, taps)});
    }
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (!b.dx) return;
    Window2D const w = window(in);
    if (is_tiling(w)) {
      if (!covers_all(w)) context.for_each("trireme::clear", b.rows * in.size(), kernels::Clear<T>{b.dx});
      context.for_each("trireme::max_pool_gradient", b.rows * w.positions(), w.channels,
                       kernels::MaxPoolInsideGradient<T, H, W>{w, b.x, b.y, b.dy, b.dx});
    } else {
      context.for_rows("trireme::max_pool_gradient", b.rows * w.height.in * w.width.in, w.channels,
                       kernels::MaxPoolGradient<T>{w, b.dy, saved_as<std::uint16_t>(b, taps), b.dx});
    }
  }

 private:
  template <class In>
  constexpr Window2D window(In const& in) const {
    return detail::window_2d<H, W, S, Dilation<1, 1>, same>("MaxPooling2D", in);
  }
  /// Windows inside the image that do not overlap: which tap was largest is then found again from x and y.
  static constexpr bool is_tiling(Window2D const& w) {
    auto const inside = [](WindowAxis const& a) {
      return a.stride >= a.window && (a.out - 1) * a.stride + a.window <= a.in && a.padding == 0;
    };
    return inside(w.height) && inside(w.width);
  }
  static constexpr bool covers_all(Window2D const& w) {
    return S::height == H && S::width == W && w.height.out * H == w.height.in && w.width.out * W == w.width.in;
  }
};
template <class... Values>
MaxPooling2D(Values const&...) -> MaxPooling2D<detail::size_from_values<Values...>(), 1>;

/// Mean of each window of H x W positions, for each channel: `AveragePooling2D<2, 2>{}`. Options and output extents are
/// those of MaxPooling2D.
///
/// Input (H0, W0, C) as height, width and channels, output (H', W', C); no parameters. With Same the mean is over the
/// positions inside the input, without the padding. Source: Keras `AveragePooling2D`.
///
/// Compile-time errors: H or W is 0; another option, or two of one kind; an input without exactly three extents; with
/// Valid a static extent that is smaller than the window.
/// \throws ShapeError from `compile` if a window does not fit an input with `dynamic` extents.
template <std::size_t H, std::size_t W, class... Options>
struct AveragePooling2D {
  static_assert(H > 0 && W > 0, "trireme: AveragePooling2D has a window of at least 1 x 1, not 0");
  using Chosen = detail::ChosenOptions<detail::Takes<detail::AnyPadding, detail::AnyStrides>, Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: AveragePooling2D takes as options Same or Valid and Strides<h, w>, each once at most");
  using S = typename Chosen::template get<detail::AnyStrides, Strides<H, W>>;
  static constexpr bool same = std::is_same_v<typename Chosen::template get<detail::AnyPadding, Valid>, Same>;
  static constexpr std::string_view class_name = "AveragePooling2D";

  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    return detail::window_output<H, W, S, Dilation<1, 1>, same, static_extent<In, 2>>("AveragePooling2D", in, in[2]);
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    Window2D const w = detail::window_2d<H, W, S, Dilation<1, 1>, same>("AveragePooling2D", in);
    context.for_rows("trireme::average_pool", f.rows * w.positions(), w.channels, kernels::AveragePool<T>{w, f.x, f.y});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (!b.dx) return;
    Window2D const w = detail::window_2d<H, W, S, Dilation<1, 1>, same>("AveragePooling2D", in);
    context.for_rows("trireme::average_pool_gradient", b.rows * w.height.in * w.width.in, w.channels,
                     kernels::AveragePoolGradient<T>{w, b.dy, b.dx});
  }
};
template <class... Values>
AveragePooling2D(Values const&...) -> AveragePooling2D<detail::size_from_values<Values...>(), 1>;

/// Mean of each channel over all positions: (height, width, channels) becomes (channels).
///
/// No parameters. Source: Keras `GlobalAveragePooling2D`. Compile-time errors: an input without exactly three extents.
struct GlobalAveragePooling2D {
  static constexpr std::string_view class_name = "GlobalAveragePooling2D";
  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(In::rank == 3, "trireme: GlobalAveragePooling2D takes (height, width, channels)");
    return Extents<static_extent<In, 2>>{{in[2]}};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    context.for_rows("trireme::global_mean", f.rows, in[2], kernels::GlobalMean<T>{f.x, f.y, in[0] * in[1], in[2]});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx)
      context.for_each("trireme::global_mean_gradient", b.rows * in[0] * in[1], in[2],
                       kernels::GlobalMeanGradient<T>{b.dy, b.dx, in[0] * in[1], in[2]});
  }
};

}  // namespace trireme
