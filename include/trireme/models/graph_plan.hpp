/// The plan of a graph of layers: where values and their gradients lie between forward and backward.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/buffer_plan.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// The values that each node takes, as one std::index_sequence a node. Values below `Sources` are those that the nodes
/// are given: the input, or its parts where there are several; value Sources + i is the output of node i.
template <std::size_t Sources, class... Inputs>
struct Wiring {};

template <class Wires, class... Layers>
class GraphPlan;

/// Of the nodes' wiring, known by type, and of their layers. Outputs are kept for backward; gradients of values share
/// memory by their lives.
template <std::size_t Sources, class... Inputs, class... Layers>
class GraphPlan<Wiring<Sources, Inputs...>, Layers...> {
  template <std::size_t I>
  using InputsOf = std::tuple_element_t<I, std::tuple<Inputs...>>;

 public:
  static constexpr std::size_t count = sizeof...(Layers), sources = Sources, all_values = Sources + count,
                               result = all_values - 1;
  template <std::size_t I>
  using LayerAt = std::tuple_element_t<I, std::tuple<Layers...>>;
  template <class U>
  using PerValue = std::array<U, all_values>;

  constexpr explicit GraphPlan(std::tuple<Layers const&...> const& layers) : layers_(layers) {}

  template <std::size_t I>
  constexpr auto const& layer() const {
    return std::get<I>(layers_);
  }

