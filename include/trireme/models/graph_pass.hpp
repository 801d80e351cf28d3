/// Forward and backward through a graph of layers: what every model runs.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/graph_plan.hpp"
#include "trireme/models/planned_graph.hpp"
#include "trireme/models/wiring.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// Runs the nodes of a layer in their order, and back. A value that several nodes take gets the sum of their gradients,
/// from the last node to the first.
template <class T, class Context, class L, class In>
class GraphPass {
  static constexpr auto const& wiring = wiring_of<Context, L, In>;
  using Wired = std::remove_cvref_t<decltype(wiring)>;
  using Plan = GraphPlan<Wired>;
  template <class U>
  using PerValue = typename Wired::template PerValue<U>;
  static constexpr std::size_t nodes = Wired::node_count;
  static constexpr bool stores = StoresOutputs<Context>;
  using Stored = stored_t<Context, T>;
  using Memory = GraphMemory<T>;
  using State = GraphBackwardState<T, Wired>;

 public:
  constexpr GraphPass(L const& layer, In const& in) : layer_(layer), in_(in), graph_(layer, in) {}

  /// Bytes from forward until backward.
  constexpr std::size_t workspace(std::size_t rows) const {
    std::size_t bytes = own_bytes(rows);
    auto const add = [&](auto const& layer, auto const& in) { bytes += node_bytes(layer, in, rows); };
    detail::visit<Context>(layer_, in_, add);
    return bytes;
  }

  /// True if all nodes that take the input read `rows` rows of it where they lie apart.
  constexpr bool takes_scattered_rows(std::size_t rows) const {
    if (wiring.sources != 1 || wiring.results.count(0) > 0) return false;
    bool all = true;
    std::size_t node = 0;
    auto const ask = [&]<class Node, class Own>(Node const& layer, Own const& in) {
      if constexpr (computes<Node, Own>)
        if (wiring.nodes[node++].inputs.count(0) > 0)
          all = all && detail::takes_scattered_rows<T, Context>(layer, in, rows);
    };
    detail::visit<Context>(layer_, in_, ask);
    return all;
  }

  void forward(Context& context, ForwardPass<T> const& f) const {
    Memory const memory{f.rows, block_of(f.x), f.y, f.workspace};
    ForwardPass<T> call = f;
    call.workspace += own_bytes(f.rows);
    std::size_t node = 0;
    auto const run = [&]<class Node, class Own>(Node const& layer, Own const& in) {
      if constexpr (computes<Node, Own>) {
        forward_node(context, node, layer, in, memory, f, call);
        if constexpr (stores) store_outputs(context, node, memory);
        ++node;
      }
      call.workspace += node_bytes(layer, in, f.rows);
      pass_by(layer, in, call);
    };
    detail::visit<Context>(layer_, in_, run);
    for_each_copy([&](std::size_t value, std::size_t before) {
      kernels::copy(context, f.rows * size(value), memory.values(plan().values[value]), f.y + f.rows * before);
    });
  }

  /// Tells the sink when a node's gradients are final.
  void backward(Context& context, BackwardPass<T> const& b) const {
    State state{{b.rows, block_of(b.x), const_cast<T*>(b.y), b.workspace}, {b.rows, b.dx, b.dy, b.workspace}};
    find_wanted(b, state);
    begin_gradients(context, b, state);
    BackwardPass<T> call = b;
    pass_by(layer_, in_, call);
    call.workspace += workspace(b.rows);
    std::size_t node = nodes;
    auto const run = [&]<class Node, class Own>(Node const& layer, Own const& in) {
      pass_back(layer, in, call);
      call.workspace -= node_bytes(layer, in, b.rows);
      if constexpr (computes<Node, Own>)
        if (state.wanted[wiring.nodes[--node].first_output]) backward_node(context, node, layer, in, b, call, state);
    };
    detail::visit_back<Context>(layer_, in_, run);
  }

 private:
  /// Address of the input, which the pass does not change; null if its rows are scattered.
  static T* block_of(RowsView<T> const& x) { return const_cast<T*>(x.block()); }

  constexpr Plan const& plan() const { return graph_.plan(); }
  constexpr std::size_t size(std::size_t value) const { return graph_.size(value); }

  constexpr std::size_t own_bytes(std::size_t rows) const {
    return rows * plan().elements * sizeof(T) +
           (stores ? aligned_bytes(rows * plan().stored_elements * sizeof(Stored)) : 0);
  }
  template <class Node, class Own>
  static constexpr std::size_t node_bytes(Node const& layer, Own const& in, std::size_t rows) {
    if constexpr (computes<Node, Own> && !JoinsParts<Node>)
      return workspace_bytes<T, Context>(layer, in, rows);
    else
      return 0;
  }

