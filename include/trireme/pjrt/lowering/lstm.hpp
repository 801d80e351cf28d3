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
  using Three = Extents<dynamic, dynamic, dynamic>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    using Steps = detail::TimeSteps<T>;
    using Any = typename Steps::Any;
    Builder& b = trace.builder();
    std::size_t const rows = x.extents[0], time = x.extents[1], units = layer.units;
    // Devices divide the units, so that each has all gates of its own.
    auto const kernel = trace.parameter(Three{{x.extents[2], 4, units}}, {2, 0});
    auto const recurrent = trace.parameter(Three{{units, 4, units}}, 2);
    Steps const s(b, time, rows, Layer::backwards);
    // The contribution of the inputs, for all steps at once.
    auto z = s.product(trace.aligned(s.by_step(x), kernel, {{0, 2}}), kernel.value);
    z = trace.aligned(z, kernel, {{1, 2}, {2, 3}});
    Parameter<T, Two> bias{};
    if constexpr (Layer::use_bias) {
      bias = trace.parameter(Two{{4, units}}, 1);
      z = b.add(z, b.repeat(bias.value, z.extents, {2, 3}));
    }
    // State and cell; then of each step its gates, the cell after it, and the cell and the state before it; outputs.
    std::vector<Any> carried{Steps::any(s.zeros(units)), Steps::any(s.zeros(units)), Steps::any(z)};
    for (int i = 0; i < 4; ++i) carried.push_back(Steps::any(s.zero_steps(units)));
    auto const after = repeat_steps(b, time, carried, [&](auto const& step, std::vector<Any> v) {
      auto const t = s.time_of(step);
      auto const state = s.as_matrix(v[0]), cell = s.as_matrix(v[1]);
      auto const gates = b.add(s.gates_step(v[2], t), s.product(trace.aligned(state, recurrent, {}), recurrent.value));
      auto const in = R::forward(b, layer.recurrent_activation, s.gate(gates, 0));
      auto const forget = R::forward(b, layer.recurrent_activation, s.gate(gates, 1));
      auto const candidate = A::forward(b, layer.activation, s.gate(gates, 2));
      auto const out = R::forward(b, layer.recurrent_activation, s.gate(gates, 3));
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
  static X backward(Trace<T>& trace, Layer const& layer, X const& x, Parameter<T, Three> const& kernel,
                    Parameter<T, Three> const& recurrent, Parameter<T, Two> const& bias, Saved const& saved,
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
    // Gradients of state and cell after a step, and of all gates before their activations. These do not overwrite the
    // gates, which a step reads: compilers would copy the whole sequence at each step.
    std::vector<Any> const carried{state, Steps::any(s.zeros(units)), Steps::any(s.zero_gate_steps(4, units))};
    auto const after = repeat_steps(b, time, carried, [&](auto const& index, std::vector<Any> v) {
      auto const step = s.from_the_end(index), t = s.time_of(step);
      auto dh = s.as_matrix(v[0]);
      if constexpr (Layer::sequences) dh = b.add(dh, s.step(outputs, step));
      auto const gates = s.gates_step(saved[2], t);
      auto const in = s.gate(gates, 0), forget = s.gate(gates, 1), candidate = s.gate(gates, 2), out = s.gate(gates, 3);
      auto const squashed = A::forward(b, layer.activation, s.step(saved[3], t));
      auto const through = A::backward(b, layer.activation, squashed, squashed, b.multiply(dh, out));
      auto const dc = b.add(s.as_matrix(v[1]), through);
      auto const& r = layer.recurrent_activation;
      auto const d = s.side_by_side(R::backward(b, r, in, in, b.multiply(dc, candidate)),
                                    R::backward(b, r, forget, forget, b.multiply(dc, s.step(saved[4], t))),
                                    A::backward(b, layer.activation, candidate, candidate, b.multiply(dc, in)),
                                    R::backward(b, r, out, out, b.multiply(dh, squashed)));
      auto const before = trace.aligned(s.product_transposed(d, recurrent.value), recurrent, {});
      return std::vector<Any>{Steps::any(before), Steps::any(b.multiply(dc, forget)), s.set(v[2], t, d)};
    });
    auto const dz = s.as_gate_sequence(after[2]);
    trace.set_gradient(kernel, s.product_over_rows(trace.aligned(s.by_step(x), kernel, {{0, 2}}), dz));
    auto const states = trace.aligned(s.as_sequence(saved[5]), recurrent, {});
    trace.set_gradient(recurrent, s.product_over_rows(states, dz));
    if constexpr (Layer::use_bias) trace.set_gradient(bias, s.sum_over_rows(dz));
    auto const dx = trace.aligned(s.product_transposed(dz, kernel.value), kernel, {{0, 2}});
    return typed(s.by_row(Steps::any(dx)), x.extents);
  }
};

}  // namespace trireme::lowering
