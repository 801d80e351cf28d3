/// GRU in a program: short sequences step after step, longer ones as loops.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "trireme/layers/gru.hpp"
#include "trireme/pjrt/lowering/activations.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/loop.hpp"
#include "trireme/pjrt/lowering/time_steps.hpp"

namespace trireme::lowering {

template <std::size_t Units, class... Options>
struct LayerLowering<GRU<Units, Options...>> {
  using Layer = GRU<Units, Options...>;
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
    auto const kernel = trace.parameter(Three{{x.extents[2], 3, units}}, {2, 0});
    auto const recurrent = trace.parameter(Three{{units, 3, units}}, 2);
    Steps const s(b, time, rows, Layer::backwards);
    auto const of_gates = s.of_gates(recurrent.value, 0, 2), of_candidate = s.of_gates(recurrent.value, 2, 1);
    auto z = s.product(trace.aligned(s.by_step(x), kernel, {{0, 2}}), kernel.value);
    z = trace.aligned(z, kernel, {{1, 2}, {2, 3}});
    auto const bias = take_bias(trace, units);
    auto const add_bias = [&](auto const& to, std::size_t begin, std::size_t count) {
      if constexpr (Layer::use_bias) {
        auto const all = b.reshape(bias.value, Two{{Layer::reset_after ? 6 : 3, units}});
        auto const part = b.slice(all, Two{{count, units}}, {{begin, begin + count, 1}, {0, units, 1}});
        constexpr std::size_t rank = decltype(to.extents)::rank;
        return b.add(to, b.repeat(part, to.extents, {rank - 2, rank - 1}));
      } else {
        static_cast<void>(begin), static_cast<void>(count);
        return to;
      }
    };
    z = add_bias(z, 0, 3);
    // The state; then of each step its gates, the product or the state that the reset gate acts on, and the state
    // before it; outputs.
    std::vector<Any> carried{Steps::any(s.zeros(units)), Steps::any(z)};
    for (int i = 0; i < 3; ++i) carried.push_back(Steps::any(s.zero_steps(units)));
    auto const& r = layer.recurrent_activation;
    auto const after = repeat_steps(b, time, carried, [&](auto const& step, std::vector<Any> v) {
      auto const t = s.time_of(step);
      auto const state = s.as_matrix(v[0]);
      auto const inputs = s.gates_step(v[1], t);
      auto const whole_state = trace.aligned(state, recurrent, {});
      auto gates = s.product(whole_state, of_gates);
      if constexpr (Layer::reset_after) gates = add_bias(gates, 3, 2);
      auto const sum = [&](std::size_t gate) { return b.add(s.gate(inputs, gate), s.gate(gates, gate)); };
      auto const update = R::forward(b, r, sum(0)), reset = R::forward(b, r, sum(1));
      auto inner = state, product = state;
      if constexpr (Layer::reset_after) {
        inner = s.gate(add_bias(s.product(whole_state, of_candidate), 5, 1), 0);
        product = b.multiply(reset, inner);
      } else {
        inner = b.multiply(reset, state);
        product = s.gate(s.product(trace.aligned(inner, recurrent, {}), of_candidate), 0);
      }
      auto const candidate = A::forward(b, layer.activation, b.add(s.gate(inputs, 2), product));
      auto const rest = b.subtract(b.constant_like<T>(T{1}, update), update);
      auto const h = b.add(b.multiply(update, state), b.multiply(rest, candidate));
      return std::vector<Any>{Steps::any(h), s.set(v[1], t, s.side_by_side(update, reset, candidate)),
                              s.set(v[2], t, inner), s.set(v[3], t, state),
                              Layer::sequences ? s.set(v[4], step, h) : v[4]};
    });
    auto const out = with_rows(rows, layer.output(without_front(x.extents)));
    auto const y = typed(Layer::sequences ? Steps::any(s.by_row(after[4])) : after[0], out);
    return Lowered{y, [=](Trace<T>& t, decltype(y) const& dy) {
                     return backward(t, layer, x, kernel, recurrent, bias, after, dy);
                   }};
  }

 private:
  using Bias = std::conditional_t<Layer::reset_after, Three, Two>;

  template <class T>
  static Parameter<T, Bias> take_bias(Trace<T>& trace, std::size_t units) {
    if constexpr (!Layer::use_bias)
      return {};
    else if constexpr (Layer::reset_after)
      return trace.parameter(Three{{2, 3, units}}, 2);
    else
      return trace.parameter(Two{{3, units}}, 1);
  }