  /// f(value, elements of a sample before it in the output) for each part of the output that is a copy.
  template <class F>
  constexpr void for_each_copy(F const& f) const {
    for (std::size_t const k : plan().copied_results) {
      std::size_t before = 0;
      for (std::size_t i = 0; i < k; ++i) before += size(wiring.results[i]);
      f(wiring.results[k], before);
    }
  }

  /// f(value, extents, elements of a sample before it) for each input of a node.
  template <class Own, class F>
  static void for_each_input(std::size_t node, Own const& in, F const& f) {
    std::size_t next = 0;
    for_each_part(in,
                  [&](auto const& part, std::size_t before) { f(wiring.nodes[node].inputs[next++], part, before); });
  }

  /// The input of a layer, whose parts are copied to `gathered` where they do not lie side by side.
  template <class Own>
  T const* input_of(Context& context, std::size_t node, Own const& in, Memory const& memory,
                    PerValue<Place> const& places, Place gathered, bool copy) const {
    if (!plan().gathers[node]) return memory.values(places[wiring.nodes[node].inputs[0]]);
    T* const to = memory.values(gathered);
    if (copy)
      for_each_input(node, in, [&](std::size_t value, auto const& part, std::size_t before) {
        kernels::copy(context, memory.rows * part.size(), static_cast<T const*>(memory.values(places[value])),
                      to + memory.rows * before);
      });
    return to;
  }

  template <class Node, class Own>
  void forward_node(Context& context, std::size_t node, Node const& layer, Own const& in, Memory const& memory,
                    ForwardPass<T> const& f, ForwardPass<T>& call) const {
    auto const& places = plan().values;
    T* const y = memory.values(places[wiring.nodes[node].first_output]);
    if constexpr (JoinsParts<Node>) {
      bool first = true;
      for_each_column(node, in, [&](std::size_t value, auto const& part, std::size_t column, std::size_t width) {
        Node::join::put(context, f.rows * part.size() / part.back(), part.back(),
                        static_cast<T const*>(memory.values(places[value])), y, width, column,
                        std::exchange(first, false));
      });
    } else {
      T const* const x = input_of(context, node, in, memory, places, plan().gathered[node], true);
      call.x = x ? RowsView<T>(x) : f.x;
      call.y = y;
      run_forward(context, layer, in, call);
    }
  }

  /// f(value, extents, first column and number of columns of the joined output) for each input of a join.
  template <class Own, class F>
  static void for_each_column(std::size_t node, Own const& in, F const& f) {
    std::size_t width = 0, column = 0;
    for_each_part(in, [&](auto const& part, std::size_t) { width += part.back(); });
    for_each_input(node, in, [&](std::size_t value, auto const& part, std::size_t) {
      f(value, part, column, width);
      column += part.back();
    });
  }

  Stored* stored(std::size_t value, Memory const& memory) const {
    return reinterpret_cast<Stored*>(memory.own + memory.rows * plan().elements * sizeof(T)) +
           memory.rows * plan().stored[value];
  }
  void store_outputs(Context& context, std::size_t node, Memory const& memory) const {
    for (std::size_t k = 0; k < wiring.nodes[node].outputs; ++k) {
      std::size_t const value = wiring.nodes[node].first_output + k;
      if (plan().is_stored[value])
        context.for_each("trireme::store", memory.rows * size(value),
                         kernels::Store<T, Stored>{memory.values(plan().values[value]), stored(value, memory)});
    }
  }
  /// Computes the numbers of a stored value again where a node first needs it.
  void expand(Context& context, std::size_t value, State& state) const {
    if (!plan().is_stored[value] || std::exchange(state.expanded[value], true)) return;
    context.for_each(
        "trireme::expand", state.memory.rows * size(value),
        kernels::Expand<T, Stored>{stored(value, state.memory), state.memory.values(plan().values_in_backward[value])});
  }
  void expand_around(Context& context, std::size_t node, State& state) const {
    for (std::size_t const value : wiring.nodes[node].inputs) expand(context, value, state);
    for (std::size_t k = 0; k < wiring.nodes[node].outputs; ++k)
      expand(context, wiring.nodes[node].first_output + k, state);
  }

