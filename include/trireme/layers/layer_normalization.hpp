/// LayerNormalization: each sample's features to mean 0 and variance 1, then scaled and shifted.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "trireme/backend/threads/host_context.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/normalization_kernels.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/layers/scale_and_shift.hpp"

namespace trireme {

/// Normalization of each sample, y = gamma (x - mean) / sqrt(variance + epsilon) + beta: `LayerNormalization<>{}` over
/// the last axis, LastAxes<n> over the last n axes together; NoScale and NoCenter leave out gamma and beta.
///
/// Input and output (..., n), where n is the extents of the normalized axes; parameters gamma and beta (n). The
/// variance is the biased one. Designated initializers name the members in this order. Source: Ba et al., Layer
/// Normalization, 2016; Keras `LayerNormalization`.
///
/// Compile-time errors: another option, or one given twice; LastAxes<n> beyond the axes of a sample.
/// \throws ValueError from `compile` if `epsilon` is outside of (0, inf).
template <class... Options>
struct LayerNormalization {
  using Chosen = detail::ChosenOptions<detail::Takes<NoScale, NoCenter, detail::AnyNumber<LastAxes>>, Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: LayerNormalization takes as options NoScale, NoCenter and LastAxes<n>, each once at most");
  static constexpr bool scale = !Chosen::template has<NoScale>;
  static constexpr bool center = !Chosen::template has<NoCenter>;
  static constexpr std::size_t axes = Chosen::template number<LastAxes, 1>;
  static constexpr std::string_view class_name = "LayerNormalization";
  static constexpr std::size_t gamma = detail::gamma_index<scale>, beta = detail::beta_index<scale, center>;
  enum Saved : std::size_t { normalized, inverse_deviation };

  double epsilon = 1e-3;
  Initializer gamma_initializer = Ones{};
  Initializer beta_initializer = Zeros{};
  Regularizer gamma_regularizer{};
  Regularizer beta_regularizer{};
  LayerName name{};

  void config(Config& c) const { c("epsilon", epsilon, intervals::positive); }

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(axes >= 1 && axes <= In::rank,
                  "trireme: LayerNormalization normalizes over one axis of its input or more");
    return in;
  }

  template <class In>
  constexpr auto parameters(In const& in) const {
    Shape shape;
    for (std::size_t axis = In::rank - axes; axis < In::rank; ++axis) shape.extents[shape.rank++] = in[axis];
    return detail::scale_and_shift<scale, center>(shape);
  }
  Initializer initializer(std::size_t i) const { return i == gamma ? gamma_initializer : beta_initializer; }
  Regularizer regularizer(std::size_t i) const { return i == gamma ? gamma_regularizer : beta_regularizer; }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    return std::array{SavedTensor{rows * in.size()}, SavedTensor{rows * in.size() / features(in)}};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    std::size_t const n = features(in), rows = f.rows * in.size() / n;
    context.for_rows("trireme::layer_normalization", rows, n,
                     kernels::NormalizeRow<T>{f.x, f.parameters[gamma], f.parameters[beta], f.y, f.saved[normalized],
                                              f.saved[inverse_deviation], n, static_cast<T>(epsilon)});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    std::size_t const n = features(in), rows = b.rows * in.size() / n;
    b.gradients[beta].column_sums(context, "trireme::beta_gradient", rows, b.dy);
    if (b.dx)
      context.for_rows("trireme::layer_normalization_gradient", rows, n,
                       kernels::NormalizeRowGradient<T>{b.dy, b.parameters[gamma], b.saved[normalized],
                                                        b.saved[inverse_deviation], b.dx, n});
    if (!b.gradients[gamma]) return;
    if constexpr (is_host_context<Context>) {
      context.for_each("trireme::gamma_share", rows * n, kernels::Multiply<T>{b.dy, b.saved[normalized]});
      b.gradients[gamma].column_sums(context, "trireme::gamma_gradient", rows, b.saved[normalized]);
    } else {
      b.gradients[gamma].sum_columns(context, "trireme::gamma_gradient", rows,
                                     kernels::GammaTerm<T>{b.dy, b.saved[normalized], n});
    }
  }

 private:
  /// Numbers that are normalized together.
  template <class In>
  static constexpr std::size_t features(In const& in) {
    std::size_t count = 1;
    for (std::size_t axis = In::rank - axes; axis < In::rank; ++axis) count *= in[axis];
    return count;
  }
};
template <class... Values>
LayerNormalization(Values const&...)
    -> LayerNormalization<std::integral_constant<std::size_t, detail::size_from_values<Values...>()>>;

}  // namespace trireme
