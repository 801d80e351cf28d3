/// LSTM in a program: short sequences step after step, longer ones as loops.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layers/lstm.hpp"
#include "trireme/pjrt/lowering/activations.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/loop.hpp"
#include "trireme/pjrt/lowering/time_steps.hpp"

namespace trireme::lowering {

template <std::size_t Units, class... Options>
struct LayerLowering<LSTM<Units, Options...>> {
  using Layer = LSTM<Units, Options...>;
  using A = ActivationLowering<typename Layer::A>;
  using R = ActivationLowering<typename Layer::R>;
  using Two = Extents<dynamic, dynamic>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    using Steps = detail::TimeSteps<T>;
    using Any = typename Steps::Any;
    Builder& b = trace.builder();
    std::size_t const rows = x.extents[0], time = x.extents[1], units = layer.units;
    auto const kernel = trace.parameter(Two{{x.extents[2], 4 * units}});
    auto const recurrent = trace.parameter(Two{{units, 4 * units}});
    Steps const s(b, time, rows, Layer::backwards);
    // The contribution of the inputs, for all steps at once.
    auto z = b.product(s.by_step(x), kernel.value);
    Parameter<T, Extents<dynamic>> bias{};
    if constexpr (Layer::use_bias) {
      bias = trace.parameter(Extents<dynamic>{{4 * units}});
      z = b.add(z, b.along_back(bias.value, z.extents));
    }
    // State and cell; then of each step its gates, the cell after it, and the cell and the state before it; outputs.
    std::vector<Any> carried{Steps::any(s.zeros(units)), Steps::any(s.zeros(units)), Steps::any(z)};
    for (int i = 0; i < 4; ++i) carried.push_back(Steps::any(s.zero_steps(units)));
    auto const after = repeat_steps(b, time, carried, [&](auto const& step, std::vector<Any> v) {
      auto const t = s.time_of(step);
      auto const state = s.as_matrix(v[0]), cell = s.as_matrix(v[1]);
      auto const gates = b.add(s.step(v[2], t), b.product(state, recurrent.value));
      auto const in = R::forward(b, layer.recurrent_activation, s.gate(gates, 0, units));
      auto const forget = R::forward(b, layer.recurrent_activation, s.gate(gates, 1, units));
      auto const candidate = A::forward(b, layer.activation, s.gate(gates, 2, units));
      auto const out = R::forward(b, layer.recurrent_activation, s.gate(gates, 3, units));
      auto const c = b.add(b.multiply(forget, cell), b.multiply(in, candidate));
      auto const h = b.multiply(out, A::forward(b, layer.activation, c));
      return std::vector<Any>{Steps::any(h),
                              Steps::any(c),
                              s.set(v[2], t, s.side_by_side(in, forget, candidate, out)),
                              s.set(v[3], t, c),
                              s.set(v[4], t, cell),
                              s.set(v[5], t, state),
                              Layer::sequences ? s.set(v[6], step, h) : v[6]};
    });
    auto const out = with_rows(rows, layer.output(without_front(x.extents)));
    auto const y = typed(Layer::sequences ? Steps::any(s.by_row(after[6])) : after[0], out);
    return Lowered{y, [=](Trace<T>& t, decltype(y) const& dy) {
                     return backward(t, layer, x, kernel, recurrent, bias, after, dy);
                   }};
  }

 private:
  template <class T, class X, class Saved, class Y>
  static X backward(Trace<T>& trace, Layer const& layer, X const& x, Parameter<T, Two> const& kernel,
                    Parameter<T, Two> const& recurrent, Parameter<T, Extents<dynamic>> const& bias, Saved const& saved,
                    Y const& dy) {
    using Steps = detail::TimeSteps<T>;
    using Any = typename Steps::Any;
    Builder& b = trace.builder();
    std::size_t const rows = x.extents[0], time = x.extents[1], units = layer.units;
    Steps const s(b, time, rows, Layer::backwards);
    Any outputs{}, state = Steps::any(s.zeros(units));
    if constexpr (Layer::sequences)
      outputs = Steps::any(s.by_step(dy));
    else
      state = Steps::any(typed(dy, s.matrix(units)));
    // Gradients of state and cell after a step, and of all gates before their activations.
    std::vector<Any> const carried{state, Steps::any(s.zeros(units)), saved[2]};
    auto const after = repeat_steps(b, time, carried, [&](auto const& index, std::vector<Any> v) {
      auto const step = s.from_the_end(index), t = s.time_of(step);
      auto dh = s.as_matrix(v[0]);
      if constexpr (Layer::sequences) dh = b.add(dh, s.step(outputs, step));
      auto const gates = s.step(v[2], t);
      auto const in = s.gate(gates, 0, units), forget = s.gate(gates, 1, units), candidate = s.gate(gates, 2, units),
                 out = s.gate(gates, 3, units);
      auto const squashed = A::forward(b, layer.activation, s.step(saved[3], t));
      auto const through = A::backward(b, layer.activation, squashed, squashed, b.multiply(dh, out));
      auto const dc = b.add(s.as_matrix(v[1]), through);
      auto const& r = layer.recurrent_activation;
      auto const d = s.side_by_side(R::backward(b, r, in, in, b.multiply(dc, candidate)),
                                    R::backward(b, r, forget, forget, b.multiply(dc, s.step(saved[4], t))),
                                    A::backward(b, layer.activation, candidate, candidate, b.multiply(dc, in)),
                                    R::backward(b, r, out, out, b.multiply(dh, squashed)));
      return std::vector<Any>{Steps::any(b.product_transposed(d, recurrent.value)), Steps::any(b.multiply(dc, forget)),
                              s.set(v[2], t, d)};
    });
    auto const dz = s.as_sequence(after[2]);
    trace.set_gradient(kernel, b.product_over_rows(s.by_step(x), dz));
    trace.set_gradient(recurrent, b.product_over_rows(s.as_sequence(saved[5]), dz));
    if constexpr (Layer::use_bias) trace.set_gradient(bias, b.sum_to_back(dz));
    return typed(s.by_row(Steps::any(b.product_transposed(dz, kernel.value))), x.extents);
  }
};

}  // namespace trireme::lowering
