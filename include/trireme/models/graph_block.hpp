/// GraphBlock: layers whose inputs are any of the values before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/graph_pass.hpp"
#include "trireme/models/value_sources.hpp"

namespace trireme::detail {

template <class Wires, class... Layers>
class GraphBlock;

/// The nodes of a graph between two cuts as one layer. The last one's output is its own.
template <class... Inputs, class... Layers>
class GraphBlock<Wiring<1, Inputs...>, Layers...> : public SumsOfLayers<GraphBlock<Wiring<1, Inputs...>, Layers...>> {
  static constexpr std::size_t count = sizeof...(Layers);

 public:
  using composite = void;
  static constexpr bool transparent = true;
  static constexpr std::uint32_t leaf_count = (std::uint32_t{0} + ... + leaf_layers<Layers>());
  static constexpr bool has_tables = (... || detail::has_tables<Layers>());

  constexpr GraphBlock() = default;
  constexpr explicit GraphBlock(std::tuple<Layers...> const& layers) : layers_(layers) {}

  template <class In>
  constexpr auto output(In const& in) const {
    return std::get<count>(plan().values(in));
  }

  static constexpr std::size_t node_count = count;
  template <std::size_t I>
  constexpr auto const& node() const {
    return std::get<I>(layers_);
  }
  template <std::size_t I>
  using node_inputs = std::tuple_element_t<I, std::tuple<Inputs...>>;

  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    auto const own_plan = plan();
    own_plan.for_each_node(own_plan.values(in),
                           [&](auto, auto const& layer, auto const& own) { visit_layers(layer, own, f); });
  }

  template <class In>
  ValueSources trace_values(In const& in, ValueSources const& sources, ValueTracer& tracer) const {
    std::vector<ValueSources> all{sources};
    auto const own_plan = plan();
    own_plan.for_each_node(own_plan.values(in), [&]<std::size_t I>(std::integral_constant<std::size_t, I>,
                                                                   auto const& layer, auto const& own) {
      ValueSources taken;
      [&]<std::size_t... V>(std::index_sequence<V...>) {
        (taken.insert(taken.end(), all[V].begin(), all[V].end()), ...);
      }
      (node_inputs<I>());
      all.push_back(detail::trace_values(layer, own, taken, tracer));
    });
    return all.back();
  }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    return plan().template workspace<T, Context>(in, rows);
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    GraphPass(plan()).forward(context, in, f);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    GraphPass(plan()).backward(context, in, b);
  }

 private:
  constexpr auto plan() const {
    return std::apply(
        [](auto const&... layer) { return GraphPlan<Wiring<1, Inputs...>, Layers...>(std::tie(layer...)); }, layers_);
  }

  std::tuple<Layers...> layers_{};
};

}  // namespace trireme::detail
