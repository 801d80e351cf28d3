/// Sequential: layers one after the other, as a type. It is a layer itself, so that models nest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "trireme/core/declares_member.hpp"
#include "trireme/layers/activation.hpp"
#include "trireme/layers/input.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/chain_pass.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/value_sources.hpp"

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

template <class L>
struct FinalActivation {
  using type = void;
};
template <class L>
requires requires { typename L::final_activation; }
struct FinalActivation<L> {
  using type = typename L::final_activation;
};
}  // namespace detail

/// `Sequential{Input<784>{}, Dense<128, ReLU>{}, Dense<10>{}}`. An outermost one begins with an Input; activations may
/// stand as layers.
template <class... Layers>
class Sequential : public detail::SumsOfLayers<Sequential<Layers...>> {
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

 public:
  using composite = void;
  static constexpr std::string_view class_name = "Sequential";

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
    }
    (std::make_index_sequence<End - Begin>());
  }

  /// Calls f(layer, its input's extents) for each layer in order.
  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    visit<first>(in, f);
  }

  template <class In>
  detail::ValueSources trace_values(In const& in, detail::ValueSources sources, detail::ValueTracer& tracer) const {
    for_each_layer(in, [&](auto const& layer, auto const& extents) {
      sources = detail::trace_values(layer, extents, sources, tracer);
    });
    return sources;
  }

  using final_activation =
      typename detail::FinalActivation<std::tuple_element_t<last - 1, std::tuple<Layers...>>>::type;
  constexpr auto without_activation() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return trireme::Sequential(std::get<I>(layers_)..., std::get<last - 1>(layers_).without_activation());
    }
    (std::make_index_sequence<last - 1>());
  }

  static constexpr bool has_tables = (... || detail::has_tables<Layers>());
  static constexpr std::uint32_t leaf_count = [] {
    if constexpr (has_input)
      return (detail::leaf_layers<Layers>() + ...) - 1;
    else
      return (detail::leaf_layers<Layers>() + ...);
  }();

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    return pass<Context>().template workspace<T>(in, rows);
  }
  using scattered_rows_of = Sequential;
  template <class T, class Context, class In>
  constexpr bool takes_scattered_rows(In const& in, std::size_t rows) const {
    return pass<Context>().template takes_scattered_rows<T>(in, rows);
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    pass<Context>().forward(context, in, f);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    pass<Context>().backward(context, in, b);
  }

 private:
  template <class Context>
  constexpr auto pass() const {
    return detail::ChainPass<Context, first, Layers...>(layers_);
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
  constexpr void visit(In const& in, F& f) const {
    f(std::get<I>(layers_), in);
    if constexpr (I + 1 < last) visit<I + 1>(std::get<I>(layers_).output(in), f);
  }

  std::tuple<Layers...> layers_{};
};

template <class... L>
Sequential(L const&...) -> Sequential<detail::as_layer_t<L>...>;
/// Without this one, Sequential{Sequential{...}} would copy the inner model instead of nesting it.
template <class... Inner>
Sequential(Sequential<Inner...> const&) -> Sequential<Sequential<Inner...>>;

}  // namespace trireme