  template <class T, class X, class Saved, class Y>
  static X backward(Trace<T>& trace, Layer const& layer, X const& x, Parameter<T, Three> const& kernel,
                    Parameter<T, Three> const& recurrent, Parameter<T, Bias> const& bias, Saved const& saved,
                    Y const& dy) {
    using Steps = detail::TimeSteps<T>;
    using Any = typename Steps::Any;
    Builder& b = trace.builder();
    std::size_t const rows = x.extents[0], time = x.extents[1], units = layer.units;
    Steps const s(b, time, rows, Layer::backwards);
    auto const of_gates = s.of_gates(recurrent.value, 0, 2), of_candidate = s.of_gates(recurrent.value, 2, 1);
    Any outputs{}, state = Steps::any(s.zeros(units));
    if constexpr (Layer::sequences)
      outputs = Steps::any(s.by_step(dy));
    else
      state = Steps::any(typed(dy, s.matrix(units)));
    auto const of_states = [&](auto const& d, auto const& part) {
      return trace.aligned(s.product_transposed(d, part), recurrent, {});
    };
    auto const& a = layer.activation;
    auto const& r = layer.recurrent_activation;
    // The gradient of the state after a step, those of all gates before their activations, and with the reset gate
    // behind the state's product those of that product. None overwrites what a step reads: compilers would copy the
    // whole sequence at each step.
    std::vector<Any> const carried{state, Steps::any(s.zero_gate_steps(3, units)),
                                   Steps::any(s.zero_gate_steps(1, Layer::reset_after ? units : 1))};
    auto const after = repeat_steps(b, time, carried, [&](auto const& index, std::vector<Any> v) {
      auto const step = s.from_the_end(index), t = s.time_of(step);
      auto dh = s.as_matrix(v[0]);
      if constexpr (Layer::sequences) dh = b.add(dh, s.step(outputs, step));
      auto const gates = s.gates_step(saved[1], t);
      auto const before = s.step(saved[3], t), inner = s.step(saved[2], t);
      auto const update = s.gate(gates, 0), reset = s.gate(gates, 1), candidate = s.gate(gates, 2);
      auto const rest = b.subtract(b.constant_like<T>(T{1}, update), update);
      auto const d_update = R::backward(b, r, update, update, b.multiply(dh, b.subtract(before, candidate)));
      auto const d_candidate = A::backward(b, a, candidate, candidate, b.multiply(dh, rest));
      auto d_before = b.multiply(dh, update), d_reset = d_update;
      Any products = v[2];
      if constexpr (Layer::reset_after) {
        d_reset = R::backward(b, r, reset, reset, b.multiply(d_candidate, inner));
        auto const d_product = s.side_by_side(b.multiply(d_candidate, reset));
        d_before = b.add(d_before, of_states(d_product, of_candidate));
        products = s.set(v[2], t, d_product);
      } else {
        auto const d_inner = of_states(s.side_by_side(d_candidate), of_candidate);
        d_reset = R::backward(b, r, reset, reset, b.multiply(d_inner, before));
        d_before = b.add(d_before, b.multiply(d_inner, reset));
      }
      d_before = b.add(d_before, of_states(s.side_by_side(d_update, d_reset), of_gates));
      return std::vector<Any>{Steps::any(d_before), s.set(v[1], t, s.side_by_side(d_update, d_reset, d_candidate)),
                              products};
    });
    auto const dz = s.as_gate_sequence(after[1]);
    trace.set_gradient(kernel, s.product_over_rows(trace.aligned(s.by_step(x), kernel, {{0, 2}}), dz));
    auto const d_gates = s.some_gates(dz, 0, 2);
    auto const d_candidates = Layer::reset_after ? s.as_gate_sequence(after[2]) : s.some_gates(dz, 2, 1);
    auto const states = trace.aligned(s.as_sequence(saved[3]), recurrent, {});
    auto const inner = Layer::reset_after ? states : trace.aligned(s.as_sequence(saved[2]), recurrent, {});
    trace.set_gradient(recurrent, b.concatenate(recurrent.value.extents, 1, s.product_over_rows(states, d_gates),
                                                s.product_over_rows(inner, d_candidates)));
    if constexpr (Layer::use_bias) {
      auto const of_inputs = s.sum_over_rows(dz);
      if constexpr (Layer::reset_after) {
        auto const both =
            b.concatenate(Two{{6, units}}, 0, of_inputs, s.sum_over_rows(d_gates), s.sum_over_rows(d_candidates));
        trace.set_gradient(bias, b.reshape(both, bias.value.extents));
      } else {
        trace.set_gradient(bias, of_inputs);
      }
    }
    auto const dx = trace.aligned(s.product_transposed(dz, kernel.value), kernel, {{0, 2}});
    return typed(s.by_row(Steps::any(dx)), x.extents);
  }
};

}  // namespace trireme::lowering
