/// Sequential: layers one after the other, as a type. It is a layer itself, so that models nest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/core/declares_member.hpp"
#include "trireme/layers/activation.hpp"
#include "trireme/layers/conv_pool.hpp"
#include "trireme/layers/final_activation.hpp"
#include "trireme/layers/input.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/models/graph_layer.hpp"
#include "trireme/models/wiring.hpp"

namespace trireme {

namespace detail {
/// The name of the member that every layer has: `output`.
struct OutputName {
  struct Named {
    int output;
  };
  template <class Class>
  using Member = decltype(&Class::output);
};
template <class L>
consteval bool require_layer() {
  static_assert(is_input<L> || declares_member<OutputName, L, true>,
                "trireme: a model is made of layers: Sequential{Input<784>{}, Dense<128, ReLU>{}, Dense<10>{}}");
  return true;
}

template <class L>
struct AsLayer {
  static_assert(require_layer<L>());
  using type = L;
};
template <ActivationFunction A>
struct AsLayer<A> {
  using type = Activation<A>;
};
template <class L>
using as_layer_t = typename AsLayer<L>::type;
}  // namespace detail

/// Layers one after the other: `Sequential{Input<784>{}, Dense<128, ReLU>{}, Dense<10>{}}`. It is a layer itself, so
/// that models nest; an outermost one begins with an Input or Inputs. Activations may stand as layers.
///
/// A nested one is a folder of names, by its member `name` (`named<"encoder">(Sequential{...})`) or by Keras's numbers:
/// `encoder/dense/kernel`, `sequential_1/dense/kernel`. As a branch of Add, Fork and the like it is one only if it has
/// a name.
///
/// Input: the extents that the first layer takes; output: those of the last layer. Source: Keras `Sequential`.
///
/// Compile-time errors: no layer; an Input elsewhere than at the beginning, or none where the model is compiled; a type
/// that is no layer; a layer that does not take the extents of the one before it.
/// \throws ShapeError from `compile` if `dynamic` extents do not fit a layer, or a layer's output holds no number.
template <class... Layers>
class Sequential : public detail::GraphLayer<Sequential<Layers...>> {
  static constexpr bool has_input = [] {
    if constexpr (sizeof...(Layers) == 0)
      return false;
    else
      return detail::is_input<std::tuple_element_t<0, std::tuple<Layers...>>>;
  }();
  static constexpr std::size_t first = has_input ? 1 : 0, last = sizeof...(Layers);
  static_assert(last > first, "trireme: Sequential needs at least one layer");
  static_assert((std::size_t{0} + ... + detail::is_input<Layers>) == first,
                "trireme: an Input stands at the beginning of a model alone");

  template <std::size_t I>
  using ActivationOf =
      typename detail::FinalActivationOf<std::tuple_element_t<last - 1, std::tuple<Layers...>>, I>::type;

 public:
  using graph_of = Sequential;
  static constexpr std::string_view class_name = "Sequential";
  static constexpr bool is_chain = true;  ///< no model of its own where it is a branch without a name
  LayerName name{};

  /// Layers in order; an activation function stands for the layer Activation of it.
  template <class... L>
  constexpr explicit Sequential(L const&... layers) : layers_{detail::as_layer_t<L>{layers}...} {}
  constexpr Sequential() = default;

  /// Extents of one sample, as its Input says.
  constexpr auto input() const {
    static_assert(has_input, "trireme: a model begins with an Input that says the extents of a sample: Input<784>{}");
    return std::get<0>(layers_).extents;
  }

  template <class In>
  constexpr auto output(In const& in) const {
    return output_of<first>(in);
  }

