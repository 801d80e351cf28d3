/// LSTM and GRU in a program: short sequences step after step, longer ones as loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "trireme/layers/gru.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/pjrt/lowering/activations.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/loop.hpp"

namespace trireme::lowering {

namespace detail {

/// Operations on the steps of a sequence, whose tensors have time in front: (time, rows, numbers).
template <class T>
class TimeSteps {
 public:
  using Any = Value<T, AnyExtents>;
  using Matrix = Value<T, Extents<dynamic, dynamic>>;
  using Sequence = Value<T, Extents<dynamic, dynamic, dynamic>>;
  using Index = Scalar<std::int32_t>;

  TimeSteps(Builder& b, std::size_t time, std::size_t rows, bool backwards)
      : b_(b), time_(time), rows_(rows), backwards_(backwards) {}

  Matrix zeros(std::size_t width) const { return b_.constant<T>(T{0}, matrix(width)); }
  Sequence zero_steps(std::size_t width) const { return b_.constant<T>(T{0}, sequence(width)); }
  Matrix step(Any const& sequence, Index const& t) const {
    return b_.at(sequence, t, matrix(sequence.extents.values[2]));
  }
  Any set(Any const& sequence, Index const& t, Matrix const& value) const { return b_.set_at(sequence, t, value); }

  /// Position in time of the input of a step, and the step before another in the direction of backward.
  Index time_of(Index const& step) const { return backwards_ ? from_the_end(step) : step; }
  Index from_the_end(Index const& step) const {
    return b_.subtract(b_.constant<std::int32_t>(static_cast<std::int32_t>(time_ - 1)), step);
  }

  /// (rows, time, numbers) to (time, rows, numbers) and back.
  template <class E>
  Sequence by_step(Value<T, E> const& x) const {
    return b_.transpose(x, sequence(x.extents.back()), {1, 0, 2});
  }
  Sequence by_row(Any const& x) const {
    return b_.transpose(x, Extents<dynamic, dynamic, dynamic>{{rows_, time_, x.extents.values[2]}}, {1, 0, 2});
  }
  /// Gate `gate` of gates side by side.
  Matrix gate(Matrix const& gates, std::size_t gate, std::size_t units) const {
    return b_.columns(gates, gate * units, matrix(units));
  }
  template <class... M>
  Matrix side_by_side(M const&... parts) const {
    return b_.concatenate_back(matrix((std::size_t{0} + ... + parts.extents[1])), parts...);
  }

  Extents<dynamic, dynamic> matrix(std::size_t width) const { return {{rows_, width}}; }
  Extents<dynamic, dynamic, dynamic> sequence(std::size_t width) const { return {{time_, rows_, width}}; }

  static Any any(Matrix const& x) { return {{x.extents.to_vector()}, x.id}; }
  static Any any(Sequence const& x) { return {{x.extents.to_vector()}, x.id}; }
  Matrix as_matrix(Any const& x) const { return typed(x, matrix(x.extents.values[1])); }
  Sequence as_sequence(Any const& x) const { return typed(x, sequence(x.extents.values[2])); }

 private:
  Builder& b_;
  std::size_t time_, rows_;
  bool backwards_;
};

}  // namespace detail

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
