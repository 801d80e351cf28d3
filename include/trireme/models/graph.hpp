/// Graph: layers as named nodes of any directed acyclic graph.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/core/fixed_string.hpp"
#include "trireme/core/name.hpp"
#include "trireme/layers/input.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/graph_block.hpp"
#include "trireme/models/named.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/slices.hpp"

namespace trireme {

/// Node of a Graph: a layer with its name and the names of the nodes whose values it takes. Made by
/// `node<"name">(layer)`.
template <class L, class Named, class... From>
struct Node {
  static constexpr std::string_view name = Named::name.view();
  static constexpr std::array<std::string_view, sizeof...(From)> from{From::name.view()...};
  using Layer = L;
  L layer;
};

/// Node of a Graph: `node<"down">(Conv2D<8, 3, 3>{})` takes the value of the node before it (the first one the graph's
/// input), `node<"joined", "up", "down">(Concatenate{})` a tuple of the values of those that it names; "input" is the
/// graph's own.
///
/// A layer without a name gets the node's. That of a Sequential, a Graph or branches is a folder:
/// `node<"encoder">(Sequential{Dense<8>{}})` has the weights `encoder/dense/kernel` and `encoder/dense/bias`. The name
/// of Frozen and Each is that of the layer that they go around.
///
/// Compile-time errors: a node that is called "input".
template <FixedString Name, FixedString... From, class L>
constexpr auto node(L const& given) {
  static_assert(Name.view() != "input", "trireme: no node of a Graph is called \"input\": that is the graph's own");
  detail::as_layer_t<L> layer{given};
  detail::set_name<false>(layer, decltype(detail::name_of<Name>())::name.view());
  return [&]<class Named, class... Sources>(Named, Sources...) {
    return Node<detail::as_layer_t<L>, Named, Sources...>{layer};
  }(detail::name_of<Name>(), detail::name_of<From>()...);
}

namespace detail {

template <class N>
inline constexpr bool is_node = false;
template <class L, class... Names>
inline constexpr bool is_node<Node<L, Names...>> = true;

/// The values that nodes take: 0 is the graph's input, i + 1 the output of node i.
template <class... Nodes>
struct GraphWires {
  static constexpr std::size_t count = sizeof...(Nodes), none = count + 1;
  static constexpr std::array<std::string_view, count> names{Nodes::name...};

  static constexpr std::size_t value_named(std::string_view name, std::size_t before) {
    if (name == "input") return 0;
    for (std::size_t i = 0; i < before; ++i)
      if (names[i] == name) return i + 1;
    return none;
  }
  /// The values that node I takes, or `none` for a name that no node before it has.
  template <std::size_t I>
  static constexpr auto inputs() {
    using N = std::tuple_element_t<I, std::tuple<Nodes...>>;
    if constexpr (N::from.empty()) {
      return std::array{I};
    } else {
      std::array<std::size_t, N::from.size()> values{};
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = value_named(N::from[k], I);
      return values;
    }
  }

  template <class F>
  static constexpr void for_each_wire(F const& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            for (std::size_t const value : inputs<I>()) f(value, I);
          }(),
          ...);
    }(std::make_index_sequence<count>());
  }

  static consteval bool names_differ() {
    for (std::size_t i = 0; i < count; ++i)
      if (value_named(names[i], i) != none) return false;
    return true;
  }
  static consteval bool all_exist() {
    bool exist = true;
    for_each_wire([&](std::size_t value, std::size_t) { exist = exist && value != none; });
    return exist;
  }
  static consteval bool inputs_differ() {
    bool differ = true;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            constexpr auto values = inputs<I>();
            for (std::size_t k = 0; k < values.size(); ++k)
              for (std::size_t l = 0; l < k; ++l) differ = differ && values[k] != values[l];
          }(),
          ...);
    }(std::make_index_sequence<count>());
    return differ;
  }
  static consteval bool all_used() {
    std::array<bool, count + 2> used{};
    for_each_wire([&](std::size_t value, std::size_t) { used[value] = true; });
    for (std::size_t value = 0; value < count; ++value)
      if (!used[value]) return false;
    return true;
  }

  /// True if nodes from `first` on need no value before that of node `first` - 1: the graph may be cut there.
  static constexpr bool is_cut(std::size_t first) {
    bool cut = true;
    for_each_wire([&](std::size_t value, std::size_t user) { cut = cut && (user < first || value >= first); });
    return cut;
  }
  static constexpr std::size_t segment_count = [] {
    std::size_t segments = 1;
    for (std::size_t first = 1; first < count; ++first) segments += is_cut(first) ? 1 : 0;
    return segments;
  }();
  /// The first nodes of all segments, and behind them the number of nodes.
  static constexpr std::array<std::size_t, segment_count + 1> segments = [] {
    std::array<std::size_t, segment_count + 1> first{};
    std::size_t next = 1;
    for (std::size_t node = 1; node < count; ++node)
      if (is_cut(node)) first[next++] = node;
    first[segment_count] = count;
    return first;
  }();

  template <std::size_t I, std::size_t First>
  static constexpr auto inputs_within() {
    return []<std::size_t... K>(std::index_sequence<K...>) {
      return std::index_sequence<(inputs<I>()[K] - First)...>();
    }(std::make_index_sequence<inputs<I>().size()>());
  }
};

