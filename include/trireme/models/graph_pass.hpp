/// Forward and backward through layers whose inputs are any of the values before them: what graphs and branches run.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/graph_plan.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// Runs the nodes in their order, and back. The last one's output is the result. A value that several nodes take gets
/// the sum of their gradients, from the last node to the first.
template <class Wires, class... Layers>
class GraphPass {
  using Plan = GraphPlan<Wires, Layers...>;
  static constexpr std::size_t count = Plan::count, sources = Plan::sources, result = Plan::result;
  template <std::size_t I>
  using LayerAt = typename Plan::template LayerAt<I>;
  template <class U>
  using PerValue = typename Plan::template PerValue<U>;
  template <std::size_t I>
  static constexpr auto inputs = Plan::template inputs<I>;
  template <std::size_t I>
  static constexpr bool joins = Plan::template joins<I>;
  template <std::size_t I>
  static constexpr bool in_place = Plan::template in_place<I>;
  template <class L>
  static constexpr bool joins_in_place = Plan::template joins_in_place<L>;

 public:
  constexpr explicit GraphPass(Plan const& plan) : plan_(plan) {}

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    auto const all = plan_.values(in);
    auto const places = plan_.template value_layout<T, Context>(all, f.rows);
    auto const y = Plan::addresses(all, f.rows, places, f.workspace, f.x, f.y);
    ForwardPass<T> call = f;
    plan_.for_each_node(all, [&](auto i, auto const& layer, auto const& own) {
      using L = LayerAt<i>;
      T* const to = y[sources + i];
      T const* const x =
          joins<i> ? nullptr : gather<i>(context, own, f.rows, y, Plan::template at<T>(f.workspace, places.parts[i]));
      if constexpr (joins<i>) {
        if constexpr (!joins_in_place<L>)
          Plan::template for_each_input<i>(own, [&](std::size_t value, auto const& part, std::size_t column) {
            L::join::put(context, f.rows * part.size() / part.back(), part.back(), y[value], to,
                         std::get<sources + i>(all).back(), column, value == inputs<i>[0]);
          });
      } else if constexpr (reinterprets<L>) {
        if (to != x) kernels::copy(context, f.rows * own.size(), x, to);
      } else {
        call.x = x;
        call.y = to;
        call.workspace = f.workspace + places.memory[i];
        run_forward(context, layer, own, call);
      }
      pass_by(layer, own, call);
    });
  }

  /// Tells the sink when a node's gradients are final.
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    auto const all = plan_.values(in);
    auto const places = plan_.template value_layout<T, Context>(all, b.rows);
    Gradients<T> g{b.workspace,
                   places,
                   plan_.template gradient_layout<T>(all, b.rows, places.bytes),
                   Plan::addresses(all, b.rows, places, b.workspace, b.x, const_cast<T*>(b.y)),
                   Plan::gradient_addresses(all, b),
                   {}};
    for (std::size_t source = 0; source < sources; ++source) g.wanted[source] = b.dx != nullptr;
    plan_.for_each_node(all, [&](auto i, auto const& layer, auto const& own) {
      bool wanted = !b.frozen && parameter_elements<T>(layer, own) > 0;
      for (std::size_t const value : inputs<i>) wanted = wanted || g.wanted[value];
      g.wanted[sources + i] = wanted;
    });
    for (std::size_t value = sources; value < result; ++value)
      if (Plan::has_memory(value)) g.dy[value] = Plan::template at<T>(b.workspace, g.layout.offsets[value]);
    for (std::size_t value = sources; value < result; ++value) g.dy[value] = g.dy[Plan::gradient_of[value]];
    backward_from<0>(context, all, b, g);
  }

 private:
  /// The input of node I: the value that it takes, or all of them, one after the other, in `parts`.
  template <std::size_t I, class Context, class Own, class T>
  static T const* gather(Context& context, Own const& own, std::size_t rows, PerValue<T*> const& y, T* parts) {
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
    typename Plan::ValueLayout places;
    typename Plan::GradientLayout layout;
    PerValue<T*> y, dy;
    PerValue<bool> wanted;  ///< true if a node before the value trains, or the input's gradient is
  };

  /// Runs the last node first, since gradients become final from the end of the arena.
  template <std::size_t I, class Context, class All, class T>
  void backward_from(Context& context, All const& all, BackwardPass<T> const& b, Gradients<T>& g) const {
    auto const& layer = plan_.template layer<I>();
    auto const own = Plan::template input_of<I>(all);
    constexpr std::size_t value = sources + I;
    if constexpr (I + 1 < count) {
      BackwardPass<T> next = b;
      pass_by(layer, own, next);
      backward_from<I + 1>(context, all, next, g);
    }
    if (!g.wanted[value]) return;
    if constexpr (joins<I>) {
      if constexpr (!joins_in_place<LayerAt<I>>) split<I>(context, own, std::get<value>(all).back(), b.rows, g);
    } else if constexpr (reinterprets<LayerAt<I>>) {
      add_input_gradients<I>(context, own, b.rows, g.dy[value], g);
    } else {
      backward_layer<I>(context, layer, own, b, g);
    }
  }

  /// The gradients of values that node I joins, from the columns of its own.
  template <std::size_t I, class Context, class Own, class T>
  static void split(Context& context, Own const& own, std::size_t width, std::size_t rows, Gradients<T> const& g) {
    T const* const dy = g.dy[sources + I];
    Plan::template for_each_input<I>(own, [&](std::size_t value, auto const& part, std::size_t column) {
      if (g.wanted[value] && g.dy[value] != dy)
        LayerAt<I>::join::take(context, rows * part.size() / part.back(), part.back(), dy, width, column, g.dy[value],
                               Plan::last_user[value] == I);
    });
  }

  template <std::size_t I, class Context, class L, class Own, class T>
  static void backward_layer(Context& context, L const& layer, Own const& own, BackwardPass<T> const& b,
                             Gradients<T>& g) {
    bool wants_dx = false;
    for (std::size_t const value : inputs<I>) wants_dx = wants_dx || g.wanted[value];
    T* const dx =
        in_place<I> ? g.dy[inputs<I>[0]] : Plan::template at<T>(g.memory, g.layout.offsets[Plan::all_values + I]);
    BackwardPass<T> call = b;
    call.x = inputs<I>.size() == 1 ? g.y[inputs<I>[0]] : Plan::template at<T>(g.memory, g.places.parts[I]);
    call.y = g.y[sources + I];
    call.dy = g.dy[sources + I];
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
      if (Plan::last_user[value] == I)
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

  Plan plan_;
};
template <class Wires, class... Layers>
GraphPass(GraphPlan<Wires, Layers...> const&) -> GraphPass<Wires, Layers...>;

}  // namespace trireme::detail
