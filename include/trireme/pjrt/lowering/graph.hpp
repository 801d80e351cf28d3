/// Graphs of layers in a program: the nodes of a model's wiring in their order, and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/layers/layer.hpp"
#include "trireme/models/wiring.hpp"
#include "trireme/pjrt/lowering/joins.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/trace.hpp"
#include "trireme/pjrt/lowering/tuples.hpp"

namespace trireme::lowering {

namespace detail {
/// Lowers a node: one layer, or one join.
template <class T, class L, class X>
auto lower_node(Trace<T>& trace, L const& layer, X const& x) {
  constexpr bool takes_x = requires { LayerLowering<L>::forward(trace, layer, x); };
  static_assert(takes_x || !is_parts<decltype(sample_extents(x))>,
                "trireme: this layer cannot be compiled for a PJRT device where it takes a tuple of tensors, since its "
                "LayerLowering takes a single one; take another strategy for this model");
  return LayerLowering<L>::forward(trace, layer, x);
}
}  // namespace detail

/// Values of a graph by their numbers, and the nodes through which backward goes: those that train, or whose inputs'
/// gradients are wanted.
template <class T>
class GraphTrace {
 public:
  using Values = trireme::detail::Values;

  /// \param wants_dx  whether the gradients of `x`, the sources, are wanted
  template <class Wired, class X>
  GraphTrace(Wired const& wiring, X const& x, bool wants_dx)
      : results_(wiring.results),
        results_together_(wiring.results[0] >= wiring.sources && wiring.adjoin(wiring.results)) {
    auto const indices = wiring.indices();
    indices_.assign(indices.begin(), indices.end());
    add_values(x, wants_dx);
    sources_ = values_.size();
  }

  /// Lowers the next node, whose input has extents `in`.
  template <class L, class In>
  void add(Trace<T>& trace, trireme::detail::NodeWiring const& wires, L const& layer, In const& in) {
    if constexpr (require_layer_lowering<L>()) {
      auto const x = values(trace.builder(), wires.inputs, in);
      std::size_t const parameters = trace.weights().parameters;
      auto const lowered = detail::lower_node(trace, layer, x);
      bool wanted = trace.weights().parameters > parameters;
      for (std::size_t const value : wires.inputs) wanted = wanted || wanted_[value];
      require_samples(lowered.y, trireme::detail::output_of(layer, in));
      add_values(lowered.y, wanted);
      if (auto const& format = trace.stored()) round_outputs(trace.builder(), wires, *format);
      if (!wanted) return;
      nodes_.push_back({wires.inputs, wires.first_output, wires.outputs, [=](Trace<T>& t, Tensors<T> const& dy) {
                          auto const dx = lowered.backward(t, values_like(lowered.y, dy));
                          require_alike(dx, x);
                          return list_values<T>(dx);
                        }});
    }
  }

  /// The graph's output, with samples of extents `out`.
  template <class Out>
  auto results(Builder& b, Out const& out) const {
    return values(b, results_, out);
  }

  /// The gradients of the sources from those of the results; none where it is not wanted.
  std::vector<std::optional<Value<T, AnyExtents>>> backward(Trace<T>& trace, Tensors<T> const& dy) const {
    Builder& b = trace.builder();
    std::vector<std::optional<Value<T, AnyExtents>>> gradients(values_.size());
    auto const add = [&](std::size_t value, Value<T, AnyExtents> gradient) {
      if (!wanted_[value]) return;
      auto& sum = gradients[value];
      auto const& extents = values_[value].extents;
      if (gradient.extents.values != extents.values) gradient = b.reshape(gradient, extents);
      sum = sum ? b.add(*sum, gradient) : gradient;
    };
    auto const zero_if_unused = [&](std::size_t value) {
      if (!gradients[value]) gradients[value] = b.constant_like(T{0}, values_[value]);
      return *gradients[value];
    };
    for (std::size_t k = 0; k < results_.size(); ++k) add(results_[k], dy[k]);
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      Tensors<T> own;
      for (std::size_t k = 0; k < node->outputs; ++k) own.push_back(zero_if_unused(node->first_output + k));
      auto const dx = node->backward(trace, own);
      for (std::size_t k = 0; k < dx.size(); ++k) add(node->inputs[k], dx[k]);
    }
    for (std::size_t source = 0; source < sources_; ++source)
      if (wanted_[source]) zero_if_unused(source);
    gradients.resize(sources_);
    return gradients;
  }

 private:
  struct Node {
    Values inputs;
    std::size_t first_output, outputs;
    std::function<Tensors<T>(Trace<T>&, Tensors<T> const&)> backward;
  };

