/// Conv2D and MaxPooling2D in a program.
#pragma once

#include <cstddef>

#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/pjrt/lowering/activations.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/windows.hpp"

namespace trireme::lowering {

template <std::size_t Filters, std::size_t KH, std::size_t KW, class... Options>
struct LayerLowering<Conv2D<Filters, KH, KW, Options...>> {
  using Layer = Conv2D<Filters, KH, KW, Options...>;
  using A = typename Layer::A;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    static_assert(require_activation_lowering<A>());
    Builder& b = trace.builder();
    auto const in = without_front(x.extents);
    Window2D const window = layer.window(in);
    constexpr std::size_t channels = static_extent<E, 3>;
    auto const kernel = trace.parameter(Extents<KH, KW, channels, Filters>{{KH, KW, in[2], layer.filters}}, {3, 2});
    auto const from = trace.aligned(x, kernel, {{2, 3}});
    auto z = convolution(b, window, from, kernel.value, with_rows(x.extents[0], layer.output(in)));
    z = trace.aligned(z, kernel, {{3, 3}});
    Parameter<T, Extents<Filters>> bias{};
    if constexpr (Layer::use_bias) {
      bias = trace.parameter(Extents<Filters>{{layer.filters}}, 0);
      z = b.add(z, b.along_back(bias.value, z.extents));
    }
    auto const y = ActivationLowering<A>::forward(b, layer.activation, z);
    return Lowered{y, [=](Trace<T>& t, decltype(y) const& dy) {
                     Builder& back = t.builder();
                     auto const dz = ActivationLowering<A>::backward(back, layer.activation, z, y, dy);
                     t.set_gradient(kernel, convolution_kernel_gradient(back, window, from, dz, kernel.value.extents));
                     if constexpr (Layer::use_bias) t.set_gradient(bias, back.sum_to_back(dz));
                     auto const dx = convolution_input_gradient(back, window, kernel.value, dz, x.extents);
                     return t.aligned(dx, kernel, {{2, 3}});
                   }};
  }
};

template <std::size_t H, std::size_t W, class... Options>
struct LayerLowering<MaxPooling2D<H, W, Options...>> {
  using Layer = MaxPooling2D<H, W, Options...>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    auto const in = without_front(x.extents);
    Window2D const window =
        trireme::detail::window_2d<H, W, typename Layer::S, Dilation<1, 1>, Layer::same>("MaxPooling2D", in);
    bool const tiling = is_tiling(window);
    auto const out = with_rows(x.extents[0], layer.output(in));
    Builder& b = trace.builder();
    auto const y = tiling ? tiling_max_pool(b, window, x, out) : max_pool(b, window, x, out);
    return Lowered{y, [=](Trace<T>& t, decltype(y) const& dy) {
                     return tiling ? tiling_max_pool_gradient(t.builder(), window, x, y, dy)
                                   : max_pool_gradient(t.builder(), window, x, dy);
                   }};
  }
};

}  // namespace trireme::lowering
