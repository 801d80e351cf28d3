/// Operations over windows of (rows, height, width, channels): convolution with its two gradients, and max-pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "trireme/backend/convolution/window.hpp"
#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/builder.hpp"

namespace trireme::lowering {

namespace detail {

/// Zeros before and after an axis; a negative number cuts off elements.
struct Padding {
  std::ptrdiff_t low, high;
};
constexpr std::ptrdiff_t as_signed(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
/// Length of an axis with n elements that are `step` apart.
constexpr std::ptrdiff_t reach(std::size_t n, std::size_t step) { return as_signed((n - 1) * step + 1); }

constexpr Padding forward_padding(WindowAxis const& a) {
  std::ptrdiff_t const high =
      reach(a.out, a.stride) + reach(a.window, a.dilation) - 1 - as_signed(a.in) - as_signed(a.padding);
  return {as_signed(a.padding), std::max<std::ptrdiff_t>(0, high)};
}
/// Padding of the input as the output's gradient slides over it, to as many places as the window has taps.
constexpr Padding kernel_padding(WindowAxis const& a) {
  std::ptrdiff_t const low = as_signed(a.padding);
  return {low, reach(a.window, a.dilation) - 1 + reach(a.out, a.stride) - as_signed(a.in) - low};
}
/// Padding of the output's gradient as the reversed window slides over it, to as many places as the input has elements.
constexpr Padding input_padding(WindowAxis const& a) {
  std::ptrdiff_t const low = reach(a.window, a.dilation) - 1 - as_signed(a.padding);
  return {low, as_signed(a.in) - reach(a.out, a.stride) - low + reach(a.window, a.dilation) - 1};
}

struct Steps {
  std::size_t height, width;
};

inline std::string convolution_text(Builder const& b, std::size_t left, std::size_t right, std::string_view axes,
                                    Steps stride, Padding height, Padding width, Steps left_dilation,
                                    Steps right_dilation) {
  return formatted(
      "stablehlo.convolution(%v{}, %v{}) dim_numbers = {}, window = {{stride = [{}, {}], pad = [[{}, {}], [{}, {}]], "
      "lhs_dilate = [{}, {}], rhs_dilate = [{}, {}], reverse = [false, false]}} {{batch_group_count = 1 : i64, "
      "feature_group_count = 1 : i64, precision_config = [#stablehlo<precision {}>, #stablehlo<precision {}>]}}",
      left, right, axes, stride.height, stride.width, height.low, height.high, width.low, width.high,
      left_dilation.height, left_dilation.width, right_dilation.height, right_dilation.width, b.operand_precision(),
      b.operand_precision());
}
template <class A, class B>
std::string operands(A const& a, B const& b) {
  return formatted("({}, {})", type_text(a), type_text(b));
}
constexpr Steps strides(Window2D const& w) { return {w.height.stride, w.width.stride}; }
constexpr Steps dilations(Window2D const& w) { return {w.height.dilation, w.width.dilation}; }

}  // namespace detail

/// y (rows, H', W', filters) from x (rows, H, W, channels) and kernel (KH, KW, channels, filters).
template <class Y, class T, class X, class K>
Value<T, Y> convolution(Builder& b, Window2D const& w, Value<T, X> const& x, Value<T, K> const& kernel, Y const& y) {
  auto const text = detail::convolution_text(b, x.id, kernel.id, "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                                             detail::strides(w), detail::forward_padding(w.height),
                                             detail::forward_padding(w.width), {1, 1}, detail::dilations(w));
  return b.emit_call<T>(y, text, detail::operands(x, kernel));
}

/// The gradient of the kernel.
template <class K, class T, class X, class Y>
Value<T, K> convolution_kernel_gradient(Builder& b, Window2D const& w, Value<T, X> const& x, Value<T, Y> const& dy,
                                        K const& kernel) {
  auto const text = detail::convolution_text(b, x.id, dy.id, "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                                             detail::dilations(w), detail::kernel_padding(w.height),
                                             detail::kernel_padding(w.width), {1, 1}, detail::strides(w));
  return b.emit_call<T>(kernel, text, detail::operands(x, dy));
}

/// The gradient of the input.
template <class X, class T, class K, class Y>
Value<T, X> convolution_input_gradient(Builder& b, Window2D const& w, Value<T, K> const& kernel, Value<T, Y> const& dy,
                                       X const& x) {
  auto const turned = b.emit_call<T>(
      kernel.extents, formatted("\"stablehlo.reverse\"(%v{}) <{{dimensions = array<i64: 0, 1>}}>", kernel.id),
      formatted("({})", type_text(kernel)));
  auto const text = detail::convolution_text(b, dy.id, turned.id, "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]", {1, 1},
                                             detail::input_padding(w.height), detail::input_padding(w.width),
                                             detail::strides(w), detail::dilations(w));
  return b.emit_call<T>(x, text, detail::operands(dy, turned));
}

namespace detail {
inline std::string window_attributes(Window2D const& w) {
  Padding const h = forward_padding(w.height), v = forward_padding(w.width);
  return formatted(
      "padding = dense<[[0, 0], [{}, {}], [{}, {}], [0, 0]]> : tensor<4x2xi64>, "
      "window_dimensions = array<i64: 1, {}, {}, 1>, window_strides = array<i64: 1, {}, {}, 1>",
      h.low, h.high, v.low, v.high, w.height.window, w.width.window, w.height.stride, w.width.stride);
}
}  // namespace detail

/// The largest element of each window.
template <class Y, class T, class X>
Value<T, Y> max_pool(Builder& b, Window2D const& w, Value<T, X> const& x, Y const& y) {
  auto const lowest = b.constant<T>(-std::numeric_limits<T>::infinity());
  std::string const scalar = type_text(lowest);
  return b.emit_call<T>(y,
                        formatted("\"stablehlo.reduce_window\"(%v{}, %v{}) <{{{}}}> ({{\n"
                                  "  ^bb0(%l: {}, %r: {}):\n"
                                  "    %m = stablehlo.maximum %l, %r : {}\n"
                                  "    stablehlo.return %m : {}\n  }})",
                                  x.id, lowest.id, detail::window_attributes(w), scalar, scalar, scalar, scalar),
                        detail::operands(x, lowest));
}

/// Gradient of max_pool: that of a window goes to the first of its largest elements.
template <class T, class X, class Y>
Value<T, X> max_pool_gradient(Builder& b, Window2D const& w, Value<T, X> const& x, Value<T, Y> const& dy) {
  auto const zero = b.constant<T>(T{0});
  std::string const scalar = type_text(zero);
  return b.emit_call<T>(x.extents,
                        formatted("\"stablehlo.select_and_scatter\"(%v{0}, %v{1}, %v{2}) <{{{3}}}> ({{\n"
                                  "  ^bb0(%l: {4}, %r: {4}):\n"
                                  "    %m = stablehlo.compare GE, %l, %r, FLOAT : ({4}, {4}) -> tensor<i1>\n"
                                  "    stablehlo.return %m : tensor<i1>\n  }}, {{\n"
                                  "  ^bb0(%l: {4}, %r: {4}):\n"
                                  "    %m = stablehlo.add %l, %r : {4}\n"
                                  "    stablehlo.return %m : {4}\n  }})",
                                  x.id, dy.id, zero.id, detail::window_attributes(w), scalar),
                        formatted("({}, {}, {})", type_text(x), type_text(dy), scalar));
}

namespace detail {
/// Sums over windows of the plane. `base`: distance of its elements, with zeros between them.
template <class Out, class T, class X>
Value<T, Out> sum_windows(Builder& b, Value<T, X> const& x, Out const& out, Steps window, Steps stride, Steps base,
                          Padding height, Padding width) {
  auto const zero = b.constant<T>(T{0});
  std::string const scalar = type_text(zero);
  return b.emit_call<T>(
      out,
      formatted("\"stablehlo.reduce_window\"(%v{}, %v{}) <{{padding = dense<[[0, 0], [{}, {}], [{}, {}], [0, 0]]> : "
                "tensor<4x2xi64>, window_dimensions = array<i64: 1, {}, {}, 1>, window_strides = array<i64: 1, {}, {}, "
                "1>, base_dilations = array<i64: 1, {}, {}, 1>}}> ({{\n"
                "  ^bb0(%l: {}, %r: {}):\n"
                "    %s = stablehlo.add %l, %r : {}\n"
                "    stablehlo.return %s : {}\n  }})",
                x.id, zero.id, height.low, height.high, width.low, width.high, window.height, window.width,
                stride.height, stride.width, base.height, base.width, scalar, scalar, scalar, scalar),
      operands(x, zero));
}
}  // namespace detail

/// The sum of each window's elements inside the image.
template <class Y, class T, class X>
Value<T, Y> window_sums(Builder& b, Window2D const& w, Value<T, X> const& x, Y const& y) {
  return detail::sum_windows(b, x, y, {w.height.window, w.width.window}, detail::strides(w), {1, 1},
                             detail::forward_padding(w.height), detail::forward_padding(w.width));
}
/// Gradient of window_sums: each element gets those of the windows that it is in.
template <class X, class T, class Y>
Value<T, X> window_sums_gradient(Builder& b, Window2D const& w, Value<T, Y> const& dy, X const& x) {
  return detail::sum_windows(b, dy, x, {w.height.window, w.width.window}, {1, 1}, detail::strides(w),
                             detail::input_padding(w.height), detail::input_padding(w.width));
}

// Windows that lie inside the image and do not overlap are a few strided slices of it: elementwise operations, which
// compilers fuse, while a selection and scatter is a loop over windows on most devices.

/// True if the windows lie inside the image and do not overlap.
constexpr bool is_tiling(Window2D const& w) {
  auto const inside = [](WindowAxis const& a) {
    return a.stride >= a.window && a.padding == 0 && (a.out - 1) * a.stride + a.window <= a.in;
  };
  return inside(w.height) && inside(w.width);
}

namespace detail {
/// The elements that are tap (u, v) of their window: (rows, H', W', channels).
template <class Y, class T, class X>
Value<T, Y> tap(Builder& b, Window2D const& w, Value<T, X> const& x, Y const& y, std::size_t u, std::size_t v) {
  auto const range = [](WindowAxis const& a, std::size_t first) {
    return std::array{first, first + (a.out - 1) * a.stride + 1, a.stride};
  };
  return b.slice(x, y, {{0, x.extents[0], 1}, range(w.height, u), range(w.width, v), {0, x.extents[3], 1}});
}
/// Inverse of `tap`: the elements in their places, and zeros elsewhere.
template <class X, class T, class Y>
Value<T, X> untap(Builder& b, Window2D const& w, Value<T, Y> const& y, X const& x, std::size_t u, std::size_t v) {
  auto const zero = b.constant<T>(T{0});
  auto const behind = [](WindowAxis const& a, std::size_t first) { return a.in - first - (a.out - 1) * a.stride - 1; };
  return b.emit_call<T>(
      x,
      formatted("stablehlo.pad %v{}, %v{}, low = [0, {}, {}, 0], high = [0, {}, {}, 0], "
                "interior = [0, {}, {}, 0]",
                y.id, zero.id, u, v, behind(w.height, u), behind(w.width, v), w.height.stride - 1, w.width.stride - 1),
      operands(y, zero));
}
template <class F>
void for_each_tap(Window2D const& w, F const& f) {
  for (std::size_t u = 0; u < w.height.window; ++u)
    for (std::size_t v = 0; v < w.width.window; ++v) f(u, v);
}
}  // namespace detail

template <class Y, class T, class X>
Value<T, Y> tiling_max_pool(Builder& b, Window2D const& w, Value<T, X> const& x, Y const& y) {
  auto largest = detail::tap(b, w, x, y, 0, 0);
  detail::for_each_tap(w, [&](std::size_t u, std::size_t v) {
    if (u + v > 0) largest = b.binary<"maximum">(largest, detail::tap(b, w, x, y, u, v));
  });
  return largest;
}

/// The first tap that holds the largest value gets the gradient.
template <class T, class X, class Y>
Value<T, X> tiling_max_pool_gradient(Builder& b, Window2D const& w, Value<T, X> const& x, Value<T, Y> const& y,
                                     Value<T, Y> const& dy) {
  auto left = dy;
  auto const zero = b.constant_like<T>(T{0}, dy);
  auto dx = b.constant_like<T>(T{0}, x);
  detail::for_each_tap(w, [&](std::size_t u, std::size_t v) {
    auto const here = b.compare<"EQ">(detail::tap(b, w, x, y.extents, u, v), y);
    dx = b.add(dx, detail::untap(b, w, b.select(here, left, zero), x.extents, u, v));
    left = b.select(here, zero, left);
  });
  return dx;
}

}  // namespace trireme::lowering