  template <class X>
  void add_values(X const& x, bool wanted) {
    for (auto const& value : list_values<T>(x)) {
      values_.push_back(value);
      wanted_.push_back(wanted);
    }
  }

  /// Rounds the outputs of a node, for the layers behind it and for backward. Indices of lookups stay as they are, and
  /// so do results: where a host's kernels write them where the caller wants them.
  void round_outputs(Builder& b, trireme::detail::NodeWiring const& wires, NumberFormat format) {
    for (std::size_t value = wires.first_output; value < wires.first_output + wires.outputs; ++value) {
      if (indices_[value] || (results_.count(value) > 0 && (results_together_ || wires.outputs == 1))) continue;
      auto const rounded = b.round(values_[value], format);
      bool const is_input =
          std::ranges::any_of(wires.inputs, [&](std::size_t input) { return values_[input].id == values_[value].id; });
      if (!is_input) b.replace(values_[value], rounded);
      values_[value] = rounded;
    }
  }

  /// A value with samples of extents E. Layers that only rename give theirs others.
  template <std::size_t... E>
  Value<T, Extents<dynamic, E...>> value(Builder& b, std::size_t number, Extents<E...> const& sample) const {
    auto const& tensor = values_[number];
    auto const extents = with_rows(tensor.extents.values[0], sample);
    if (tensor.extents.values == extents.to_vector()) return {extents, tensor.id};
    return b.reshape(tensor, extents);
  }
  template <std::size_t... E>
  auto values(Builder& b, Values const& numbers, Extents<E...> const& sample) const {
    return value(b, numbers[0], sample);
  }
  template <class... E>
  auto values(Builder& b, Values const& numbers, Parts<E...> const& sample) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<decltype(value(b, 0, E{}))...>{value(b, numbers[I], sample.template part<I>())...};
    }(std::index_sequence_for<E...>());
  }

  template <std::size_t... E, class V>
  static void require_samples(V const& y, Extents<E...> const& sample) {
    require_same(y.extents, with_rows(y.extents[0], sample));
  }
  template <class... E, class... V>
  static void require_samples(std::tuple<V...> const& y, Parts<E...> const& sample) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (require_samples(std::get<I>(y), sample.template part<I>()), ...);
    }(std::index_sequence_for<E...>());
  }

  Values results_;
  std::vector<bool> indices_;  ///< values that a lookup takes
  bool results_together_;
  Tensors<T> values_;
  std::vector<bool> wanted_;
  std::size_t sources_ = 0;
  std::vector<Node> nodes_;
};

/// The output of a graph, and its way back.
template <class Y, class T>
struct TracedGraph {
  Y y;
  std::shared_ptr<GraphTrace<T> const> nodes;
};

/// Lowers a layer with all layers within it. `x` is (rows, extents of its input...), or a tuple of them.
/// \param wants_dx  whether the gradient of x is wanted
template <class L, class T, class X>
auto lower_graph(Trace<T>& trace, L const& layer, X const& x, bool wants_dx) {
  using Context = trireme::detail::UnfusedContext;
  auto const in = sample_extents(x);
  constexpr auto const& wiring = trireme::detail::wiring_of<Context, L, std::remove_const_t<decltype(in)>>;
  auto const nodes = std::make_shared<GraphTrace<T>>(wiring, x, wants_dx);
  std::size_t node = 0;
  auto const visit = [&]<class One, class In>(One const& one, In const& own) {
    std::uint32_t const first = trace.layer();
    if constexpr (trireme::detail::computes<One, In>) nodes->add(trace, wiring.nodes[node++], one, own);
    trace.set_layer(first + trireme::detail::leaf_layers<One>());
  };
  trireme::detail::visit<Context>(layer, in, visit);
  auto const y = nodes->results(trace.builder(), trireme::detail::output_of(layer, in));
  return TracedGraph<std::remove_const_t<decltype(y)>, T>{y, nodes};
}

/// The same as a layer's own lowering, for layers made of layers.
template <class L, class T, class X>
auto lower(Trace<T>& trace, L const& layer, X const& x) {
  auto const graph = lower_graph(trace, layer, x, true);
  return Lowered{graph.y, [x, nodes = graph.nodes](Trace<T>& t, decltype(graph.y) const& dy) {
                   Tensors<T> dx;
                   for (auto const& gradient : nodes->backward(t, list_values<T>(dy))) dx.push_back(*gradient);
                   return values_like(x, dx);
                 }};
}

}  // namespace trireme::lowering