  /// Bytes that a pass needs, from forward until backward.
  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    auto const all = values(in);
    return gradient_layout<T>(all, rows, value_layout<T, Context>(all, rows).bytes).bytes;
  }

  /// Extents of the input, or of its parts, and of all outputs.
  template <class In>
  constexpr auto values(In const& in) const {
    if constexpr (Sources == 1)
      return values_from<0>(std::make_tuple(in));
    else
      return values_from<0>(in.all);
  }

  /// f(index as a constant, layer, extents of its input), in order.
  template <class All, class F>
  constexpr void for_each_node(All const& all, F const& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::integral_constant<std::size_t, I>(), std::get<I>(layers_), input_of<I>(all)), ...);
    }
    (std::make_index_sequence<count>());
  }

  template <class Sequence>
  static constexpr auto as_array = []<std::size_t... V>(std::index_sequence<V...>) {
    return std::array<std::size_t, sizeof...(V)>{V...};
  }
  (Sequence());
  template <std::size_t I>
  static constexpr auto inputs = as_array<InputsOf<I>>;
  /// True if node I reads its inputs where they lie, and writes their gradients there.
  template <std::size_t I>
  static constexpr bool joins = JoinsParts<LayerAt<I>> &&
                                (inputs<I>.size() > 1 || requires { requires LayerAt<I>::joins_one; });
  /// True if a node's inputs are the parts of its output, which lie there already.
  template <class L>
  static constexpr bool joins_in_place = [] {
    if constexpr (JoinsParts<L>)
      return L::join::in_place;
    else
      return false;
  }();

  /// The last node that takes each value: the first in backward, which stores the value's gradient. The result's: none.
  static constexpr PerValue<std::size_t> last_user = []<std::size_t... I>(std::index_sequence<I...>) {
    PerValue<std::size_t> last{};
    last.fill(count);
    auto const use = [&](auto const& values, std::size_t node) {
      for (std::size_t const value : values) last[value] = node;
    };
    (use(inputs<I>, I), ...);
    return last;
  }
  (std::make_index_sequence<count>());
  /// Number of nodes that take each value.
  static constexpr PerValue<std::size_t> users = []<std::size_t... I>(std::index_sequence<I...>) {
    PerValue<std::size_t> number{};
    auto const use = [&](auto const& values) {
      for (std::size_t const value : values) ++number[value];
    };
    (use(inputs<I>), ...);
    return number;
  }
  (std::make_index_sequence<count>());
  /// True for values that lie in the result, whose parts they are.
  static constexpr PerValue<bool> in_result = [] {
    PerValue<bool> in{};
    if constexpr (joins_in_place<LayerAt<count - 1>>)
      for (std::size_t const value : inputs<count - 1>) in[value] = true;
    return in;
  }();
  /// True if node I hands its input on, which lies where it lay.
  template <std::size_t I>
  static constexpr bool aliases = reinterprets<LayerAt<I>>&& I + 1 < count && !in_result[Sources + I];
  /// True if node I alone takes one value, or is the last to take it: its layer writes that value's gradient in place.
  template <std::size_t I>
  static constexpr bool in_place = inputs<I>.size() == 1 && last_user[inputs<I>[0]] == I;
  /// True for nodes that sum up their inputs; false behind the last.
  static constexpr std::array<bool, count + 1> is_sum = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<bool, count + 1>{(joins<I> && joins_by_sum<LayerAt<I>>)..., false};
  }
  (std::make_index_sequence<count>());
  /// True if a sum of which node I's output is a summand may leave its gradient to node I, which only reads it.
  template <std::size_t I>
  static constexpr bool shares_sum =
      aliases<I> && !in_place<I> && users[Sources + I] == 1 && is_sum[last_user[Sources + I]];
  /// The value in whose memory each value's gradient lies: of a value that a node only hands on, that of the value
  /// before it, or of the sum behind it.
  static constexpr PerValue<std::size_t> gradient_of = []<std::size_t... I>(std::index_sequence<I...>) {
    PerValue<std::size_t> of{};
    for (std::size_t value = 0; value < all_values; ++value) of[value] = value;
    ((of[Sources + I] = shares_sum<I>               ? Sources + last_user[Sources + I]
                        : aliases<I> && in_place<I> ? of[inputs<I>[0]]
                                                    : Sources + I),
     ...);
    return of;
  }
  (std::make_index_sequence<count>());
  /// True if the gradient of a value has memory of this pass.
  static constexpr bool has_memory(std::size_t value) {
    return value >= Sources && value < result && gradient_of[value] == value && !in_result[value];
  }

  /// Offsets in bytes of what forward leaves for backward: outputs, saved tensors, and inputs of nodes with several.
  struct ValueLayout {
    PerValue<std::size_t> values{};
    std::array<std::size_t, count> memory{}, parts{};
    std::size_t bytes = 0;
  };
  /// Those of the values' gradients, and behind them of the input gradients of nodes that do not write in place.
  struct GradientLayout {
    std::array<std::size_t, all_values + count> offsets{};
    std::size_t bytes = 0;
  };

  template <std::size_t I, class Known>
  static constexpr auto input_of(Known const& known) {
    return [&]<std::size_t... V>(std::index_sequence<V...>) {
      if constexpr (sizeof...(V) == 1 && !joins<I>) {
        return std::get<V...>(known);
      } else {
        static_assert((!is_parts<std::tuple_element_t<V, Known>> && ...),
                      "trireme: a node of a Graph with several inputs takes tensors; one of its inputs is a tuple");
        return Parts<std::tuple_element_t<V, Known>...>{{std::get<V>(known)...}};
      }
    }
    (InputsOf<I>());
  }

  /// f(value, its extents, its first column when they are joined) for each input of node I.
  template <std::size_t I, class Own, class F>
  static void for_each_input(Own const& own, F const& f) {
    std::size_t column = 0, next = 0;
    for_each_part(own, [&](auto const& part, std::size_t) {
      f(inputs<I>[next++], part, column);
      column += part.back();
    });
  }
  /// f(value, elements of a sample before it) for each source, and for each value that lies in the result.
  template <class All, class F>
  static constexpr void for_each_source(All const& all, F const& f) {
    [&]<std::size_t... V>(std::index_sequence<V...>) {
      std::size_t before = 0;
      ((f(V, before), before += std::get<V>(all).size()), ...);
    }
    (std::make_index_sequence<Sources>());
  }
  template <class All, class F>
  static constexpr void for_each_in_result(All const& all, F const& f) {
    if constexpr (joins_in_place<LayerAt<count - 1>>)
      for_each_part(std::get<result>(all), [&, next = std::size_t{0}](auto const&, std::size_t before) mutable {
        f(inputs<count - 1>[next++], before);
      });
  }

  template <class T, class Context, class All>
  constexpr ValueLayout value_layout(All const& all, std::size_t rows) const {
    ValueLayout places;
    auto const take = [&](std::size_t& offset, std::size_t bytes) {
      offset = places.bytes;
      places.bytes += aligned_bytes(bytes);
    };
    for_each_node(all, [&](auto i, auto const& layer, auto const& own) {
      constexpr std::size_t value = Sources + i;
      if (value < result && !aliases<i> && !in_result[value])
        take(places.values[value], std::get<value>(all).size() * rows * sizeof(T));
      if (inputs<i>.size() > 1 && !joins<i>) take(places.parts[i], own.size() * rows * sizeof(T));
      if (!reinterprets<LayerAt<i>> && !joins<i>) take(places.memory[i], workspace_bytes<T, Context>(layer, own, rows));
    });
    return places;
  }
  /// Behind the `begin` bytes of the values. Time is counted in nodes.
  template <class T, class All>
  constexpr GradientLayout gradient_layout(All const& all, std::size_t rows, std::size_t begin) const {
    std::array<BufferLife, all_values + count> lives{};
    for_each_node(all, [&](auto i, auto const&, auto const& own) {
      constexpr std::size_t value = Sources + i;
      if constexpr (has_memory(value))
        lives[value] = {aligned_bytes(std::get<value>(all).size() * rows * sizeof(T)), i, last_user[value]};
      if constexpr (!joins<i> && !reinterprets<LayerAt<i>> && !in_place<i>)
        lives[all_values + i] = {aligned_bytes(own.size() * rows * sizeof(T)), i, i};
    });
    for_each_node(all, [&](auto i, auto const&, auto const&) {
      constexpr std::size_t value = Sources + i, of = gradient_of[value];
      if constexpr (of != value && has_memory(of)) {
        lives[of].first = std::min<std::size_t>(lives[of].first, i);
        lives[of].last = std::max(lives[of].last, last_user[value]);
      }
    });
    GradientLayout layout;
    layout.bytes = begin + plan_buffers(lives, layout.offsets);
    for (std::size_t& offset : layout.offsets) offset += begin;
    return layout;
  }

  template <class T>
  static T* at(std::byte* memory, std::size_t offset) {
    return reinterpret_cast<T*>(memory + offset);
  }

  /// Addresses of the values: of the last one `y`, and of one that a node only hands on that of its input.
  template <class All, class T>
  static PerValue<T*> addresses(All const& all, std::size_t rows, ValueLayout const& places, std::byte* memory,
                                T const* x, T* y) {
    PerValue<T*> found{};
    for_each_source(all,
                    [&](std::size_t value, std::size_t before) { found[value] = const_cast<T*>(x) + rows * before; });
    found[result] = y;
    for_each_in_result(all, [&](std::size_t value, std::size_t before) { found[value] = y + rows * before; });
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto const place = [&](std::size_t value, bool is_alias, bool gathers, std::size_t input, std::size_t parts) {
        if (value == result || in_result[value]) return;
        found[value] = !is_alias ? at<T>(memory, places.values[value]) : gathers ? at<T>(memory, parts) : found[input];
      };
      (place(Sources + I, aliases<I>, inputs<I>.size() > 1, inputs<I>[0], places.parts[I]), ...);
    }
    (std::make_index_sequence<count>());
    return found;
  }
  /// Addresses of the gradients that the caller has memory for.
  template <class All, class T>
  static PerValue<T*> gradient_addresses(All const& all, BackwardPass<T> const& b) {
    PerValue<T*> found{};
    if (b.dx)
      for_each_source(all, [&](std::size_t value, std::size_t before) { found[value] = b.dx + b.rows * before; });
    found[result] = b.dy;
    for_each_in_result(all, [&](std::size_t value, std::size_t before) { found[value] = b.dy + b.rows * before; });
    return found;
  }

 private:
  template <std::size_t I, class Known>
  constexpr auto values_from(Known const& known) const {
    if constexpr (I == count)
      return known;
    else
      return values_from<I + 1>(
          std::tuple_cat(known, std::make_tuple(output_of(std::get<I>(layers_), input_of<I>(known)))));
  }
  std::tuple<Layers const&...> layers_;
};

}  // namespace trireme::detail
