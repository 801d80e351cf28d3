/// GraphBlock: layers whose inputs are any of the values before them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/buffer_plan.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/input_sources.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// The values that each node takes, as one std::index_sequence a node: 0 is the block's input, i + 1 the output of node
/// i.
template <class... Inputs>
struct Wiring {};

/// A layer that joins the parts of a tuple, so that it may read them, and write their gradients, where they lie.
template <class L>
concept JoinsParts = requires {
  typename L::join;
};

template <class Wires, class... Layers>
class GraphBlock;

/// Runs the nodes in their order, and back. The last one's output is the block's. Outputs are kept for backward;
/// gradients of values share memory by their lives. A value that several nodes take gets the sum of their gradients,
/// from the last node to the first.
template <class... Inputs, class... Layers>
class GraphBlock<Wiring<Inputs...>, Layers...> : public SumsOfLayers<GraphBlock<Wiring<Inputs...>, Layers...>> {
  static constexpr std::size_t count = sizeof...(Layers);
  template <std::size_t I>
  using InputsOf = std::tuple_element_t<I, std::tuple<Inputs...>>;
  template <std::size_t I>
  using LayerAt = std::tuple_element_t<I, std::tuple<Layers...>>;

 public:
  using composite = void;
  static constexpr bool transparent = true;
  static constexpr std::uint32_t leaf_count = (std::uint32_t{0} + ... + leaf_layers<Layers>());
  static constexpr bool has_tables = (... || detail::has_tables<Layers>());

  constexpr GraphBlock() = default;
  constexpr explicit GraphBlock(std::tuple<Layers...> const& layers) : layers_(layers) {}

  template <class In>
  constexpr auto output(In const& in) const {
    return std::get<count>(values(in));
  }

