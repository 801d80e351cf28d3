/// Graphs and branches in a program: nodes in their order, and back.
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/layers/layer.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/graph_block.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/sequential.hpp"

namespace trireme::lowering {

template <>
struct LayerLowering<Skip> {
  template <class T, class E>
  static auto forward(Trace<T>&, Skip const&, Value<T, E> const& x) {
    return Lowered{x, [](Trace<T>&, Value<T, E> const& dy) { return dy; }};
  }
};

namespace detail {

/// Lowering of a layer at its place among the others.
template <class L, class T, class E>
auto lower_next(Trace<T>& trace, L const& layer, Value<T, E> const& x) {
  if constexpr (require_layer_lowering<L>()) {
    auto const lowered = LayerLowering<L>::forward(trace, layer, x);
    if constexpr (!trireme::detail::is_composite<L>) trace.next_layer(1);
    return lowered;
  }
}

template <class First>
auto sum(Builder&, First const& first) {
  return first;
}
template <class First, class Second, class... Rest>
auto sum(Builder& b, First const& first, Second const& second, Rest const&... rest) {
  return sum(b, b.add(first, second), rest...);
}

/// Lowering of a join. `backward` returns the tuple of the gradients of what it joined.
template <class Join, class T, class... E>
auto lower_join(Trace<T>& trace, Value<T, E> const&... parts) {
  Builder& b = trace.builder();
  if constexpr (std::is_same_v<Join, trireme::detail::SumJoin>) {
    auto const y = sum(b, parts...);
    return Lowered{y, [parts...](Trace<T>&, auto const& dy) {
                     return std::tuple{Value<T, E>{parts.extents, dy.id}...};
                   }};
  } else {
    std::size_t rows = 0;
    ((rows = parts.extents[0]), ...);
    auto const y =
        b.concatenate_back(with_rows(rows, Join::output(lowering::without_front(parts.extents)...)), parts...);
    return Lowered{y, [parts...](Trace<T>& t, auto const& dy) {
                     std::size_t column = 0;
                     auto const next = [&](auto const& part) {
                       std::size_t const begin = std::exchange(column, column + part.extents.back());
                       return t.builder().columns(dy, begin, part.extents);
                     };
                     return std::tuple{next(parts)...};
                   }};
  }
}

/// Adds to a gradient, or sets the first one.
template <class T, class E, class F>
void add_gradient(Trace<T>& trace, std::optional<Value<T, E>>& sum, E const& extents, Value<T, F> const& gradient) {
  Value<T, E> const own{extents, gradient.id};
  sum = sum ? trace.builder().add(*sum, own) : own;
}

/// Branches on the same input, joined.
template <class Join, class Model>
struct BranchesLowering {
  template <class T, class E>
  static auto forward(Trace<T>& trace, Model const& model, Value<T, E> const& x) {
    // In the order of the braces, as the branches' parameters lie.
    auto const branches =
        model.apply_to_branches([&](auto const&... branch) { return std::tuple{lower_next(trace, branch, x)...}; });
    auto const joined =
        std::apply([&](auto const&... branch) { return lower_join<Join>(trace, branch.y...); }, branches);
    return Lowered{joined.y, [=](Trace<T>& t, auto const& dy) {
                     auto const parts = joined.backward(t, dy);
                     std::optional<Value<T, E>> dx;
                     [&]<std::size_t... I>(std::index_sequence<I...>) {
                       (add_gradient(t, dx, x.extents, std::get<I>(branches).backward(t, std::get<I>(parts))), ...);
                     }
                     (std::make_index_sequence<std::tuple_size_v<decltype(parts)>>());
                     return *dx;
                   }};
  }
};

}  // namespace detail

template <class... Branches>
requires(sizeof...(Branches) > 0) struct LayerLowering<Add<Branches...>>
    : detail::BranchesLowering<trireme::detail::SumJoin, Add<Branches...>> {
};
template <class... Branches>
requires(sizeof...(Branches) > 0) struct LayerLowering<Concatenate<Branches...>>
    : detail::BranchesLowering<trireme::detail::ConcatenateJoin, Concatenate<Branches...>> {
};
template <class... Layers>
struct LayerLowering<Residual<Layers...>> : detail::BranchesLowering<trireme::detail::SumJoin, Residual<Layers...>> {};

template <class Inputs, class... Layers>
struct LayerLowering<trireme::detail::GraphBlock<Inputs, Layers...>> {
  using Block = trireme::detail::GraphBlock<Inputs, Layers...>;
  static constexpr std::size_t count = sizeof...(Layers);
  template <std::size_t I>
  using InputsOf = typename Block::template node_inputs<I>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Block const& block, Value<T, E> const& x) {
    return from<0>(trace, block, std::tuple{x}, std::tuple<>());
  }

