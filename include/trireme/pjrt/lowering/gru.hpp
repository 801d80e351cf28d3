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

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    using Steps = detail::TimeSteps<T>;
    using Any = typename Steps::Any;
    Builder& b = trace.builder();
    std::size_t const rows = x.extents[0], time = x.extents[1], units = layer.units;
    auto const kernel = trace.parameter(Two{{x.extents[2], 3 * units}});
    auto const recurrent = trace.parameter(Two{{units, 3 * units}});
    auto const of_gates = b.columns(recurrent.value, 0, Two{{units, 2 * units}});
    auto const of_candidate = b.columns(recurrent.value, 2 * units, Two{{units, units}});
    Steps const s(b, time, rows, Layer::backwards);
    auto z = b.product(s.by_step(x), kernel.value);
    auto const bias = take_bias(trace, units);
    auto const add_bias = [&](auto const& to, std::size_t begin, std::size_t count) {
      if constexpr (Layer::use_bias) {
        auto const flat = b.reshape(bias.value, Extents<dynamic>{{(Layer::reset_after ? 6 : 3) * units}});
        auto const part = b.slice(flat, Extents<dynamic>{{count}}, {{begin, begin + count, 1}});
        return b.add(to, b.along_back(part, to.extents));
      } else {
        static_cast<void>(begin), static_cast<void>(count);
        return to;
      }
    };
    z = add_bias(z, 0, 3 * units);
    // The state; then of each step its gates, the product or the state that the reset gate acts on, and the state
    // before it; outputs.
    std::vector<Any> carried{Steps::any(s.zeros(units)), Steps::any(z)};
    for (int i = 0; i < 3; ++i) carried.push_back(Steps::any(s.zero_steps(units)));
    auto const& r = layer.recurrent_activation;
    auto const after = repeat_steps(b, time, carried, [&](auto const& step, std::vector<Any> v) {
      auto const t = s.time_of(step);
      auto const state = s.as_matrix(v[0]), inputs = s.step(v[1], t);
      auto gates = b.product(state, of_gates);
      if constexpr (Layer::reset_after) gates = add_bias(gates, 3 * units, 2 * units);
      auto const sum = [&](std::size_t gate) { return b.add(s.gate(inputs, gate, units), s.gate(gates, gate, units)); };
      auto const update = R::forward(b, r, sum(0)), reset = R::forward(b, r, sum(1));
      auto inner = state, product = state;
      if constexpr (Layer::reset_after) {
        inner = add_bias(b.product(state, of_candidate), 5 * units, units);
        product = b.multiply(reset, inner);
      } else {
        inner = b.multiply(reset, state);
        product = b.product(inner, of_candidate);
      }
      auto const candidate = A::forward(b, layer.activation, b.add(s.gate(inputs, 2, units), product));
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
  using Bias = std::conditional_t<Layer::reset_after, Two, Extents<dynamic>>;

  template <class T>
  static Parameter<T, Bias> take_bias(Trace<T>& trace, std::size_t units) {
    if constexpr (!Layer::use_bias)
      return {};
    else if constexpr (Layer::reset_after)
      return trace.parameter(Two{{2, 3 * units}});
    else
      return trace.parameter(Extents<dynamic>{{3 * units}});
  }

  template <class T, class X, class Saved, class Y>
  static X backward(Trace<T>& trace, Layer const& layer, X const& x, Parameter<T, Two> const& kernel,
                    Parameter<T, Two> const& recurrent, Parameter<T, Bias> const& bias, Saved const& saved,
                    Y const& dy) {
    using Steps = detail::TimeSteps<T>;
    using Any = typename Steps::Any;
    Builder& b = trace.builder();
    std::size_t const rows = x.extents[0], time = x.extents[1], units = layer.units;
    auto const of_gates = b.columns(recurrent.value, 0, Two{{units, 2 * units}});
    auto const of_candidate = b.columns(recurrent.value, 2 * units, Two{{units, units}});
    Steps const s(b, time, rows, Layer::backwards);
    Any outputs{}, state = Steps::any(s.zeros(units));
    if constexpr (Layer::sequences)
      outputs = Steps::any(s.by_step(dy));
    else
      state = Steps::any(typed(dy, s.matrix(units)));
    auto const& a = layer.activation;
    auto const& r = layer.recurrent_activation;
    // The gradient of the state after a step, those of all gates before their activations, and with the reset gate
    // behind the state's product those of that product.
    std::vector<Any> const carried{state, saved[1], Steps::any(s.zero_steps(Layer::reset_after ? units : 1))};
    auto const after = repeat_steps(b, time, carried, [&](auto const& index, std::vector<Any> v) {
      auto const step = s.from_the_end(index), t = s.time_of(step);
      auto dh = s.as_matrix(v[0]);
      if constexpr (Layer::sequences) dh = b.add(dh, s.step(outputs, step));
      auto const gates = s.step(v[1], t), before = s.step(saved[3], t), inner = s.step(saved[2], t);
      auto const update = s.gate(gates, 0, units), reset = s.gate(gates, 1, units), candidate = s.gate(gates, 2, units);
      auto const rest = b.subtract(b.constant_like<T>(T{1}, update), update);
      auto const d_update = R::backward(b, r, update, update, b.multiply(dh, b.subtract(before, candidate)));
      auto const d_candidate = A::backward(b, a, candidate, candidate, b.multiply(dh, rest));
      auto d_before = b.multiply(dh, update), d_reset = d_update;
      Any products = v[2];
      if constexpr (Layer::reset_after) {
        d_reset = R::backward(b, r, reset, reset, b.multiply(d_candidate, inner));
        auto const d_product = b.multiply(d_candidate, reset);
        d_before = b.add(d_before, b.product_transposed(d_product, of_candidate));
        products = s.set(v[2], t, d_product);
      } else {
        auto const d_inner = b.product_transposed(d_candidate, of_candidate);
        d_reset = R::backward(b, r, reset, reset, b.multiply(d_inner, before));
        d_before = b.add(d_before, b.multiply(d_inner, reset));
      }
      d_before = b.add(d_before, b.product_transposed(s.side_by_side(d_update, d_reset), of_gates));
      return std::vector<Any>{Steps::any(d_before), s.set(v[1], t, s.side_by_side(d_update, d_reset, d_candidate)),
                              products};
    });
    auto const dz = s.as_sequence(after[1]);
    trace.set_gradient(kernel, b.product_over_rows(s.by_step(x), dz));
    auto const d_gates = b.columns(dz, 0, s.sequence(2 * units));
    auto const d_candidates =
        Layer::reset_after ? s.as_sequence(after[2]) : b.columns(dz, 2 * units, s.sequence(units));
    auto const inner = s.as_sequence(saved[Layer::reset_after ? 3 : 2]);
    trace.set_gradient(
        recurrent, b.concatenate_back(recurrent.value.extents, b.product_over_rows(s.as_sequence(saved[3]), d_gates),
                                      b.product_over_rows(inner, d_candidates)));
    if constexpr (Layer::use_bias) {
      auto const of_inputs = b.sum_to_back(dz);
      if constexpr (Layer::reset_after) {
        auto const both = b.concatenate_back(Extents<dynamic>{{6 * units}}, of_inputs, b.sum_to_back(d_gates),
                                             b.sum_to_back(d_candidates));
        trace.set_gradient(bias, b.reshape(both, bias.value.extents));
      } else {
        trace.set_gradient(bias, of_inputs);
      }
    }
    return typed(s.by_row(Steps::any(b.product_transposed(dz, kernel.value))), x.extents);
  }
};

}  // namespace trireme::lowering