  static constexpr std::size_t node_count = count;
  template <std::size_t I>
  constexpr auto const& node() const {
    return std::get<I>(layers_);
  }
  template <std::size_t I>
  using node_inputs = InputsOf<I>;

  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    for_each_node(values(in), [&](auto, auto const& layer, auto const& own) { visit_layers(layer, own, f); });
  }

  template <class In, class F>
  InputSources trace_inputs(In const& in, InputSources const& sources, F const& f) const {
    std::vector<InputSources> all{sources};
    for_each_node(values(in), [&](auto i, auto const& layer, auto const& own) {
      InputSources taken;
      for (std::size_t const value : inputs<i>) taken.insert(taken.end(), all[value].begin(), all[value].end());
      all.push_back(detail::trace_inputs(layer, own, taken, f));
    });
    return all.back();
  }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    auto const all = values(in);
    return gradient_layout<T>(all, rows, value_layout<T, Context>(all, rows).bytes).bytes;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    auto const all = values(in);
    auto const places = value_layout<T, Context>(all, f.rows);
    auto const y = addresses(places, f.workspace, f.x, f.y);
    ForwardPass<T> call = f;
    for_each_node(all, [&](auto i, auto const& layer, auto const& own) {
      using L = LayerAt<i>;
      T const* const x = joins<i> ? nullptr : gather<i>(context, own, f.rows, y, at<T>(f.workspace, places.parts[i]));
      if constexpr (joins<i>) {
        for_each_input<i>(own, [&](std::size_t value, auto const& part, std::size_t column) {
          L::join::put(context, f.rows * part.size() / part.back(), part.back(), y[value], y[i + 1],
                       std::get<i + 1>(all).back(), column, value == inputs<i>[0]);
        });
      } else if constexpr (reinterprets<L>) {
        if (y[i + 1] != x) kernels::copy(context, f.rows * own.size(), x, y[i + 1]);
      } else {
        call.x = x;
        call.y = y[i + 1];
        call.workspace = f.workspace + places.memory[i];
        run_forward(context, layer, own, call);
      }
      pass_by(layer, own, call);
    });
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    auto const all = values(in);
    auto const places = value_layout<T, Context>(all, b.rows);
    Gradients<T> g{b.workspace,
                   places,
                   gradient_layout<T>(all, b.rows, places.bytes),
                   addresses(places, b.workspace, b.x, const_cast<T*>(b.y)),
                   {},
                   {}};
    g.wanted[0] = b.dx != nullptr;
    for_each_node(all, [&](auto i, auto const& layer, auto const& own) {
      bool wanted = !b.frozen && parameter_elements<T>(layer, own) > 0;
      for (std::size_t const value : inputs<i>) wanted = wanted || g.wanted[value];
      g.wanted[i + 1] = wanted;
    });
    g.dy[0] = b.dx;
    for (std::size_t value = 1; value < count; ++value)
      g.dy[value] = gradient_of[value] == 0 ? b.dx : at<T>(b.workspace, g.layout.offsets[gradient_of[value]]);
    g.dy[count] = b.dy;
    backward_from<0>(context, all, b, g);
  }

 private:
  template <class Sequence>
  static constexpr auto as_array = []<std::size_t... V>(std::index_sequence<V...>) {
    return std::array<std::size_t, sizeof...(V)>{V...};
  }
  (Sequence());
  template <std::size_t I>
  static constexpr auto inputs = as_array<InputsOf<I>>;
  /// True if node I reads its inputs where they lie, and writes their gradients there.
  template <std::size_t I>
  static constexpr bool joins = JoinsParts<LayerAt<I>>&& inputs<I>.size() > 1;
  /// True if node I hands its input on, which lies where it lay.
  template <std::size_t I>
  static constexpr bool aliases = reinterprets<LayerAt<I>>&& I + 1 < count;

  /// The last node that takes each value: the first in backward, which stores the value's gradient.
  static constexpr std::array<std::size_t, count + 1> last_user = []<std::size_t... I>(std::index_sequence<I...>) {
    std::array<std::size_t, count + 1> last{};
    auto const use = [&](auto const& values, std::size_t node) {
      for (std::size_t const value : values) last[value] = node;
    };
    (use(inputs<I>, I), ...);
    return last;
  }
  (std::make_index_sequence<count>());
  /// True if node I alone takes one value, or is the last to take it: its layer writes that value's gradient in place.
  template <std::size_t I>
  static constexpr bool in_place = inputs<I>.size() == 1 && last_user[inputs<I>[0]] == I;
  /// The value in whose memory each value's gradient lies: that of the value which a node only hands on.
  static constexpr std::array<std::size_t, count + 1> gradient_of = []<std::size_t... I>(std::index_sequence<I...>) {
    std::array<std::size_t, count + 1> of{};
    ((of[I + 1] = aliases<I> && in_place<I> ? of[inputs<I>[0]] : I + 1), ...);
    return of;
  }
  (std::make_index_sequence<count>());

  /// Offsets in bytes of what forward leaves for backward: outputs, saved tensors, and inputs of nodes with several.
  struct ValueLayout {
    std::array<std::size_t, count + 1> values{};
    std::array<std::size_t, count> memory{}, parts{};
    std::size_t bytes = 0;
  };
  /// Those of the values' gradients, and behind them of the input gradients of nodes that do not write in place.
  struct GradientLayout {
    std::array<std::size_t, 2 * count + 1> offsets{};
    std::size_t bytes = 0;
  };

  /// Extents of the input and of all outputs.
  template <class In>
  constexpr auto values(In const& in) const {
    return values_from<0>(std::make_tuple(in));
  }
  template <std::size_t I, class Known>
  constexpr auto values_from(Known const& known) const {
    if constexpr (I == count)
      return known;
    else
      return values_from<I + 1>(
          std::tuple_cat(known, std::make_tuple(output_of(std::get<I>(layers_), input_of<I>(known)))));
  }
  template <std::size_t I, class Known>
  static constexpr auto input_of(Known const& known) {
    return [&]<std::size_t... V>(std::index_sequence<V...>) {
      if constexpr (sizeof...(V) == 1) {
        return std::get<V...>(known);
      } else {
        static_assert((!is_parts<std::tuple_element_t<V, Known>> && ...),
                      "trireme: a node of a Graph with several inputs takes tensors; one of its inputs is a tuple");
        return Parts<std::tuple_element_t<V, Known>...>{{std::get<V>(known)...}};
      }
    }
    (InputsOf<I>());
  }

  /// f(index as a constant, layer, extents of its input), in order.
  template <class All, class F>
  constexpr void for_each_node(All const& all, F const& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::integral_constant<std::size_t, I>(), std::get<I>(layers_), input_of<I>(all)), ...);
    }
    (std::make_index_sequence<count>());
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

  template <class T, class Context, class All>
  constexpr ValueLayout value_layout(All const& all, std::size_t rows) const {
    ValueLayout places;
    auto const take = [&](std::size_t& offset, std::size_t bytes) {
      offset = places.bytes;
      places.bytes += aligned_bytes(bytes);
    };
    for_each_node(all, [&](auto i, auto const& layer, auto const& own) {
      if (i + 1 < count && !aliases<i>) take(places.values[i + 1], std::get<i + 1>(all).size() * rows * sizeof(T));
      if (inputs<i>.size() > 1 && !joins<i>) take(places.parts[i], own.size() * rows * sizeof(T));
      if (!reinterprets<LayerAt<i>>) take(places.memory[i], workspace_bytes<T, Context>(layer, own, rows));
    });
    return places;
  }
  /// Behind the `begin` bytes of the values.
  template <class T, class All>
  constexpr GradientLayout gradient_layout(All const& all, std::size_t rows, std::size_t begin) const {
    std::array<BufferLife, 2 * count + 1> lives{};
    for_each_node(all, [&](auto i, auto const&, auto const& own) {
      if constexpr (i + 1 < count) {
        constexpr std::size_t value = gradient_of[i + 1];
        if constexpr (value == i + 1)
          lives[value] = {aligned_bytes(std::get<value>(all).size() * rows * sizeof(T)), i, last_user[value]};
        else if constexpr (value != 0)
          lives[value].last = std::max(lives[value].last, last_user[i + 1]);
      }
      if (!joins<i> && !reinterprets<LayerAt<i>> && !in_place<i>)
        lives[count + 1 + i] = {aligned_bytes(own.size() * rows * sizeof(T)), i, i};
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
  template <class T>
  static std::array<T*, count + 1> addresses(ValueLayout const& places, std::byte* memory, T const* x, T* y) {
    std::array<T*, count + 1> all{const_cast<T*>(x)};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((all[I + 1] = I + 1 == count         ? y
                     : !aliases<I>          ? at<T>(memory, places.values[I + 1])
                     : inputs<I>.size() > 1 ? at<T>(memory, places.parts[I])
                                            : all[inputs<I>[0]]),
       ...);
    }
    (std::make_index_sequence<count>());
    return all;
  }

  /// The input of node I: the value that it takes, or all of them, one after the other, in `parts`.
  template <std::size_t I, class Context, class Own, class T>
  static T const* gather(Context& context, Own const& own, std::size_t rows, std::array<T*, count + 1> const& y,
                         T* parts) {
    if constexpr (inputs<I>.size() == 1) {
      return y[inputs<I>[0]];
    } else {
      std::size_t next = 0;
      for_each_part(own, [&](auto const& part, std::size_t before) {
        kernels::copy(context, rows * part.size(), static_cast<T const*>(y[inputs<I>[next++]]), parts + rows * before);
      });
      return parts;
    }
  }

  template <class T>
  struct Gradients {
    std::byte* memory;
    ValueLayout places;
    GradientLayout layout;
    std::array<T*, count + 1> y, dy;
    std::array<bool, count + 1> wanted;  ///< true if a node before the value trains, or the block's input gradient is
  };

  /// Runs the last node first, since gradients become final from the end of the arena.
  template <std::size_t I, class Context, class All, class T>
  void backward_from(Context& context, All const& all, BackwardPass<T> const& b, Gradients<T>& g) const {
    auto const& layer = std::get<I>(layers_);
    auto const own = input_of<I>(all);
    if constexpr (I + 1 < count) {
      BackwardPass<T> next = b;
      pass_by(layer, own, next);
      backward_from<I + 1>(context, all, next, g);
    }
    if (!g.wanted[I + 1]) return;
    if constexpr (joins<I>)
      split<I>(context, own, std::get<I + 1>(all).back(), b.rows, g);
    else if constexpr (reinterprets<LayerAt<I>>)
      add_input_gradients<I>(context, own, b.rows, g.dy[I + 1], g);
    else
      backward_layer<I>(context, layer, own, b, g);
  }

  /// The gradients of values that node I joins, from the columns of its own.
  template <std::size_t I, class Context, class Own, class T>
  static void split(Context& context, Own const& own, std::size_t width, std::size_t rows, Gradients<T> const& g) {
    for_each_input<I>(own, [&](std::size_t value, auto const& part, std::size_t column) {
      if (g.wanted[value])
        LayerAt<I>::join::take(context, rows * part.size() / part.back(), part.back(),
                               static_cast<T const*>(g.dy[I + 1]), width, column, g.dy[value], last_user[value] == I);
    });
  }

  template <std::size_t I, class Context, class L, class Own, class T>
  static void backward_layer(Context& context, L const& layer, Own const& own, BackwardPass<T> const& b,
                             Gradients<T>& g) {
    bool wants_dx = false;
    for (std::size_t const value : inputs<I>) wants_dx = wants_dx || g.wanted[value];
    T* const dx = in_place<I> ? g.dy[inputs<I>[0]] : at<T>(g.memory, g.layout.offsets[count + 1 + I]);
    BackwardPass<T> call = b;
    call.x = inputs<I>.size() == 1 ? g.y[inputs<I>[0]] : at<T>(g.memory, g.places.parts[I]);
    call.y = g.y[I + 1];
    call.dy = g.dy[I + 1];
    call.dx = wants_dx ? dx : nullptr;
    call.workspace = g.memory + g.places.memory[I];
    run_backward(context, layer, own, call);
    if (b.sink && !b.frozen && parameter_elements<T>(layer, own) > 0) b.sink->ready(b.gradients);
    if (wants_dx && !in_place<I>) add_input_gradients<I>(context, own, b.rows, dx, g);
  }

  /// Adds the gradient of node I's input to those of the values that it takes, or stores the first.
  template <std::size_t I, class Context, class Own, class T>
  static void add_input_gradients(Context& context, Own const& own, std::size_t rows, T const* dx,
                                  Gradients<T> const& g) {
    auto const add = [&](std::size_t value, std::size_t elements, T const* from) {
      if (!g.wanted[value] || from == g.dy[value]) return;
      if (last_user[value] == I)
        kernels::copy(context, elements, from, g.dy[value]);
      else
        context.for_each("trireme::add_gradients", elements, kernels::AddTo<T>{from, g.dy[value]});
    };
    if constexpr (inputs<I>.size() == 1) {
      add(inputs<I>[0], rows * own.size(), dx);
    } else {
      std::size_t next = 0;
      for_each_part(own, [&](auto const& part, std::size_t before) {
        add(inputs<I>[next++], rows * part.size(), dx + rows * before);
      });
    }
  }

  std::tuple<Layers...> layers_{};
};

}  // namespace trireme::detail
