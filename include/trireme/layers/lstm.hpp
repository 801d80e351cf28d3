/// LSTM: long short-term memory over a sequence.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/orthogonal.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/lstm_kernels.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// First values of an LSTM's bias: 1 for the forget gate, so that memories last at first, and 0 for the other gates.
struct UnitForgetBias {
  void operator()(std::span<double> out, InitializerContext const&) const {
    std::size_t const units = out.size() / 4;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i / units == 1 ? 1.0 : 0.0;
  }
};

/// `LSTM<64>{}`, `LSTM<64, ReturnSequences>{}`; also GoBackwards, NoBias, an activation (Tanh) and a
/// RecurrentActivation (Sigmoid).
///
/// Input (time, features), output (Units) of the last step, or (time, Units) with ReturnSequences. Gates lie in
/// Keras's order: input, forget, cell, output; kernel (features, 4 Units), recurrent kernel (Units, 4 Units), bias
/// (4 Units). With GoBackwards outputs are in the order of the steps, so reversed. Source: Hochreiter & Schmidhuber,
/// Neural Computation, 1997; with the forget gate of Gers et al., 2000.
/// Designated initializers name the members in this order.
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
  static_assert(A::elementwise && R::elementwise && !needs_preactivation<A>() && !needs_preactivation<R>(),
                "trireme: an activation of LSTM is elementwise, with a derivative that follows from its output");

  [[no_unique_address]] Extent<Units> units{};
  [[no_unique_address]] A activation{};
  [[no_unique_address]] R recurrent_activation{};
  Initializer kernel_initializer = GlorotUniform{};
  Initializer recurrent_initializer = Orthogonal{};
  Initializer bias_initializer = UnitForgetBias{};
  Regularizer kernel_regularizer{};
  Regularizer recurrent_regularizer{};
  Regularizer bias_regularizer{};
  std::string_view name{};

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
    ParameterShape const kernel{"lstm_cell/kernel", {in[1], 4 * units}};
    ParameterShape const recurrent{"lstm_cell/recurrent_kernel", {units, 4 * units}};
    if constexpr (use_bias)
      return std::array{kernel, recurrent, ParameterShape{"lstm_cell/bias", {4 * units}}};
    else
      return std::array{kernel, recurrent};
  }
  Initializer initializer(std::size_t i) const {
    return i == 0 ? kernel_initializer : i == 1 ? recurrent_initializer : bias_initializer;
  }
  Regularizer regularizer(std::size_t i) const {
    return i == 0 ? kernel_regularizer : i == 1 ? recurrent_regularizer : bias_regularizer;
  }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    std::size_t const steps = rows * in[0];
    return aligned_bytes(steps * 4 * units * sizeof(T)) + 2 * aligned_bytes(steps * units * sizeof(T)) +
           2 * aligned_bytes(rows * units * sizeof(T));
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    std::size_t const time = in[0], gates = 4 * units, stride = sequences ? time * units : std::size_t{units};
    Kept<T> const kept(*this, in, f.rows, f.workspace);
    T const* const bias = use_bias ? f.parameters + bias_offset<T>(in) : nullptr;
    // The contribution of the inputs, for all steps at once; each step adds that of the state before it.
    context.gemm(Product<T>{.m = f.rows * time,
                            .n = gates,
                            .k = in[1],
                            .a = f.x,
                            .lda = in[1],
                            .b = f.parameters,
                            .ldb = gates,
                            .c = kept.gates,
                            .ldc = gates});
    context.for_each("trireme::lstm_first_state", f.rows, units,
                     kernels::ClearStep<T>{kept.before + slot(0, time) * units, time * units});
    for (std::size_t step = 0; step < time; ++step) {
      std::size_t const t = slot(step, time);
      if (step > 0)
        context.gemm(Product<T>{.m = f.rows,
                                .n = gates,
                                .k = units,
                                .a = kept.before + t * units,
                                .lda = time * units,
                                .b = f.parameters + recurrent_offset<T>(in),
                                .ldb = gates,
                                .c = kept.gates + t * gates,
                                .ldc = time * gates,
                                .accumulate = true});
      bool const last = step + 1 == time;
      T* const y = sequences ? f.y + step * units : f.y;
      context.for_each(
          "trireme::lstm_step", f.rows, units,
          kernels::LstmStep<T, A, R, use_bias, sequences>{
              activation, recurrent_activation, units, time, bias, kept.gates + t * gates, kept.cell + t * units,
              kept.cell_before(step, time, units), last ? y : kept.before + slot(step + 1, time) * units,
              last ? stride : time * units, y, stride});
    }
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    std::size_t const time = in[0], gates = 4 * units, steps = b.rows * time;
    std::size_t const stride = sequences ? time * units : std::size_t{units};
    Kept<T> const kept(*this, in, b.rows, b.workspace);
    std::size_t const carried = b.rows * units;
    if constexpr (sequences)
      context.for_each("trireme::lstm_last_state", carried, kernels::Clear<T>{kept.dh});
    else
      kernels::copy(context, carried, b.dy, kept.dh);
    context.for_each("trireme::lstm_last_cell", carried, kernels::Clear<T>{kept.dc});
    for (std::size_t step = time; step-- > 0;) {
      std::size_t const t = slot(step, time);
      context.for_each("trireme::lstm_step_gradient", b.rows, units,
                       kernels::LstmStepGradient<T, A, R, sequences>{
                           activation, recurrent_activation, units, time, kept.gates + t * gates, kept.cell + t * units,
                           kept.cell_before(step, time, units), sequences ? b.dy + step * units : nullptr, stride,
                           kept.dh, kept.dc});
      if (step > 0)
        context.gemm(Product<T>{.m = b.rows,
                                .n = units,
                                .k = gates,
                                .a = kept.gates + t * gates,
                                .lda = time * gates,
                                .b = b.parameters + recurrent_offset<T>(in),
                                .ldb = gates,
                                .c = kept.dh,
                                .ldc = units,
                                .transpose_b = true});
    }
    // The gates now hold the gradients of what their activations were applied to.
    T const* const dz = kept.gates;
    auto const weight_gradient = [&](T const* left, std::size_t width, T* gradient) {
      context.gemm(Product<T>{.m = width,
                              .n = gates,
                              .k = steps,
                              .a = left,
                              .lda = width,
                              .b = dz,
                              .ldb = gates,
                              .c = gradient,
                              .ldc = gates,
                              .transpose_a = true});
    };
    if (!b.frozen) {
      weight_gradient(b.x, in[1], b.gradients);
      weight_gradient(kept.before, units, b.gradients + recurrent_offset<T>(in));
      if constexpr (use_bias)
        context.column_sums("trireme::lstm_bias_gradient", steps, gates, dz, b.gradients + bias_offset<T>(in));
    }
    if (b.dx)
      context.gemm(Product<T>{.m = steps,
                              .n = in[1],
                              .k = gates,
                              .a = dz,
                              .lda = gates,
                              .b = b.parameters,
                              .ldb = gates,
                              .c = b.dx,
                              .ldc = in[1],
                              .transpose_b = true});
  }

 private:
  /// Workspace of forward, (rows, time, …) each: the gates' activations, the cell, the state before each step; and the
  /// gradients that backward carries from step to step.
  template <class T>
  struct Kept {
    template <class In>
    Kept(LSTM const& layer, In const& in, std::size_t rows, std::byte* memory) {
      Workspace workspace(memory);
      gates = workspace.take<T>(rows * in[0] * 4 * layer.units);
      cell = workspace.take<T>(rows * in[0] * layer.units);
      before = workspace.take<T>(rows * in[0] * layer.units);
      dh = workspace.take<T>(rows * layer.units);
      dc = workspace.take<T>(rows * layer.units);
    }
    /// The cell before a step; before the first one the state, which is zero then.
    T* cell_before(std::size_t step, std::size_t time, std::size_t width) const {
      return step == 0 ? before + slot(0, time) * width : cell + slot(step - 1, time) * width;
    }
    T *gates, *cell, *before, *dh, *dc;
  };

  /// Position in time of the input of step `step`.
  static constexpr std::size_t slot(std::size_t step, std::size_t time) { return backwards ? time - 1 - step : step; }
  template <class T, class In>
  std::size_t recurrent_offset(In const& in) const {
    return aligned_count<T>(in[1] * 4 * units);
  }
  template <class T, class In>
  std::size_t bias_offset(In const& in) const {
    return recurrent_offset<T>(in) + aligned_count<T>(units * 4 * units);
  }
};
template <class... Values>
LSTM(Values const&...) -> LSTM<detail::size_from_values<Values...>()>;

}  // namespace trireme
