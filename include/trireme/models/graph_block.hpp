/// GraphBlock: layers whose inputs are any of the values before them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/layers/final_activation.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/graph_layer.hpp"
#include "trireme/models/wiring.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// The values that each node takes, as one std::index_sequence a node: 0 is the input, i + 1 the output of node i.
template <class... Inputs>
struct NodeInputs {};

/// Extents of the first values of a graph: those of the last one of these, and `before` it. Unlike tuples of them, each
/// is one class, which compiles in no time.
template <class Before, class E>
struct KnownValues {
  static constexpr std::size_t count = Before::count + 1;

  template <std::size_t I>
  constexpr auto const& get() const {
    if constexpr (I + 1 == count)
      return last;
    else
      return before.template get<I>();
  }

  Before before;
  E last;
};
struct NoValues {
  static constexpr std::size_t count = 0;
};

template <class Inputs, class... Layers>
class GraphBlock;

/// The nodes of a graph between two cuts as one layer. The last one's output is its own.
template <class... Inputs, class... Layers>
class GraphBlock<NodeInputs<Inputs...>, Layers...> : public GraphLayer<GraphBlock<NodeInputs<Inputs...>, Layers...>> {
  static constexpr std::size_t count = sizeof...(Layers);
  using Last = std::tuple_element_t<count - 1, std::tuple<Layers...>>;

  /// Number of inputs of nodes that are this value.
  static constexpr std::size_t users(std::size_t value) {
    std::size_t number = 0;
    auto const count_in = [&]<std::size_t... V>(std::index_sequence<V...>) {
      number += (std::size_t{V == value} + ...);
    };
    (count_in(Inputs{}), ...);
    return number;
  }
  /// The node that makes output I for nothing else; `count` if there is none.
  template <std::size_t I>
  static constexpr std::size_t maker() {
    using Taken = std::tuple_element_t<count - 1, std::tuple<Inputs...>>;
    if constexpr (!hands_on<Last, I> || Taken::size() < 2 || I >= Taken::size()) {
      return count - 1;
    } else {
      std::size_t const value = [&]<std::size_t... V>(std::index_sequence<V...>) {
        return std::array{V...}[I];
      }(Taken{});
      return value == 0 || users(value) > 1 ? count : value - 1;
    }
  }
  template <std::size_t I>
  static constexpr auto ending() {
    if constexpr (constexpr std::size_t made = maker<I>(); made == count)
      return std::type_identity<void>();
    else if constexpr (made == count - 1)
      return FinalActivationOf<Last, I>();
    else
      return FinalActivation<std::tuple_element_t<made, std::tuple<Layers...>>>();
  }

 public:
  using graph_of = GraphBlock;
  static constexpr bool transparent = true;
  static constexpr std::uint32_t leaf_count = (std::uint32_t{0} + ... + leaf_layers<Layers>());
  static constexpr bool has_tables = (... || detail::has_tables<Layers>());
  static constexpr bool has_lookups = (... || detail::has_lookups<Layers>());
  static constexpr bool has_shared = (... || detail::has_shared<Layers>());

  constexpr GraphBlock() = default;
  constexpr explicit GraphBlock(std::tuple<Layers...> const& layers) : layers_(layers) {}

  template <class In>
  constexpr auto output(In const& in) const {
    return values(in).last;
  }

  using final_activation = typename FinalActivation<Last>::type;
  constexpr auto without_activation() const { return with_last(node<count - 1>().without_activation()); }
  /// The same of one of several outputs, as in Sequential: of the last node, or of one whose value that hands on.
  template <std::size_t I>
  using final_activation_of = typename decltype(ending<I>())::type;
  template <std::size_t Bits, std::size_t Count>
  constexpr auto without_activations() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return with_layers(bare_node<I, Bits, Count>()...);
    }(std::make_index_sequence<count>());
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
    auto const known = values(in);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(node<I>(), input_of<I>(known)), ...);
    }(std::make_index_sequence<count>());
  }

  template <class Context, class In, class Builder>
  static constexpr Values wire(Values const& inputs, Builder& builder) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using Known = decltype(std::declval<GraphBlock const&>().values(std::declval<In const&>()));
      std::array<Values, count + 1> outputs{inputs};
      ((outputs[I + 1] = detail::wire<Context, Layers, decltype(input_of<I>(std::declval<Known const&>()))>(
            taken<I>(outputs), builder)),
       ...);
      return outputs[count];
    }(std::make_index_sequence<count>());
  }
  template <class Context, class In, class F>
  constexpr void visit(In const& in, F& f) const {
    for_each_layer(in, [&](auto const& layer, auto const& own) { detail::visit<Context>(layer, own, f); });
  }
  template <class Context, class In, class F>
  constexpr void visit_back(In const& in, F& f) const {
    auto const known = values(in);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::visit_back<Context>(node<count - 1 - I>(), input_of<count - 1 - I>(known), f), ...);
    }(std::make_index_sequence<count>());
  }

 private:
  template <class... L>
  static constexpr auto with_layers(L const&... layers) {
    return GraphBlock<NodeInputs<Inputs...>, L...>(std::tuple<L...>(layers...));
  }
  template <class L>
  constexpr auto with_last(L const& layer) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return with_layers(node<I>()..., layer);
    }(std::make_index_sequence<count - 1>());
  }

  /// Node N without the activations of those of `Count` outputs that it makes and whose bit is set.
  template <std::size_t N, std::size_t Bits, std::size_t Count>
  constexpr auto bare_node() const {
    constexpr std::size_t own = []<std::size_t... I>(std::index_sequence<I...>) {
      return (std::size_t{0} + ... + (maker<I>() == N ? Bits & std::size_t{1} << I : 0));
    }(std::make_index_sequence<Count>());
    if constexpr (own == 0)
      return node<N>();
    else if constexpr (N == count - 1)
      return node<N>().template without_activations<own, Count>();
    else
      return node<N>().without_activation();
  }

  template <std::size_t I>
  static constexpr Values taken(std::array<Values, count + 1> const& values) {
    return [&]<std::size_t... V>(std::index_sequence<V...>) {
      Values all;
      (all.add(values[V]), ...);
      return all;
    }(node_inputs<I>());
  }

  /// Extents of the input and of all outputs.
  template <class In>
  constexpr auto values(In const& in) const {
    return values_from<0>(KnownValues<NoValues, In>{{}, in});
  }
  template <std::size_t I, class Known>
  constexpr auto values_from(Known const& known) const {
    if constexpr (I == count) {
      return known;
    } else {
      auto const next = output_of(node<I>(), input_of<I>(known));
      return values_from<I + 1>(KnownValues<Known, std::remove_const_t<decltype(next)>>{known, next});
    }
  }
  /// Extents of the input of node I: those of a value, or of a tuple of several.
  template <std::size_t I, class Known>
  static constexpr auto input_of(Known const& known) {
    return [&]<std::size_t... V>(std::index_sequence<V...>) {
      if constexpr (sizeof...(V) == 1) {
        return known.template get<V...>();
      } else {
        static_assert((!is_parts<std::remove_cvref_t<decltype(known.template get<V>())>> && ...),
                      "trireme: a node of a Graph with several inputs takes tensors; one of its inputs is a tuple");
        return Parts<std::remove_cvref_t<decltype(known.template get<V>())>...>{{known.template get<V>()...}};
      }
    }(node_inputs<I>());
  }

  std::tuple<Layers...> layers_{};
};

}  // namespace trireme::detail
