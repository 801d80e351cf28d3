/// UpSampling2D: enlarges (height, width, channels) by whole factors.
#pragma once

#include <cstddef>
#include <string_view>

#include <Kokkos_Macros.hpp>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Option of UpSampling2D: linear interpolation between the centres of pixels, along both axes; edges are clamped.
struct Bilinear {};

namespace kernels {

/// Inputs between which an output lies along one axis; they are one and the same at an edge and at a centre.
template <class T>
struct LinearSource {
  std::size_t low, high;
  T weight;  ///< of `high`; that of `low` is the rest to 1
};

/// Of output `out` along an axis of `size` inputs. The output's centre is (out + 1/2) / Factor - 1/2 in inputs.
template <class T, std::size_t Factor>
KOKKOS_INLINE_FUNCTION LinearSource<T> linear_source(std::size_t out, std::size_t size) {
  // In units of 1 / (2 Factor), from one input before the first one on: an integer, and not negative.
  std::size_t const at = 2 * out + 1 + Factor, next = at / (2 * Factor), rest = at % (2 * Factor);
  std::size_t const high = rest == 0 ? next - 1 : next;
  return {next == 0 ? 0 : next - 1, high < size ? high : size - 1, static_cast<T>(rest) / static_cast<T>(2 * Factor)};
}

/// Outputs that an input contributes to along one axis: `linear_taps<Factor>` from the one at
/// in * Factor - Factor / 2 on, as far as they exist.
template <std::size_t Factor>
inline constexpr std::size_t linear_taps = 2 * Factor - Factor % 2;

/// Weight of input `in` in the `tap`-th of these outputs.
template <class T, std::size_t Factor>
KOKKOS_INLINE_FUNCTION T linear_weight(std::size_t in, std::size_t size, std::size_t tap) {
  std::size_t const at = 2 * tap + 1 + Factor % 2;  // in units of 1 / (2 Factor), from the input before this one on
  bool const clamped = at < 2 * Factor ? in == 0 : in + 1 == size;
  return clamped ? T{1} : static_cast<T>(at < 2 * Factor ? at : 4 * Factor - at) / static_cast<T>(2 * Factor);
}

/// One channel of an output position: the pixel that covers it.
template <class T, std::size_t H, std::size_t W>
struct UpSampleNearest {
  std::size_t width, channels;  ///< of the input
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t position, std::size_t c) const {
    std::size_t const column = position % (width * W), line = position / (width * W);
    y[position * channels + c] = x[(line / H * width + column / W) * channels + c];
  }
};

/// One channel of an input pixel: the sum of the gradients of the H x W outputs that it covers.
template <class T, std::size_t H, std::size_t W>
struct UpSampleNearestGradient {
  std::size_t width, channels;  ///< of the input
  T const* dy;
  T* dx;
  KOKKOS_FUNCTION void operator()(std::size_t pixel, std::size_t c) const {
    std::size_t const column = pixel % width, line = pixel / width;
    T const* const first = dy + (line * H * width + column) * W * channels + c;
    T sum{0};
    for (std::size_t u = 0; u < H; ++u)
      for (std::size_t v = 0; v < W; ++v) sum += first[(u * width * W + v) * channels];
    dx[pixel * channels + c] = sum;
  }
};

/// One channel of an output position, between four pixels.
template <class T, std::size_t H, std::size_t W>
struct UpSampleBilinear {
  std::size_t height, width, channels;  ///< of the input
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t position, std::size_t c) const {
    std::size_t const column = position % (width * W), line = position / (width * W);
    std::size_t const row = line / (height * H);
    auto const down = linear_source<T, H>(line % (height * H), height);
    auto const across = linear_source<T, W>(column, width);
    T const* const upper = x + (row * height + down.low) * width * channels + c;
    T const* const lower = x + (row * height + down.high) * width * channels + c;
    std::size_t const left = across.low * channels, right = across.high * channels;
    T const top = upper[left] + across.weight * (upper[right] - upper[left]);
    T const bottom = lower[left] + across.weight * (lower[right] - lower[left]);
    y[position * channels + c] = top + down.weight * (bottom - top);
  }
};

