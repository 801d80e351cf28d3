/// The wiring of a graph of layers: nodes, and the values that they take and make, by number.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "trireme/layers/layer.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// Numbers of values: of one, or of the parts of a tuple in their order.
class Values {
 public:
  static constexpr std::size_t most = 32;

  constexpr Values() = default;
  constexpr Values(std::initializer_list<std::size_t> values) {
    for (std::size_t const value : values) add(value);
  }

  static constexpr Values range(std::size_t first, std::size_t count) {
    Values values;
    for (std::size_t i = 0; i < count; ++i) values.add(first + i);
    return values;
  }

  constexpr void add(std::size_t value) { numbers_[count_++] = value; }
  constexpr void add(Values const& others) {
    for (std::size_t const value : others) add(value);
  }

  constexpr std::size_t size() const { return count_; }
  constexpr std::size_t operator[](std::size_t i) const { return numbers_[i]; }
  constexpr std::size_t const* begin() const { return numbers_.data(); }
  constexpr std::size_t const* end() const { return numbers_.data() + count_; }
  constexpr std::size_t count(std::size_t value) const {
    return static_cast<std::size_t>(std::ranges::count(begin(), end(), value));
  }
  /// True for `first`, `first` + 1 and so on, `count` of them.
  constexpr bool is_range(std::size_t first, std::size_t count) const {
    if (count_ != count) return false;
    for (std::size_t i = 0; i < count; ++i)
      if (numbers_[i] != first + i) return false;
    return true;
  }

 private:
  std::array<std::size_t, most> numbers_{};
  std::size_t count_ = 0;
};

/// Kinds of nodes; a lookup is a layer that takes indices.
enum class NodeKind { layer, lookup, sum, concatenation };

constexpr bool is_join(NodeKind kind) { return kind == NodeKind::sum || kind == NodeKind::concatenation; }

/// A layer whose output is some parts of its input, unchanged: those that `selected(parts)` names.
template <class L>
concept Selects = requires(Values const& values) { L::selected(values); };

/// True for a layer that is a node: one that computes. Renamed or selected values stay the values that they are.
template <class L, class In>
inline constexpr bool computes = !reinterprets<L> && !Selects<L> && !(JoinsParts<L> && parts_count<In> == 1);

template <class L>
constexpr NodeKind node_kind() {
  if constexpr (JoinsParts<L>)
    return joins_by_sum<L> ? NodeKind::sum : NodeKind::concatenation;
  else
    return has_lookups<L>() ? NodeKind::lookup : NodeKind::layer;
}

/// Counts nodes and values.
struct NodeCounter {
  std::size_t nodes = 0, values = 0;

  template <class Out>
  constexpr Values add(Values const&, NodeKind) {
    ++nodes;
    values += parts_count<Out>;
    return Values::range(values - parts_count<Out>, parts_count<Out>);
  }
  constexpr Values hand_on(Values const& inputs) const { return inputs; }
};

struct NodeWiring {
  NodeKind kind{};
  Values inputs;
  std::size_t first_output = 0, outputs = 0;
};

/// Nodes in the order in which forward runs them. Values below `sources` are what the graph is given: its input, or the
/// parts of that.
template <std::size_t Nodes, std::size_t Count>
class Wiring {
 public:
  static constexpr std::size_t node_count = Nodes, value_count = Count;
  template <class U>
  using PerNode = std::array<U, Nodes>;
  template <class U>
  using PerValue = std::array<U, Count>;

  template <class In>
  constexpr Values add_sources() {
    add_sizes<In>();
    sources = made_;
    producer.fill(Nodes);
    last_user.fill(Nodes);
    return Values::range(0, sources);
  }
  template <class Out>
  constexpr Values add(Values const& inputs, NodeKind kind) {
    std::size_t const first = made_;
    add_sizes<Out>();
    nodes[node_] = {kind, inputs, first, made_ - first};
    for (std::size_t value = first; value < made_; ++value) producer[value] = node_;
    for (std::size_t const value : inputs) last_user[value] = node_;
    ++node_;
    return Values::range(first, made_ - first);
  }
  constexpr Values hand_on(Values const& inputs) const { return inputs; }

  /// True if these values lie one after the other wherever they were made: all sources, or all outputs of one node.
  constexpr bool adjoin(Values const& values) const {
    std::size_t const node = producer[values[0]];
    return node == Nodes ? values.is_range(0, sources) : values.is_range(nodes[node].first_output, nodes[node].outputs);
  }

