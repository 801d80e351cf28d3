/// Frozen: layers that stay as they are while others train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "trireme/layers/final_activation.hpp"
#include "trireme/layers/input.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/graph_pass.hpp"
#include "trireme/models/sequential.hpp"

namespace trireme {

/// Layer whose weights stay as they are while others train: `Frozen{Dense<64, ReLU>{}}`, `Frozen{Sequential{...}}`;
/// Keras's `trainable = False`.
///
/// Input, output and weights are those of the layer. The weights are initialized, saved and loaded as without it, but
/// lie behind those that train: neither gradients nor the optimizer nor what processes exchange contain them, and
/// backward computes nothing for them. BatchNormalization uses its moving statistics; regularizers of frozen weights
/// count nothing; Dropout goes on.
///
/// Compile-time errors: an Input, or a type that is no layer.
template <class L>
struct Frozen {
  using composite = void;
  static constexpr bool wraps_layer = true;
  static constexpr bool frozen = true;
  static constexpr std::uint32_t leaf_count = detail::leaf_layers<L>();
  static constexpr bool has_tables = false;  ///< none with gradients
  static constexpr bool has_lookups = detail::has_lookups<L>();
  static constexpr bool has_shared = detail::has_shared<L>();
  static constexpr std::string_view class_name = detail::class_name_of<L>();
  static_assert(detail::require_layer<L>());
  static_assert(!detail::is_input<L>, "trireme: Frozen goes around a layer or a Sequential, not around an Input");

  L layer{};

  constexpr Frozen() = default;
  /// Layer whose weights training leaves as they are.
  constexpr explicit Frozen(L const& l) : layer(l) {}

  template <class In>
  constexpr auto output(In const& in) const {
    return layer.output(in);
  }

  /// Calls f(layer, extents of its input).
  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    f(layer, in);
  }

  using final_activation = typename detail::FinalActivation<L>::type;
  constexpr auto without_activation() const {
    auto const rest = layer.without_activation();
    return Frozen<std::decay_t<decltype(rest)>>(rest);
  }

  /// 0: no weight of the layer is trained.
  template <class T, class In>
  constexpr std::size_t parameter_elements(In const&) const {
    return 0;
  }
  /// Elements of all weights of the layer, parameters and states.
  template <class T, class In>
  constexpr std::size_t frozen_elements(In const& in) const {
    return detail::weight_elements<T>(layer, in);
  }

  /// Bytes that the layer's forward needs for `rows` rows.
  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    return detail::pass_workspace<T, Context>(layer, in, rows);
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> f) const {
    f.parameters = f.frozen_weights;
    f.states = f.parameters + detail::parameter_elements<T>(layer, in);
    f.frozen_weights = f.states + detail::state_elements<T>(layer, in);
    f.state_updates = nullptr;
    f.frozen = true;
    detail::pass_forward(context, layer, in, f);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> b) const {
    if (!b.dx) return;
    b.parameters = b.frozen_weights;
    b.states = b.parameters + detail::parameter_elements<T>(layer, in);
    b.frozen_weights = b.states + detail::state_elements<T>(layer, in);
    b.gradients = nullptr;
    b.sink = nullptr;
    b.frozen = true;
    detail::pass_backward(context, layer, in, b);
  }
};

template <class L>
Frozen(L const&) -> Frozen<L>;

}  // namespace trireme
