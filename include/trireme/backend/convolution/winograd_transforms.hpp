/// Winograd's transforms F(2 x 2, 3 x 3) of images, kernels, outputs and gradients, over vectors of channels.
///
/// A tile of 4 x 4 pixels d and a kernel g of 3 x 3 taps make 2 x 2 outputs A' [(G g G') * (B' d B)] A with 16
/// multiplications instead of 36. All coefficients are 0, 1, -1 or 1/2, so that errors stay those of a short sum. The
/// kernel's gradient is the same form transposed: G' [(A dy A') * (B' d B)] G.
/// Source: Lavin & Gray, Fast Algorithms for Convolutional Neural Networks, 2016.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

template <class T>
class WinogradTransforms {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;

 public:
  /// Elements of the transformed domain.
  static constexpr std::size_t points = 16;

  /// to[p] = B' d B for 4 x 4 pixels, each a row of `channels` numbers; results lie `distance` apart and are written in
  /// whole vectors.
  static void image(T const* const (&pixels)[16], std::size_t channels, T* to, std::size_t distance) {
    for_lanes(channels, [&](std::size_t c, auto count) {
      V d[4][4];
      TRIREME_UNROLL(16)
      for (std::size_t i = 0; i < 16; ++i) d[i / 4][i % 4] = load(pixels[i] + c, count);
      V v[4][4];
      both_axes(d, v, [](V const(&x)[4], V(&y)[4]) {
        y[0] = x[0] - x[2];
        y[1] = x[1] + x[2];
        y[2] = x[2] - x[1];
        y[3] = x[1] - x[3];
      });
      store_points(v, to + c, distance);
    });
  }

  /// to[p] = G g G' for 3 x 3 taps that lie `tap` apart, `count` filters of each; as `image`.
  static void kernel(T const* taps, std::size_t tap, std::size_t filters, T* to, std::size_t distance) {
    for_lanes(filters, [&](std::size_t k, auto count) {
      V g[3][3];
      TRIREME_UNROLL(9)
      for (std::size_t i = 0; i < 9; ++i) g[i / 3][i % 3] = load(taps + i * tap + k, count);
      V u[4][4];
      both_axes(g, u, [](V const(&x)[3], V(&y)[4]) {
        V const ends = x[0] + x[2];
        y[0] = x[0];
        y[1] = T{0.5} * (ends + x[1]);
        y[2] = T{0.5} * (ends - x[1]);
        y[3] = x[2];
      });
      store_points(u, to + k, distance);
    });
  }

  /// to[p] = A dy A' for 2 x 2 pixels of an output's gradient; as `image`.
  static void output_gradient(T const* const (&pixels)[4], std::size_t filters, T* to, std::size_t distance) {
    for_lanes(filters, [&](std::size_t k, auto count) {
      V d[2][2];
      TRIREME_UNROLL(4)
      for (std::size_t i = 0; i < 4; ++i) d[i / 2][i % 2] = load(pixels[i] + k, count);
      V v[4][4];
      both_axes(d, v, [](V const(&x)[2], V(&y)[4]) {
        y[0] = x[0];
        y[1] = x[0] + x[1];
        y[2] = x[0] - x[1];
        y[3] = -x[1];
      });
      store_points(v, to + k, distance);
    });
  }

  /// The 2 x 2 outputs A' m A, from sums that lie `distance` apart; those whose pixel is null are not written.
  static void output(T const* sums, std::size_t distance, std::size_t filters, T* const (&pixels)[4]) {
    for_lanes(filters, [&](std::size_t k, auto count) {
      V m[4][4];
      load_points(sums + k, distance, m);
      V y[2][2];
      both_axes(m, y, [](V const(&x)[4], V(&z)[2]) {
        z[0] = x[0] + (x[1] + x[2]);
        z[1] = (x[1] - x[2]) - x[3];
      });
      TRIREME_UNROLL(4)
      for (std::size_t i = 0; i < 4; ++i)
        if (pixels[i]) store(pixels[i] + k, y[i / 2][i % 2], count);
    });
  }

  /// The kernel's gradient G' m G: 3 x 3 taps that lie `tap` apart.
  static void kernel_gradient(T const* sums, std::size_t distance, std::size_t filters, T* taps, std::size_t tap) {
    for_lanes(filters, [&](std::size_t k, auto count) {
      V m[4][4];
      load_points(sums + k, distance, m);
      V g[3][3];
      both_axes(m, g, [](V const(&x)[4], V(&z)[3]) {
        V const half_sum = T{0.5} * (x[1] + x[2]);
        z[0] = x[0] + half_sum;
        z[1] = T{0.5} * (x[1] - x[2]);
        z[2] = half_sum + x[3];
      });
      TRIREME_UNROLL(9)
      for (std::size_t i = 0; i < 9; ++i) store(taps + i * tap + k, g[i / 3][i % 3], count);
    });
  }

 private:
  using Full = std::integral_constant<std::size_t, lanes>;

  /// f(first, count) for vector after vector of n numbers; the count is a constant for all but a last part.
  template <class F>
  [[gnu::always_inline]] static void for_lanes(std::size_t n, F const& f) {
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) f(i, Full{});
    if (i < n) f(i, n - i);
  }
  static V load(T const* p, Full) { return Vector::load(p); }
  static V load(T const* p, std::size_t count) { return Vector::load(p, count); }
  static void store(T* p, V v, Full) { Vector::store(p, v); }
  static void store(T* p, V v, std::size_t count) { Vector::store(p, v, count); }

  static void load_points(T const* from, std::size_t distance, V (&m)[4][4]) {
    TRIREME_UNROLL(16)
    for (std::size_t i = 0; i < points; ++i) m[i / 4][i % 4] = Vector::load(from + i * distance);
  }
  static void store_points(V const (&v)[4][4], T* to, std::size_t distance) {
    TRIREME_UNROLL(16)
    for (std::size_t i = 0; i < points; ++i) Vector::store(to + i * distance, v[i / 4][i % 4]);
  }

  /// y = M x M' for the matrix M (R, N) that `along` multiplies a vector by.
  template <std::size_t N, std::size_t R, class Along>
  [[gnu::always_inline]] static void both_axes(V const (&x)[N][N], V (&y)[R][R], Along const& along) {
    V half[R][N];
    TRIREME_UNROLL(4)
    for (std::size_t j = 0; j < N; ++j) {
      V column[N], result[R];
      TRIREME_UNROLL(4)
      for (std::size_t i = 0; i < N; ++i) column[i] = x[i][j];
      along(column, result);
      TRIREME_UNROLL(4)
      for (std::size_t i = 0; i < R; ++i) half[i][j] = result[i];
    }
    TRIREME_UNROLL(4)
    for (std::size_t i = 0; i < R; ++i) along(half[i], y[i]);
  }
};

}  // namespace trireme::detail