  void find_wanted(BackwardPass<T> const& b, State& state) const {
    for (std::size_t source = 0; source < wiring.sources; ++source) state.wanted[source] = b.dx != nullptr;
    std::size_t node = 0;
    auto const mark = [&]<class Node, class Own>(Node const& layer, Own const& in) {
      if constexpr (computes<Node, Own>) {
        auto const& wires = wiring.nodes[node++];
        bool wanted = !b.frozen && parameter_elements<T>(layer, in) > 0;
        for (std::size_t const value : wires.inputs) wanted = wanted || state.wanted[value];
        for (std::size_t k = 0; k < wires.outputs; ++k) state.wanted[wires.first_output + k] = wanted;
      }
    };
    detail::visit<Context>(layer_, in_, mark);
  }

  /// The gradients that are there before any node has run: those of the output, and zero for values that no node takes.
  void begin_gradients(Context& context, BackwardPass<T> const& b, State& state) const {
    for (std::size_t const value : wiring.results) state.written[value] = plan().in_result[value];
    for_each_copy(
        [&](std::size_t value, std::size_t before) { add_gradient(context, value, b.dy + b.rows * before, state); });
    for (std::size_t value = 0; value < Wired::value_count; ++value)
      if (wiring.last_user[value] == nodes && state.wanted[value] && !state.written[value])
        context.for_each("trireme::clear", b.rows * size(value),
                         kernels::Clear<T>{state.gradients.values(plan().gradients[value])});
  }

  void add_gradient(Context& context, std::size_t value, T const* from, State& state) const {
    T* const to = state.gradients.values(plan().gradients[value]);
    if (!state.wanted[value]) return;
    std::size_t const count = state.gradients.rows * size(value);
    if (std::exchange(state.written[value], true))
      context.for_each("trireme::add_gradients", count, kernels::AddTo<T>{from, to});
    else
      kernels::copy(context, count, from, to);
  }

  template <class Node, class Own>
  void backward_node(Context& context, std::size_t node, Node const& layer, Own const& in, BackwardPass<T> const& b,
                     BackwardPass<T>& call, State& state) const {
    auto const& wires = wiring.nodes[node];
    T* const dy = state.gradients.values(plan().gradients[wires.first_output]);
    if constexpr (JoinsParts<Node>) {
      for_each_column(node, in, [&](std::size_t value, auto const& part, std::size_t column, std::size_t width) {
        T* const to = state.gradients.values(plan().gradients[value]);
        if (!state.wanted[value]) return;
        bool const first = !std::exchange(state.written[value], true);
        if (to != dy)
          Node::join::take(context, b.rows * part.size() / part.back(), part.back(), static_cast<T const*>(dy), width,
                           column, to, first);
      });
    } else {
      bool wants_dx = false;
      for (std::size_t const value : wires.inputs) wants_dx = wants_dx || state.wanted[value];
      if constexpr (stores) expand_around(context, node, state);
      auto const& places = plan().values_in_backward;
      bool const in_place = plan().in_place[node];
      T* const dx = state.gradients.values(in_place ? plan().gradients[wires.inputs[0]] : plan().input_gradients[node]);
      T const* const x = input_of(context, node, in, state.memory, places, plan().gathered_in_backward[node], stores);
      call.x = x ? RowsView<T>(x) : b.x;
      call.y = state.memory.values(places[wires.first_output]);
      call.dy = dy;
      call.dx = wants_dx ? dx : nullptr;
      run_backward(context, layer, in, call);
      if (b.sink && !b.frozen && parameter_elements<T>(layer, in) > 0) b.sink->ready(call.gradients);
      if (!wants_dx) return;
      for_each_input(node, in, [&](std::size_t value, auto const&, std::size_t before) {
        if (in_place)
          state.written[value] = true;
        else
          add_gradient(context, value, dx + b.rows * before, state);
      });
    }
  }

  L const& layer_;
  In const& in_;
  PlannedGraph<T, Context, L, In> graph_;
};

/// Passes through a layer of any kind, with the layers within it: those of composites for the layers that they hold.
template <class T, class Context, class L, class In>
constexpr std::size_t pass_workspace(L const& layer, In const& in, std::size_t rows) {
  return GraphPass<T, Context, L, In>(layer, in).workspace(rows);
}
template <class Context, class L, class In, class T>
void pass_forward(Context& context, L const& layer, In const& in, ForwardPass<T> const& f) {
  GraphPass<T, Context, L, In>(layer, in).forward(context, f);
}
template <class Context, class L, class In, class T>
void pass_backward(Context& context, L const& layer, In const& in, BackwardPass<T> const& b) {
  GraphPass<T, Context, L, In>(layer, in).backward(context, b);
}

}  // namespace trireme::detail
