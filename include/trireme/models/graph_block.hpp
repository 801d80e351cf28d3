/// GraphBlock: layers whose inputs are any of the values before them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
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
    return layout<T, Context>(values(in), rows).bytes;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    auto const all = values(in);
    Layout const places = layout<T, Context>(all, f.rows);
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
    Layout const places = layout<T, Context>(all, b.rows);
    Gradients<T> gradients{places, addresses(places, b.workspace, b.x, const_cast<T*>(b.y)), {}, {}, {}};
    for (std::size_t value = 1; value < count; ++value)
      gradients.dy[value] = at<T>(b.workspace, places.gradients[value]);
    gradients.dy[0] = b.dx;
    gradients.dy[count] = b.dy;
    gradients.wanted[0] = b.dx != nullptr;
    for_each_node(all, [&](auto i, auto const& layer, auto const& own) {
      bool& wanted = gradients.wanted[i + 1] = !b.frozen && parameter_elements<T>(layer, own) > 0;
      for (std::size_t const value : inputs<i>) wanted = wanted || gradients.wanted[value];
    });
    backward_from<0>(context, all, b, b.workspace, gradients);
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

  /// The last node that takes a value.
  template <std::size_t... I>
  static constexpr std::array<std::size_t, count + 1> last_users(std::index_sequence<I...>) {
    std::array<std::size_t, count + 1> last{};
    (
        [&] {
          for (std::size_t const value : inputs<I>) last[value] = I;
        }(),
        ...);
    return last;
  }

  /// Offsets in bytes.
  struct Layout {
    std::array<std::size_t, count + 1> values{}, gradients{};
    std::array<std::size_t, count> memory{}, parts{};
    std::size_t scratch = 0, bytes = 0;
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
  constexpr Layout layout(All const& all, std::size_t rows) const {
    Layout places;
    constexpr auto last = last_users(std::make_index_sequence<count>());
    std::array<BufferLife, count + 1> lives{};
    std::size_t largest = 0, next = 0;
    auto const take = [&](std::size_t& offset, std::size_t bytes) {
      offset = next;
      next += aligned_bytes(bytes);
    };
    for_each_node(all, [&](auto i, auto const& layer, auto const& own) {
      std::size_t const size = std::get<i + 1>(all).size() * rows * sizeof(T), input = own.size() * rows * sizeof(T);
      if (i + 1 < count && !aliases<i>) take(places.values[i + 1], size);
      if (inputs<i>.size() > 1 && !joins<i>) take(places.parts[i], input);
      if (!reinterprets<LayerAt<i>>) take(places.memory[i], workspace_bytes<T, Context>(layer, own, rows));
      if (i + 1 < count) lives[i + 1] = {aligned_bytes(size), i, last[i + 1]};
      if (!joins<i>) largest = std::max(largest, input);
    });
    std::size_t const gradients = next;
    next += plan_buffers(lives, places.gradients);
    for (std::size_t& offset : places.gradients) offset += gradients;
    take(places.scratch, largest);
    places.bytes = next;
    return places;
  }

  template <class T>
  static T* at(std::byte* memory, std::size_t offset) {
    return reinterpret_cast<T*>(memory + offset);
  }

  /// Where the values lie: the last one at `y`, and what a node only hands on where it lay.
  template <class T>
  static std::array<T*, count + 1> addresses(Layout const& places, std::byte* memory, T const* x, T* y) {
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
    Layout const& places;
    std::array<T*, count + 1> y, dy;
    std::array<bool, count + 1> wanted, written;

    /// Adds to the gradient of a value, or stores the first one.
    template <class Context>
    void give(Context& context, std::size_t value, std::size_t elements, T const* from) {
      if (written[value])
        context.for_each("trireme::add_gradients", elements, kernels::AddTo<T>{from, dy[value]});
      else
        kernels::copy(context, elements, from, dy[value]);
      written[value] = true;
    }
  };

  /// Runs the last node first, since gradients become final from the end of the arena.
  template <std::size_t I, class Context, class All, class T>
  void backward_from(Context& context, All const& all, BackwardPass<T> const& b, std::byte* memory,
                     Gradients<T>& gradients) const {
    auto const& layer = std::get<I>(layers_);
    auto const own = input_of<I>(all);
    if constexpr (I + 1 < count) {
      BackwardPass<T> next = b;
      pass_by(layer, own, next);
      backward_from<I + 1>(context, all, next, memory, gradients);
    }
    if (!gradients.wanted[I + 1]) return;
    T* const dy = gradients.dy[I + 1];
    if constexpr (joins<I>) {
      for_each_input<I>(own, [&](std::size_t value, auto const& part, std::size_t column) {
        if (!gradients.wanted[value]) return;
        LayerAt<I>::join::take(context, b.rows * part.size() / part.back(), part.back(), static_cast<T const*>(dy),
                               std::get<I + 1>(all).back(), column, gradients.dy[value], !gradients.written[value]);
        gradients.written[value] = true;
      });
    } else {
      constexpr bool single = inputs<I>.size() == 1;
      T* const scratch = at<T>(memory, gradients.places.scratch);
      // The gradient of the input: written where it belongs if it is the first of that value.
      T const* dx = dy;
      if constexpr (!reinterprets<LayerAt<I>>) {
        bool wanted = false;
        for (std::size_t const value : inputs<I>) wanted = wanted || gradients.wanted[value];
        bool const in_place = single && !gradients.written[inputs<I>[0]];
        BackwardPass<T> call = b;
        call.x = single ? gradients.y[inputs<I>[0]] : at<T>(memory, gradients.places.parts[I]);
        call.y = gradients.y[I + 1];
        call.dy = dy;
        call.dx = !wanted ? nullptr : in_place ? gradients.dy[inputs<I>[0]] : scratch;
        call.workspace = memory + gradients.places.memory[I];
        run_backward(context, layer, own, call);
        if (b.sink && !b.frozen && parameter_elements<T>(layer, own) > 0) b.sink->ready(b.gradients);
        if (wanted && in_place) gradients.written[inputs<I>[0]] = true;
        if (!wanted || in_place) return;
        dx = scratch;
      }
      std::size_t next = 0;
      auto const give = [&](std::size_t elements, std::size_t before) {
        std::size_t const value = inputs<I>[next++];
        if (gradients.wanted[value]) gradients.give(context, value, elements, dx + before);
      };
      if constexpr (single)
        give(b.rows * own.size(), 0);
      else
        for_each_part(own, [&](auto const& part, std::size_t before) { give(b.rows * part.size(), b.rows * before); });
    }
  }

  std::tuple<Layers...> layers_{};
};

}  // namespace trireme::detail