  /// Its layers by index, the Input not among them.
  static constexpr std::size_t layer_count = last - first;
  /// Layer I, counted without the Input.
  template <std::size_t I>
  constexpr auto const& layer() const {
    return std::get<first + I>(layers_);
  }
  /// Its layers [Begin, End), without an Input: they find weights and keys where the caller says.
  template <std::size_t Begin, std::size_t End>
  constexpr auto slice() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return trireme::Sequential<std::tuple_element_t<first + Begin + I, std::tuple<Layers...>>...>(
          layer<Begin + I>()...);
    }(std::make_index_sequence<End - Begin>());
  }

  /// Calls f(layer, its input's extents) for each layer in order.
  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    for_each_from<first>(in, f);
  }

  using final_activation =
      typename detail::FinalActivation<std::tuple_element_t<last - 1, std::tuple<Layers...>>>::type;
  constexpr auto without_activation() const { return with_last(std::get<last - 1>(layers_).without_activation()); }
  /// Activation that output I of several ends in; void: none.
  template <std::size_t I>
  using final_activation_of = ActivationOf<I>;
  /// The layers without the activations of the outputs, of `Count`, whose bit is set.
  template <std::size_t Bits, std::size_t Count>
  constexpr auto without_activations() const {
    return with_last(std::get<last - 1>(layers_).template without_activations<Bits, Count>());
  }

  static constexpr bool has_tables = (... || detail::has_tables<Layers>());
  static constexpr bool has_lookups = (... || detail::has_lookups<Layers>());
  static constexpr bool has_shared = (... || detail::has_shared<Layers>());
  static constexpr std::uint32_t leaf_count = [] {
    if constexpr (has_input)
      return (detail::leaf_layers<Layers>() + ...) - 1;
    else
      return (detail::leaf_layers<Layers>() + ...);
  }();

  template <class Context, class In, class Builder>
  static constexpr detail::Values wire(detail::Values const& inputs, Builder& builder) {
    return wire_from<first, Context, In>(inputs, builder);
  }
  /// Calls f for the layers in order, as a pass of forward does.
  template <class Context, class In, class F>
  constexpr void visit(In const& in, F& f) const {
    visit_from<first, Context>(in, f);
  }
  /// Calls f for the layers from the last to the first, as a pass of backward does.
  template <class Context, class In, class F>
  constexpr void visit_back(In const& in, F& f) const {
    visit_back_from<first, Context>(in, f);
  }

 private:
  template <std::size_t I>
  using LayerAt = std::tuple_element_t<I, std::tuple<Layers...>>;

  template <class L>
  constexpr auto with_last(L const& layer) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return trireme::Sequential(std::get<I>(layers_)..., layer);
    }(std::make_index_sequence<last - 1>());
  }

  /// True if layer I and the next one run as one under a context. Stored outputs are rounded, which makes values equal
  /// that a maximum told apart.
  template <class Context, std::size_t I>
  static constexpr bool fused = [] {
    if constexpr (I + 1 < last && !StoresOutputs<Context>)
      return fuses<Context, LayerAt<I>, LayerAt<I + 1>>;
    else
      return false;
  }();
  template <class Context, std::size_t I>
  static constexpr std::size_t next = I + (fused<Context, I> ? 2 : 1);
  template <class Context, std::size_t I>
  constexpr decltype(auto) stage() const {
    if constexpr (fused<Context, I>)
      return ConvPool<LayerAt<I>, LayerAt<I + 1>>{std::get<I>(layers_), std::get<I + 1>(layers_)};
    else
      return (std::get<I>(layers_));
  }

  template <std::size_t I, class Context, class In, class Builder>
  static constexpr detail::Values wire_from(detail::Values const& inputs, Builder& builder) {
    using Stage = std::remove_cvref_t<decltype(std::declval<Sequential const&>().template stage<Context, I>())>;
    auto const outputs = detail::wire<Context, Stage, In>(inputs, builder);
    if constexpr (next<Context, I> == last)
      return outputs;
    else
      return wire_from<next<Context, I>, Context,
                       decltype(detail::output_of(std::declval<Stage const&>(), std::declval<In const&>()))>(outputs,
                                                                                                             builder);
  }
  template <std::size_t I, class Context, class In, class F>
  constexpr void visit_from(In const& in, F& f) const {
    auto const& layer = stage<Context, I>();
    detail::visit<Context>(layer, in, f);
    if constexpr (next<Context, I> < last) visit_from<next<Context, I>, Context>(layer.output(in), f);
  }
  template <std::size_t I, class Context, class In, class F>
  constexpr void visit_back_from(In const& in, F& f) const {
    auto const& layer = stage<Context, I>();
    if constexpr (next<Context, I> < last) visit_back_from<next<Context, I>, Context>(layer.output(in), f);
    detail::visit_back<Context>(layer, in, f);
  }

  template <std::size_t I, class In>
  constexpr auto output_of(In const& in) const {
    auto const out = detail::output_of(std::get<I>(layers_), in);
    if constexpr (I + 1 == last)
      return out;
    else
      return output_of<I + 1>(out);
  }

  template <std::size_t I, class In, class F>
  constexpr void for_each_from(In const& in, F& f) const {
    f(std::get<I>(layers_), in);
    if constexpr (I + 1 < last) for_each_from<I + 1>(std::get<I>(layers_).output(in), f);
  }

  std::tuple<Layers...> layers_{};
};

template <class... L>
Sequential(L const&...) -> Sequential<detail::as_layer_t<L>...>;
/// Without this one, Sequential{Sequential{...}} would copy the inner model instead of nesting it.
template <class... Inner>
Sequential(Sequential<Inner...> const&) -> Sequential<Sequential<Inner...>>;

}  // namespace trireme