  /// True for values that a lookup takes, directly or behind joins, and for what was made with them: rounded, they
  /// would be other indices.
  constexpr PerValue<bool> indices() const {
    PerValue<bool> found{};
    for (std::size_t i = Nodes; i-- > 0;) {
      NodeWiring const& node = nodes[i];
      bool* const outputs = found.data() + node.first_output;
      bool const makes_indices = std::find(outputs, outputs + node.outputs, true) != outputs + node.outputs;
      std::fill(outputs, outputs + node.outputs, makes_indices);
      if (node.kind == NodeKind::lookup || (is_join(node.kind) && makes_indices))
        for (std::size_t const value : node.inputs) found[value] = true;
    }
    return found;
  }

  PerNode<NodeWiring> nodes{};
  Values results;
  std::size_t sources = 0;
  PerValue<std::size_t> sizes{};      ///< elements of a sample, where they are known from the types
  bool is_static = true;              ///< whether all of them are
  PerValue<std::size_t> producer{};   ///< the node that makes a value; of a source: the number of nodes
  PerValue<std::size_t> last_user{};  ///< the last node that takes a value: the first in backward; of none: as above

 private:
  template <class E>
  constexpr void add_sizes() {
    if constexpr (E::is_static)
      for_each_part(E{}, [&](auto const& part, std::size_t) { sizes[made_++] = part.size(); });
    else
      made_ += parts_count<E>, is_static = false;
  }

  std::size_t node_ = 0, made_ = 0;
};

/// A layer that describes a graph of layers, and is part of the graph that it stands in. It has
///   graph_of                         the layer itself: one that derives from it runs as a node of its own
///   wire<Context, In>(inputs, builder)  static: adds its nodes to `builder`, and returns the values of its output
///   visit<Context>(in, f)            f(layer, extents of its input) for each layer and join in the order of `wire`
///   visit_back<Context>(in, f)       the same in reverse
template <class L>
concept GraphOfLayers = std::is_same_v<typename L::graph_of, L>;

/// Context of a wiring in which each layer is a node of its own: none runs as one with the next.
struct UnfusedContext {
  static constexpr bool owns_rows = false;
};

/// Adds a layer with all layers within it to `builder`, which has
///   add<Out>(inputs, kind)  the values that a node makes of its inputs
///   hand_on(inputs)         the values that a layer hands on, which only renames or selects
///   nodes(), end_graph(begin, results)  (optional) the number of nodes; hears of the results of each graph within
template <class Context, class L, class In, class Builder>
constexpr Values wire(Values const& inputs, Builder& builder) {
  static_assert(parts_count<In> <= Values::most, "trireme: a layer takes at most 32 tensors");
  if constexpr (GraphOfLayers<L> && requires { builder.end_graph(std::size_t{}, inputs); }) {
    std::size_t const begin = builder.nodes();
    Values const results = L::template wire<Context, In>(inputs, builder);
    builder.end_graph(begin, results);
    return results;
  } else if constexpr (GraphOfLayers<L>)
    return L::template wire<Context, In>(inputs, builder);
  else if constexpr (Selects<L>)
    return builder.hand_on(L::selected(inputs));
  else if constexpr (computes<L, In>)
    return builder.template add<decltype(output_of(std::declval<L const&>(), std::declval<In const&>()))>(
        inputs, node_kind<L>());
  else
    return builder.hand_on(inputs);
}

template <class Context, class L, class In, class F>
constexpr void visit(L const& layer, In const& in, F& f) {
  if constexpr (GraphOfLayers<L>)
    layer.template visit<Context>(in, f);
  else
    f(layer, in);
}
template <class Context, class L, class In, class F>
constexpr void visit_back(L const& layer, In const& in, F& f) {
  if constexpr (GraphOfLayers<L>)
    layer.template visit_back<Context>(in, f);
  else
    f(layer, in);
}

template <class Context, class L, class In>
constexpr NodeCounter count_nodes() {
  NodeCounter counter{0, parts_count<In>};
  wire<Context, L, In>(Values::range(0, parts_count<In>), counter);
  return counter;
}

/// The wiring of a layer with all layers within it, as Context runs them.
template <class Context, class L, class In>
constexpr auto make_wiring() {
  constexpr NodeCounter counted = count_nodes<Context, L, In>();
  Wiring<counted.nodes, counted.values> wiring;
  Values const sources = wiring.template add_sources<In>();
  wiring.results = wire<Context, L, In>(sources, wiring);
  return wiring;
}
template <class Context, class L, class In>
inline constexpr auto wiring_of = make_wiring<Context, L, In>();

}  // namespace trireme::detail