/// All channels of an input pixel: its share of the gradients of the outputs around it.
template <class T, std::size_t H, std::size_t W>
struct UpSampleBilinearGradient {
  std::size_t height, width, channels;  ///< of the input
  T const* dy;
  T* dx;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t pixel, Lanes const& lanes) const {
    std::size_t const column = pixel % width, line = pixel / width, i = line % height, row = line / height;
    T* const out = dx + pixel * channels;
    lanes.for_each(channels, [&](std::size_t c) { out[c] = T{0}; });
    for (std::size_t u = 0; u < linear_taps<H>; ++u) {
      std::size_t const top = i * H + u - H / 2;
      if (top >= height * H) continue;
      for (std::size_t v = 0; v < linear_taps<W>; ++v) {
        std::size_t const left = column * W + v - W / 2;
        if (left >= width * W) continue;
        T const weight = linear_weight<T, H>(i, height, u) * linear_weight<T, W>(column, width, v);
        T const* const in = dy + ((row * height * H + top) * width * W + left) * channels;
        lanes.for_each(channels, [&](std::size_t c) { out[c] += weight * in[c]; });
      }
    }
  }
};

}  // namespace kernels

/// Enlargement by whole factors, each pixel H x W times: `UpSampling2D<2, 2>{}`; with Bilinear interpolated between
/// pixels.
///
/// Input (height, width, channels), output (height H, width W, channels); no parameters. Bilinear takes pixels for
/// squares, whose centres lie at half numbers, as resizing in Keras and TensorFlow 2 does. Backward gathers, so that
/// its sums have one order. Source: Keras `UpSampling2D`.
///
/// Compile-time errors: H or W is 0; an option that is not Bilinear; an input without exactly three extents.
template <std::size_t H, std::size_t W, class... Options>
struct UpSampling2D {
  static_assert(H > 0 && W > 0, "trireme: the factors of UpSampling2D are at least 1 x 1, not 0");
  using Chosen = detail::ChosenOptions<detail::Takes<Bilinear>, Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: UpSampling2D takes as option Bilinear, once at most");
  static constexpr std::size_t height = H, width = W;
  static constexpr bool bilinear = Chosen::template has<Bilinear>;
  static constexpr std::string_view class_name = "UpSampling2D";

  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(In::rank == 3, "trireme: UpSampling2D takes (height, width, channels)");
    constexpr auto rows = map_extent(static_extent<In, 0>, [](std::size_t n) { return n * H; });
    constexpr auto columns = map_extent(static_extent<In, 1>, [](std::size_t n) { return n * W; });
    return Extents<rows, columns, static_extent<In, 2>>{{in[0] * H, in[1] * W, in[2]}};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    std::size_t const positions = f.rows * in[0] * H * in[1] * W;
    if constexpr (bilinear)
      context.for_each("trireme::up_sample_bilinear", positions, in[2],
                       kernels::UpSampleBilinear<T, H, W>{in[0], in[1], in[2], f.x, f.y});
    else
      context.for_each("trireme::up_sample", positions, in[2],
                       kernels::UpSampleNearest<T, H, W>{in[1], in[2], f.x, f.y});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (!b.dx) return;
    std::size_t const pixels = b.rows * in[0] * in[1];
    if constexpr (bilinear)
      context.for_rows("trireme::up_sample_bilinear_gradient", pixels, in[2],
                       kernels::UpSampleBilinearGradient<T, H, W>{in[0], in[1], in[2], b.dy, b.dx});
    else
      context.for_each("trireme::up_sample_gradient", pixels, in[2],
                       kernels::UpSampleNearestGradient<T, H, W>{in[1], in[2], b.dy, b.dx});
  }
};
template <class... Values>
UpSampling2D(Values const&...) -> UpSampling2D<detail::size_from_values<Values...>(), 1>;

}  // namespace trireme