 private:
  /// `values`: the input and the outputs of the nodes before; `nodes`: how these were lowered.
  template <std::size_t I, class T, class Values, class Nodes>
  static auto from(Trace<T>& trace, Block const& block, Values const& values, Nodes const& nodes) {
    if constexpr (I == count) {
      return Lowered{
          std::get<count>(values), [=](Trace<T>& t, auto const& dy) {
            auto gradients = std::apply(
                [](auto const&... value) { return std::tuple<std::optional<std::decay_t<decltype(value)>>...>(); },
                values);
            detail::add_gradient(t, std::get<count>(gradients), std::get<count>(values).extents, dy);
            back<count>(t, values, nodes, gradients);
            return *std::get<0>(gradients);
          }};
    } else {
      auto const here = lower_node<I>(trace, block, values, InputsOf<I>());
      return from<I + 1>(trace, block, std::tuple_cat(values, std::tuple{here.y}),
                         std::tuple_cat(nodes, std::tuple{here}));
    }
  }

  template <std::size_t I, class T, class Values, std::size_t... V>
  static auto lower_node(Trace<T>& trace, Block const& block, Values const& values, std::index_sequence<V...>) {
    auto const& layer = block.template node<I>();
    using L = std::remove_cvref_t<decltype(layer)>;
    if constexpr (sizeof...(V) == 1) {
      return detail::lower_next(trace, layer, std::get<V>(values)...);
    } else {
      static_assert(trireme::detail::JoinsParts<L>,
                    "trireme: a node of several inputs cannot be compiled for a PJRT device unless it is Add or "
                    "Concatenate; take another strategy for this model");
      trace.next_layer(1);
      return detail::lower_join<typename L::join>(trace, std::get<V>(values)...);
    }
  }

  /// Through the nodes before I, from the last to the first.
  template <std::size_t I, class T, class Values, class Nodes, class Gradients>
  static void back(Trace<T>& trace, Values const& values, Nodes const& nodes, Gradients& gradients) {
    if constexpr (I > 0) {
      auto const result = std::get<I - 1>(nodes).backward(trace, *std::get<I>(gradients));
      [&]<std::size_t... V>(std::index_sequence<V...>) {
        if constexpr (sizeof...(V) == 1) {
          (detail::add_gradient(trace, std::get<V>(gradients), std::get<V>(values).extents, result), ...);
        } else {
          std::apply(
              [&](auto const&... part) {
                (detail::add_gradient(trace, std::get<V>(gradients), std::get<V>(values).extents, part), ...);
              },
              result);
        }
      }
      (InputsOf<I - 1>());
      back<I - 1>(trace, values, nodes, gradients);
    }
  }
};

template <class In, class... Nodes>
struct LayerLowering<Graph<In, Nodes...>> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, Graph<In, Nodes...> const& graph, Value<T, E> const& x) {
    using Layers = typename Graph<In, Nodes...>::Layers;
    return LayerLowering<Layers>::forward(trace, static_cast<Layers const&>(graph), x);
  }
};

}  // namespace trireme::lowering