/// Segment S of a graph as one layer: that of a node which takes the value before it, or a GraphBlock.
template <std::size_t S, class... Nodes>
constexpr auto graph_segment(std::tuple<Nodes const&...> const& nodes) {
  using Wires = GraphWires<Nodes...>;
  constexpr std::size_t first = Wires::segments[S], size = Wires::segments[S + 1] - first;
  if constexpr (size == 1) {
    return std::get<first>(nodes).layer;
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using Block = GraphBlock<NodeInputs<decltype(Wires::template inputs_within<first + I, first>())...>,
                               typename std::tuple_element_t<first + I, std::tuple<Nodes...>>::Layer...>;
      return Block(std::make_tuple(std::get<first + I>(nodes).layer...));
    }(std::make_index_sequence<size>());
  }
}

template <class In, class... Nodes>
consteval bool require_graph() {
  static_assert(is_input<In>,
                "trireme: a Graph begins with an Input that says the extents of a sample: Graph{Input<64>{}, "
                "node<\"hidden\">(Dense<32>{})}");
  static_assert((is_node<Nodes> && ...),
                "trireme: behind its Input a Graph has nodes: Graph{Input<64>{}, node<\"hidden\">(Dense<32>{})}");
  static_assert(sizeof...(Nodes) > 0, "trireme: a Graph needs at least one node");
  if constexpr (is_input<In> && (is_node<Nodes> && ...) && sizeof...(Nodes) > 0) {
    using Wires = GraphWires<Nodes...>;
    static_assert(Wires::names_differ(), "trireme: two nodes of a Graph have the same name");
    static_assert(Wires::all_exist(), "trireme: a node of a Graph names an input that is no node before it");
    static_assert(Wires::inputs_differ(), "trireme: a node of a Graph names the same input twice");
    static_assert(Wires::all_used(),
                  "trireme: a value of a Graph is used by no node; only the last node's is the graph's output");
    return Wires::names_differ() && Wires::all_exist() && Wires::inputs_differ() && Wires::all_used();
  } else {
    return false;
  }
}

template <bool is_valid, class In, class... Nodes>
struct GraphLayers;
template <class In, class... Nodes>
struct GraphLayers<true, In, Nodes...> {
  template <std::size_t... S>
  static auto of(std::index_sequence<S...>)
      -> Sequential<In, decltype(graph_segment<S>(std::declval<std::tuple<Nodes const&...> const&>()))...>;
  using type = decltype(of(std::make_index_sequence<GraphWires<Nodes...>::segment_count>()));
};
/// After a sentence of require_graph, without further errors.
template <class In, class... Nodes>
struct GraphLayers<false, In, Nodes...> {
  using type = Sequential<Skip>;
};

}  // namespace detail

/// Directed acyclic graph of layers.
///
///     Graph{Input<64, 64, 1>{}, node<"a">(Conv2D<8, 3, 3, Same>{}), node<"b", "input">(Conv2D<8, 1, 1>{}),
///           node<"sum", "a", "b">(Add{}), node<"head">(Dense<10>{})}
///
/// A node takes values of nodes before it; the last one's is the output, with its extents. The graph is a Sequential of
/// its segments, cut wherever a single value goes on, so that pipelines cut it as they cut a Sequential. Source:
/// Keras's functional models.
///
/// Compile-time errors: no Input at the beginning, or no node; two nodes of one name; a node that names an input that
/// is no node before it, or one input twice; a value that no node uses, other than the last; a tuple among several
/// inputs of a node; a layer that does not take the extents of its input, or takes more than 32 tensors.
/// \throws ShapeError from `compile` if `dynamic` extents do not fit a layer.
template <class In, class... Nodes>
class Graph : public detail::GraphLayers<detail::require_graph<In, Nodes...>(), In, Nodes...>::type {
  using Wires = detail::GraphWires<Nodes...>;

 public:
  using Layers = typename detail::GraphLayers<detail::require_graph<In, Nodes...>(), In, Nodes...>::type;
  static constexpr std::string_view class_name = "Functional";
  static constexpr bool is_chain = false;
  using graph_of = Graph;

  constexpr Graph() = default;
  /// Graph of an input and of nodes, each behind those that it takes.
  constexpr explicit Graph(In const& input, Nodes const&... nodes)
      : Graph(input, std::tuple<Nodes const&...>(nodes...), std::make_index_sequence<Wires::segment_count>()) {}

 private:
  template <std::size_t... S>
  constexpr Graph(In const& input, std::tuple<Nodes const&...> const& nodes, std::index_sequence<S...>)
      : Layers(input, detail::graph_segment<S>(nodes)...) {}
};
template <class In, class... Nodes>
Graph(In const&, Nodes const&...) -> Graph<In, Nodes...>;

namespace detail {
template <class In, class... Nodes>
inline constexpr bool is_sequential<Graph<In, Nodes...>> = true;
}  // namespace detail

}  // namespace trireme
