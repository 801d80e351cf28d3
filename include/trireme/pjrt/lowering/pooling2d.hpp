/// Average pooling and UpSampling2D in a program.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "trireme/backend/simd/math.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/layers/up_sampling2d.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/traced.hpp"
#include "trireme/pjrt/lowering/windows.hpp"

namespace trireme::lowering {

template <std::size_t H, std::size_t W, class... Options>
struct LayerLowering<AveragePooling2D<H, W, Options...>> {
  using Layer = AveragePooling2D<H, W, Options...>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    auto const in = without_front(x.extents);
    Window2D const window =
        trireme::detail::window_2d<H, W, typename Layer::S, Dilation<1, 1>, Layer::same>("AveragePooling2D", in);
    Builder& b = trace.builder();
    auto const out = with_rows(x.extents[0], layer.output(in));
    // Elements of each window that lie inside the image.
    Extents<dynamic, dynamic> const windows{{out[1], out[2]}};
    Extents<dynamic, dynamic, dynamic, dynamic> const one{{1, in[0], in[1], 1}}, one_out{{1, out[1], out[2], 1}};
    auto const counts =
        b.repeat(b.reshape(window_sums(b, window, b.constant<T>(T{1}, one), one_out), windows), out, {1, 2});
    auto const y = b.divide(window_sums(b, window, x, out), counts);
    return Lowered{y, [=, extents = x.extents](Trace<T>& t, decltype(y) const& dy) {
                     Builder& back = t.builder();
                     return window_sums_gradient(back, window, back.divide(dy, counts), extents);
                   }};
  }
};

template <>
struct LayerLowering<GlobalAveragePooling2D> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, GlobalAveragePooling2D const& layer, Value<T, E> const& x) {
    auto const in = without_front(x.extents);
    T const positions = static_cast<T>(in[0] * in[1]);
    Builder& b = trace.builder();
    auto const sums = b.sum_over(x, with_rows(x.extents[0], layer.output(in)), {1, 2});
    auto const y = b.divide(sums, b.constant_like<T>(positions, sums));
    return Lowered{y, [positions, extents = x.extents](Trace<T>& t, decltype(y) const& dy) {
                     Builder& back = t.builder();
                     return back.repeat(back.divide(dy, back.constant_like<T>(positions, dy)), extents, {0, 3});
                   }};
  }
};

template <std::size_t H, std::size_t W, class... Options>
struct LayerLowering<UpSampling2D<H, W, Options...>> {
  using Layer = UpSampling2D<H, W, Options...>;
  using Four = Extents<dynamic, dynamic, dynamic, dynamic>;
  using Six = Extents<dynamic, dynamic, dynamic, dynamic, dynamic, dynamic>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    Builder& b = trace.builder();
    auto const in = x.extents;
    auto const out = with_rows(in[0], layer.output(without_front(in)));
    if constexpr (Layer::bilinear) {
      auto const down = weights<T, H>(b, in[1]), across = weights<T, W>(b, in[2]);
      auto const y = typed(along_both(b, x, down, across, 1), out);
      return Lowered{y, [=](Trace<T>& t, decltype(y) const& dy) {
                       return typed(along_both(t.builder(), dy, down, across, 0), in);
                     }};
    } else {
      Six const pixels{{in[0], in[1], H, in[2], W, in[3]}};
      auto const y = b.reshape(b.repeat(x, pixels, {0, 1, 3, 5}), out);
      return Lowered{y, [=](Trace<T>& t, decltype(y) const& dy) {
                       return t.builder().sum_over(t.builder().reshape(dy, pixels), in, {2, 4});
                     }};
    }
  }

 private:
  /// Weights of the inputs along an axis in each output, (outputs, inputs): 1 minus the distance, as far as it is below
  /// 1, of the input from where the output lies among the inputs.
  template <class T, std::size_t Factor>
  static Value<T, Extents<dynamic, dynamic>> weights(Builder& b, std::size_t inputs) {
    using Number = Traced<T, Extents<dynamic, dynamic>>;
    Extents<dynamic, dynamic> const extents{{inputs * Factor, inputs}};
    Number const out(b, b.iota<T>(0, extents)), in(b, b.iota<T>(1, extents));
    Number const last(static_cast<T>(inputs - 1)), factor(static_cast<T>(Factor));
    Number const at = (Number(2) * out + Number(1) - factor) / (Number(2) * factor);
    Number const inside = math::where(at < Number(0), Number(0), math::where(at > last, last, at));
    Number const weight = Number(1) - fabs(inside - in);
    return math::where(weight < Number(0), Number(0), weight).in(b, extents);
  }
  /// Height and width of x times weights, summed over their axis `summed`.
  template <class T, class E>
  static Value<T, Four> along_both(Builder& b, Value<T, E> const& x, Value<T, Extents<dynamic, dynamic>> const& down,
                                   Value<T, Extents<dynamic, dynamic>> const& across, std::size_t summed) {
    std::size_t const height = down.extents[1 - summed], width = across.extents[1 - summed];
    Four const first{{x.extents[0], x.extents[2], x.extents[3], height}};
    Four const second{{x.extents[0], x.extents[3], height, width}};
    auto const rows = b.products(x, down, first, {}, {std::vector<std::size_t>{1}, {summed}});
    auto const both = b.products(rows, across, second, {}, {std::vector<std::size_t>{1}, {summed}});
    return b.transpose(both, Four{{x.extents[0], height, width, x.extents[3]}}, {0, 2, 3, 1});
  }
};

}  // namespace trireme::lowering
