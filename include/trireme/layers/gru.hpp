/// GRU: gated recurrent units over a sequence.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/initializers/orthogonal.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/gru_kernels.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Option of GRU: the reset gate acts on the state before the recurrent product instead of behind it; Keras's
/// `reset_after=False`.
struct ResetBefore {};

/// Gated recurrent units: `GRU<64>{}`, `GRU<64, ReturnSequences>{}`; also GoBackwards, NoBias, ResetBefore, an
/// activation A (Tanh) and a RecurrentActivation R (Sigmoid).
///
/// Each step computes from its input x and the state h before it: z = R(x W_z + b_z + h U_z + b'_z), r likewise;
/// candidate = A(x W + b + r (h U + b')), with ResetBefore A(x W + b + (r h) U); h = z h + (1 - z) candidate. The state
/// begins as 0 in each sample.
///
/// Input (time, features), output (Units) of the last step, or (time, Units) with ReturnSequences. Parameters kernel W
/// (features, 3 Units), recurrent kernel U (Units, 3 Units), bias (2, 3 Units) with b and b', with ResetBefore b alone
/// (3 Units); gates in Keras's order: update z, reset r, candidate. With GoBackwards outputs are in the order of the
/// steps, so reversed. Designated initializers name the members in this order. Source: Cho et al., Learning Phrase
/// Representations using RNN Encoder-Decoder, 2014; Keras `GRU`.
///
/// Compile-time errors: Units is 0; another option, or two of one kind; an input other than (time, features); an
/// activation that is not elementwise, or whose derivative does not follow from its output.
/// \throws ValueError from `compile` if Units is `dynamic` and `units` is 0.
template <std::size_t Units, class... Options>
struct GRU {
  static_assert(Units > 0, "trireme: GRU has at least one unit, not 0");
  using Chosen = detail::ChosenOptions<detail::Takes<detail::AnyActivation, detail::AnyRecurrentActivation,
                                                     ReturnSequences, GoBackwards, ResetBefore, NoBias>,
                                       Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: GRU takes as options an activation, RecurrentActivation<activation>, ReturnSequences, "
                "GoBackwards, ResetBefore and NoBias, each once at most");
  using A = typename Chosen::template get<detail::AnyActivation, Tanh>;
  using R = typename Chosen::template get<detail::AnyRecurrentActivation, RecurrentActivation<Sigmoid>>::type;
  static constexpr bool use_bias = !Chosen::template has<NoBias>;
  static constexpr bool sequences = Chosen::template has<ReturnSequences>;
  static constexpr bool backwards = Chosen::template has<GoBackwards>;
  static constexpr bool reset_after = !Chosen::template has<ResetBefore>;
  static constexpr std::string_view class_name = "GRU";
  enum Parameters : std::size_t { kernel, recurrent_kernel, bias };
  /// (rows, time, …) each: the gates, the state's products (or the state times the reset gate), and the state before
  /// each step; and the gradients that backward carries from step to step.
  enum Saved : std::size_t { gates, inner, state_before, state_gradient, reset_gradient };
  static_assert(A::elementwise && R::elementwise && !needs_preactivation<A>() && !needs_preactivation<R>(),
                "trireme: an activation of GRU is elementwise, with a derivative that follows from its output");

  Extent<Units> units{};
  A activation{};
  R recurrent_activation{};
  Initializer kernel_initializer = GlorotUniform{};
  Initializer recurrent_initializer = Orthogonal{};
  Initializer bias_initializer = Zeros{};
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
    static_assert(In::rank == 2, "trireme: GRU takes (time, features)");
    if constexpr (sequences)
      return Extents<static_extent<In, 0>, Units>{{in[0], units}};
    else
      return Extents<Units>{{units}};
  }

  template <class In>
  constexpr auto parameters(In const& in) const {
    ParameterShape const input{"gru_cell/kernel", {in[1], 3 * units}, "cell"};
    ParameterShape const recurrent{"gru_cell/recurrent_kernel", {units, 3 * units}, "cell"};
    if constexpr (!use_bias)
      return std::array{input, recurrent};
    else if constexpr (reset_after)
      return std::array{input, recurrent, ParameterShape{"gru_cell/bias", {2, 3 * units}, "cell"}};
    else
      return std::array{input, recurrent, ParameterShape{"gru_cell/bias", {3 * units}, "cell"}};
  }
  Initializer initializer(std::size_t i) const {
    return i == kernel ? kernel_initializer : i == recurrent_kernel ? recurrent_initializer : bias_initializer;
  }
  Regularizer regularizer(std::size_t i) const {
    return i == kernel ? kernel_regularizer : i == recurrent_kernel ? recurrent_regularizer : bias_regularizer;
  }

  /// Operations of forward, for one sample: a step's products of input and state, and for each unit 4 of the new state
  /// and 13 of the gates: biases, sums of the two products, the reset gate's product, activations. With ResetBefore a
  /// gate has one product and one bias, which leaves 7.
  template <class In>
  constexpr std::size_t flops(In const& in) const {
    return in[0] * units * (3 * 2 * (in[1] + units) + 4 + (reset_after ? 13 : 7));
  }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    std::size_t const steps = rows * in[0];
    return std::array{SavedTensor{steps * 3 * units}, SavedTensor{steps * (reset_after ? 3 : 1) * units},
                      SavedTensor{steps * units}, SavedTensor{rows * units},
                      SavedTensor{reset_after ? 0 : rows * units}};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    std::size_t const time = in[0], n = units, last_stride = sequences ? time * n : n;
    T *const z = f.saved[gates], *const states = f.saved[state_before];
    // The contribution of the inputs, for all steps at once.
    context.gemm(product(f.rows * time, 3 * n, in[1], f.x, in[1], f.parameters[kernel], z, 3 * n));
    context.for_each("trireme::gru_first_state", f.rows, n,
                     kernels::ClearStrided<T>{states + time_of(0, time) * n, time * n});
    for (std::size_t step = 0; step < time; ++step) {
      std::size_t const t = time_of(step, time);
      bool const last = step + 1 == time;
      T* const y = sequences ? f.y + step * n : f.y;
      kernels::GruStep<T, A, R> const call{activation,
                                           recurrent_activation,
                                           n,
                                           time,
                                           f.parameters[bias],
                                           z + t * 3 * n,
                                           f.saved[inner] + t * (reset_after ? 3 : 1) * n,
                                           states + t * n,
                                           last ? y : states + time_of(step + 1, time) * n,
                                           last ? last_stride : time * n,
                                           sequences ? y : nullptr,
                                           last_stride};
      auto state_product =
          product(f.rows, 3 * n, n, call.state, time * n, f.parameters[recurrent_kernel], call.inner, time * 3 * n);
      if constexpr (reset_after) {
        context.gemm(state_product);
        context.for_each("trireme::gru_step", f.rows, n, kernels::GruStepAfter<T, A, R>{call});
      } else {
        state_product.n = 2 * n;
        state_product.c = call.gates;
        state_product.accumulate = true;
        context.gemm(state_product);
        context.for_each("trireme::gru_gates", f.rows, n, kernels::GruGates<T, A, R>{call});
        state_product.n = n;
        state_product.a = call.inner;
        state_product.b += 2 * n;
        state_product.c += 2 * n;
        context.gemm(state_product);
        context.for_each("trireme::gru_candidate", f.rows, n, kernels::GruCandidate<T, A, R>{call});
      }
    }
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    std::size_t const time = in[0], n = units, steps = b.rows * time;
    T *const z = b.saved[gates], *const s = b.saved[inner], *const dh = b.saved[state_gradient];
    if constexpr (sequences)
      context.for_each("trireme::gru_last_state", b.rows * n, kernels::Clear<T>{dh});
    else
      kernels::copy(context, b.rows * n, static_cast<T const*>(b.dy), dh);
    for (std::size_t step = time; step-- > 0;) {
      std::size_t const t = time_of(step, time);
      kernels::GruStepGradient<T, A, R> const call{activation,
                                                   recurrent_activation,
                                                   n,
                                                   time,
                                                   z + t * 3 * n,
                                                   s + t * (reset_after ? 3 : 1) * n,
                                                   b.saved[state_before] + t * n,
                                                   sequences ? b.dy + step * n : nullptr,
                                                   time * n,
                                                   dh};
      auto through =
          transposed(product(b.rows, n, 3 * n, call.inner, time * 3 * n, b.parameters[recurrent_kernel], dh, n));
      if constexpr (reset_after) {
        context.for_each("trireme::gru_step_gradient", b.rows, n, kernels::GruStepGradientAfter<T, A, R>{call});
      } else {
        context.for_each("trireme::gru_outer_gradient", b.rows, n, kernels::GruOuterGradient<T, A, R>{call});
        through.k = n;
        through.a = call.gates + 2 * n;
        through.b += 2 * n;
        through.c = b.saved[reset_gradient];
        context.gemm(through);
        context.for_each(
            "trireme::gru_reset_gradient", b.rows, n,
            kernels::GruResetGradient<T, R>{recurrent_activation, n, time, call.gates, call.state, through.c, dh});
        through.k = 2 * n;
        through.a = call.gates;
        through.b -= 2 * n;
        through.c = dh;
      }
      through.accumulate = true;
      if (step > 0) context.gemm(through);
    }
    // The gates now hold the gradients of what their activations were applied to.
    if (b.dx) context.gemm(transposed(product(steps, in[1], 3 * n, z, 3 * n, b.parameters[kernel], b.dx, in[1])));
    b.gradients[kernel].product(context, steps, {b.x, in[1]}, {z, 3 * n}, Lifetime::step);
    if constexpr (reset_after) {
      b.gradients[recurrent_kernel].product(context, steps, {b.saved[state_before], n}, {s, 3 * n}, Lifetime::step);
      b.gradients[bias].range(0, 3 * n).column_sums(context, "trireme::gru_bias_gradient", steps, z);
      b.gradients[bias].range(3 * n, 3 * n).column_sums(context, "trireme::gru_bias_gradient", steps, s);
    } else {
      recurrent_gradient(context, steps, b);
      b.gradients[bias].column_sums(context, "trireme::gru_bias_gradient", steps, z);
    }
  }

 private:
  /// c (m, n) = a (m, k) b (k, n), where a row of the parameter b has 3 units.
  template <class T>
  Product<T> product(std::size_t m, std::size_t n, std::size_t k, T const* a, std::size_t lda, T const* b, T* c,
                     std::size_t ldc) const {
    return {.m = m, .n = n, .k = k, .a = a, .lda = lda, .b = b, .ldb = 3 * units, .c = c, .ldc = ldc};
  }
  template <class T>
  static Product<T> transposed(Product<T> p) {
    p.transpose_b = true;
    return p;
  }

  /// Columns of the candidate multiply the state times the reset gate, the others the state.
  template <class Context, class T>
  void recurrent_gradient(Context& context, std::size_t steps, Backward<T> const& b) const {
    T* const gradient = b.gradients[recurrent_kernel].values();
    if (!gradient) return;
    Product<T> p =
        product<T>(units, 2 * units, steps, b.saved[state_before], units, b.saved[gates], gradient, 3 * units);
    p.transpose_a = true;
    context.gemm(p);
    p.n = units;
    p.a = b.saved[inner];
    p.b += 2 * units;
    p.c += 2 * units;
    context.gemm(p);
  }

  /// Position in time of the input of step `step`.
  static constexpr std::size_t time_of(std::size_t step, std::size_t time) {
    return backwards ? time - 1 - step : step;
  }
};
template <class... Values>
GRU(Values const&...) -> GRU<detail::size_from_values<Values...>()>;

}  // namespace trireme
