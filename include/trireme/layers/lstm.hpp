/// LSTM: long short-term memory over a sequence.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/orthogonal.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/lstm_kernels.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Initializer of an LSTM's bias (4 Units): 1 for the forget gate, so that memories last at first, and 0 for the other
/// gates. Source: Keras `unit_forget_bias`.
struct UnitForgetBias {
  void operator()(std::span<double> out, InitializerContext const&) const {
    std::size_t const units = out.size() / 4;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i / units == 1 ? 1.0 : 0.0;
  }
};

/// Long short-term memory: `LSTM<64>{}`, `LSTM<64, ReturnSequences>{}`; also GoBackwards, NoBias, an activation A
/// (Tanh) and a RecurrentActivation R (Sigmoid).
///
/// Each step computes from its input x and the state h before it: i = R(x W_i + h U_i + b_i), f and o likewise; c = f c
/// + i A(x W_c + h U_c + b_c); h = o A(c). State h and cell c begin as 0 in each sample.
///
/// Input (time, features), output (Units) of the last step, or (time, Units) with ReturnSequences. Parameters kernel W
/// (features, 4 Units), recurrent kernel U (Units, 4 Units), bias b (4 Units), gates in Keras's order: input i, forget
/// f, cell, output o. With GoBackwards outputs are in the order of the steps, so reversed. Designated initializers name
/// the members in this order. Source: Hochreiter & Schmidhuber, Neural Computation, 1997; with the forget gate of Gers
/// et al., 2000; Keras `LSTM`.
///
/// Compile-time errors: Units is 0; another option, or two of one kind; an input other than (time, features); an
/// activation that is not elementwise, or whose derivative does not follow from its output.
/// \throws ValueError from `compile` if Units is `dynamic` and `units` is 0.
template <std::size_t Units, class... Options>
struct LSTM {
  static_assert(Units > 0, "trireme: LSTM has at least one unit, not 0");
  using Chosen = detail::ChosenOptions<
      detail::Takes<detail::AnyActivation, detail::AnyRecurrentActivation, ReturnSequences, GoBackwards, NoBias>,
      Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: LSTM takes as options an activation, RecurrentActivation<activation>, ReturnSequences, "
                "GoBackwards and NoBias, each once at most");
  using A = typename Chosen::template get<detail::AnyActivation, Tanh>;
  using R = typename Chosen::template get<detail::AnyRecurrentActivation, RecurrentActivation<Sigmoid>>::type;
  static constexpr bool use_bias = !Chosen::template has<NoBias>;
  static constexpr bool sequences = Chosen::template has<ReturnSequences>;
  static constexpr bool backwards = Chosen::template has<GoBackwards>;
  static constexpr std::string_view class_name = "LSTM";
  enum Parameters : std::size_t { kernel, recurrent_kernel, bias };
  /// (rows, time, …) each, the gates' activations, the cell, and the state before each step; and the gradients that
  /// backward carries from step to step.
  enum Saved : std::size_t { gates, cell, state_before, state_gradient, cell_gradient };
  static_assert(A::elementwise && R::elementwise && !needs_preactivation<A>() && !needs_preactivation<R>(),
                "trireme: an activation of LSTM is elementwise, with a derivative that follows from its output");

  Extent<Units> units{};
  A activation{};
  R recurrent_activation{};
  Initializer kernel_initializer = GlorotUniform{};
  Initializer recurrent_initializer = Orthogonal{};
  Initializer bias_initializer = UnitForgetBias{};  ///< another one is that of the forget gate too
  Regularizer kernel_regularizer{};
  Regularizer recurrent_regularizer{};
  Regularizer bias_regularizer{};
  LayerName name{};

  void config(Config& c) const {
    c("units", std::size_t{units}, intervals::positive_count);
    c("activation", activation);
    c("recurrent_activation", recurrent_activation);
  }

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(In::rank == 2, "trireme: LSTM takes (time, features)");
    if constexpr (sequences)
      return Extents<static_extent<In, 0>, Units>{{in[0], units}};
    else
      return Extents<Units>{{units}};
  }

  template <class In>
  constexpr auto parameters(In const& in) const {
    ParameterShape const input{"lstm_cell/kernel", {in[1], 4 * units}, "cell"};
    ParameterShape const recurrent{"lstm_cell/recurrent_kernel", {units, 4 * units}, "cell"};
    if constexpr (use_bias)
      return std::array{input, recurrent, ParameterShape{"lstm_cell/bias", {4 * units}, "cell"}};
    else
      return std::array{input, recurrent};
  }
  Initializer initializer(std::size_t i) const {
    return i == kernel ? kernel_initializer : i == recurrent_kernel ? recurrent_initializer : bias_initializer;
  }
  Regularizer regularizer(std::size_t i) const {
    return i == kernel ? kernel_regularizer : i == recurrent_kernel ? recurrent_regularizer : bias_regularizer;
  }

  /// Operations of forward, for one sample: a step's products of input and state, and for each unit 8 of the gates'
  /// biases and activations, 3 of the cell and 2 of the state.
  template <class In>
  constexpr std::size_t flops(In const& in) const {
    return in[0] * units * (4 * 2 * (in[1] + units) + 13);
  }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    std::size_t const steps = rows * in[0];
    return std::array{SavedTensor{steps * 4 * units}, SavedTensor{steps * units}, SavedTensor{steps * units},
                      SavedTensor{rows * units}, SavedTensor{rows * units}};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    std::size_t const time = in[0], width = 4 * units, stride = sequences ? time * units : std::size_t{units};
    T *const z = f.saved[gates], *const states = f.saved[state_before];
    // The contribution of the inputs, for all steps at once; each step adds that of the state before it.
    context.gemm(Product<T>{.m = f.rows * time,
                            .n = width,
                            .k = in[1],
                            .a = f.x,
                            .lda = in[1],
                            .b = f.parameters[kernel],
                            .ldb = width,
                            .c = z,
                            .ldc = width});
    context.for_each("trireme::lstm_first_state", f.rows, units,
                     kernels::ClearStrided<T>{states + time_of(0, time) * units, time * units});
    for (std::size_t step = 0; step < time; ++step) {
      std::size_t const t = time_of(step, time);
      if (step > 0)
        context.gemm(Product<T>{.m = f.rows,
                                .n = width,
                                .k = units,
                                .a = states + t * units,
                                .lda = time * units,
                                .b = f.parameters[recurrent_kernel],
                                .ldb = width,
                                .c = z + t * width,
                                .ldc = time * width,
                                .accumulate = true});
      bool const last = step + 1 == time;
      T* const y = sequences ? f.y + step * units : f.y;
      context.for_each(
          "trireme::lstm_step", f.rows, units,
          kernels::LstmStep<T, A, R, use_bias, sequences>{
              activation, recurrent_activation, units, time, f.parameters[bias], z + t * width,
              f.saved[cell] + t * units, cell_before(f, step, time),
              last ? y : states + time_of(step + 1, time) * units, last ? stride : time * units, y, stride});
    }
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    std::size_t const time = in[0], width = 4 * units, steps = b.rows * time;
    std::size_t const stride = sequences ? time * units : std::size_t{units};
    std::size_t const carried = b.rows * units;
    T* const z = b.saved[gates];
    if constexpr (sequences)
      context.for_each("trireme::lstm_last_state", carried, kernels::Clear<T>{b.saved[state_gradient]});
    else
      kernels::copy(context, carried, static_cast<T const*>(b.dy), b.saved[state_gradient]);
    context.for_each("trireme::lstm_last_cell", carried, kernels::Clear<T>{b.saved[cell_gradient]});
    for (std::size_t step = time; step-- > 0;) {
      std::size_t const t = time_of(step, time);
      context.for_each("trireme::lstm_step_gradient", b.rows, units,
                       kernels::LstmStepGradient<T, A, R, sequences>{
                           activation, recurrent_activation, units, time, z + t * width, b.saved[cell] + t * units,
                           cell_before(b, step, time), sequences ? b.dy + step * units : nullptr, stride,
                           b.saved[state_gradient], b.saved[cell_gradient]});
      if (step > 0)
        context.gemm(Product<T>{.m = b.rows,
                                .n = units,
                                .k = width,
                                .a = z + t * width,
                                .lda = time * width,
                                .b = b.parameters[recurrent_kernel],
                                .ldb = width,
                                .c = b.saved[state_gradient],
                                .ldc = units,
                                .transpose_b = true});
    }
    // The gates now hold the gradients of what their activations were applied to.
    if (b.dx)
      context.gemm(Product<T>{.m = steps,
                              .n = in[1],
                              .k = width,
                              .a = z,
                              .lda = width,
                              .b = b.parameters[kernel],
                              .ldb = width,
                              .c = b.dx,
                              .ldc = in[1],
                              .transpose_b = true});
    b.gradients[kernel].product(context, steps, {b.x, in[1]}, {z, width}, Lifetime::step);
    b.gradients[recurrent_kernel].product(context, steps, {b.saved[state_before], units}, {z, width}, Lifetime::step);
    b.gradients[bias].column_sums(context, "trireme::lstm_bias_gradient", steps, z);
  }

 private:
  /// The cell before a step; before the first one the state, which is zero then.
  template <class Call>
  auto cell_before(Call const& call, std::size_t step, std::size_t time) const {
    return step == 0 ? call.saved[state_before] + time_of(0, time) * units
                     : call.saved[cell] + time_of(step - 1, time) * units;
  }

  /// Position in time of the input of step `step`.
  static constexpr std::size_t time_of(std::size_t step, std::size_t time) {
    return backwards ? time - 1 - step : step;
  }
};
template <class... Values>
LSTM(Values const&...) -> LSTM<detail::size_from_values<Values...>()>;

}  // namespace trireme
