/// Forward and backward through layers one after the other: what Sequential runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/layers/conv_pool.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

/// Through the Layers from index `First` on, as Context runs them. Outputs lie in the workspace between forward and
/// backward, in the order of the layers, each followed by its layer's own workspace.
template <class Context, std::size_t First, class... Layers>
class ChainPass {
  static constexpr std::size_t last = sizeof...(Layers);

 public:
  constexpr explicit ChainPass(std::tuple<Layers...> const& layers) : layers_(layers) {}

  template <class T, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    std::size_t bytes = (StoresOutputs<Context> ? 4 : 2) * aligned_bytes(gradient_elements(in) * rows * sizeof(T));
    visit_stages<First>(in, [&]<class L>(L const& layer, auto const& extents) {
      if (!reinterprets<L>) bytes += aligned_bytes(layer.output(extents).size() * rows * sizeof(stored_t<Context, T>));
      bytes += workspace_bytes<T, Context>(layer, extents, rows);
    });
    return bytes;
  }

  /// Layers that only rename pass such rows on.
  template <class T, class In>
  constexpr bool takes_scattered_rows(In const& in, std::size_t rows) const {
    return takes_scattered_rows_from<First, T>(in, rows);
  }

  template <class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    Workspace workspace(f.workspace);
    auto const buffers = take_buffers<T>(in, f.rows, workspace);
    forward_from<First>(context, in, f, workspace, buffers.gradients);
  }

  /// Tells the sink when a layer's gradients are final.
  template <class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    Workspace workspace(b.workspace);
    auto const buffers = take_buffers<T>(in, b.rows, workspace);
    backward_from<First>(context, in, b, workspace, buffers, b.dx != nullptr, nullptr);
  }

 private:
  /// Two buffers as large as the largest input of a layer: one is read while the other is written.
  template <class T>
  struct Pair {
    T *one = nullptr, *two = nullptr;
    T* other(T const* taken) const { return taken == one ? two : one; }
  };
  template <class T>
  struct Buffers {
    Pair<T> gradients, values;  ///< values: only where outputs are kept in another type
  };
  /// Result of a layer's backward for the layer before: the gradient of its input, and where that input lies.
  template <class T>
  struct Left {
    T* dx = nullptr;
    T const* x = nullptr;
  };
  template <class L, std::size_t Next>
  static constexpr bool stores = StoresOutputs<Context>&& Next < last && !reinterprets<L>;

  /// True if layer I and the next one run as one under a context. `next` is the index of the layer after that.
  template <std::size_t I>
  static constexpr bool fused = [] {
    if constexpr (I + 1 < last && !StoresOutputs<Context>)  // rounding makes values equal that a maximum told apart
      return fuses<Context, std::tuple_element_t<I, std::tuple<Layers...>>,
                   std::tuple_element_t<I + 1, std::tuple<Layers...>>>;
    else
      return false;
  }();
  template <std::size_t I>
  static constexpr std::size_t next = I + (fused<I> ? 2 : 1);
  template <std::size_t I>
  constexpr decltype(auto) stage() const {
    if constexpr (fused<I>)
      return ConvPool<std::tuple_element_t<I, std::tuple<Layers...>>,
                      std::tuple_element_t<I + 1, std::tuple<Layers...>>>{std::get<I>(layers_),
                                                                          std::get<I + 1>(layers_)};
    else
      return (std::get<I>(layers_));
  }

  template <std::size_t I, class In, class F>
  constexpr void visit_stages(In const& in, F const& f) const {
    auto const& layer = stage<I>();
    f(layer, in);
    if constexpr (next<I> < last) visit_stages<next<I>>(layer.output(in), f);
  }

  template <std::size_t I, class T, class In>
  constexpr bool takes_scattered_rows_from(In const& in, std::size_t rows) const {
    auto const& layer = stage<I>();
    if constexpr (!reinterprets<std::decay_t<decltype(layer)>>)
      return detail::takes_scattered_rows<T, Context>(layer, in, rows);
    else if constexpr (next<I> < last)
      return takes_scattered_rows_from<next<I>, T>(layer.output(in), rows);
    else
      return false;
  }

  /// Gradients between layers go to and fro between two buffers of the largest size that is needed.
  template <class In>
  constexpr std::size_t gradient_elements(In const& in) const {
    std::size_t largest = 0;
    visit_stages<First>(in, [&](auto const&, auto const& extents) { largest = std::max(largest, extents.size()); });
    return largest;
  }
  template <class T, class In>
  Buffers<T> take_buffers(In const& in, std::size_t rows, Workspace& workspace) const {
    std::size_t const elements = gradient_elements(in) * rows;
    Buffers<T> buffers;
    buffers.gradients.one = workspace.take<T>(elements);
    buffers.gradients.two = workspace.take<T>(elements);
    if constexpr (StoresOutputs<Context>) {
      buffers.values.one = workspace.take<T>(elements);
      buffers.values.two = workspace.take<T>(elements);
    }
    return buffers;
  }

  /// Address of a layer's result: the model's own if no layer is Next, its input renamed, or its part of the workspace.
  template <std::size_t Next, class L, class T, class Out>
  static T* place_output(T const* x, T* y, Out const& out, std::size_t rows, Workspace& workspace) {
    if constexpr (Next == last)
      return y;
    else if constexpr (reinterprets<L>)
      return const_cast<T*>(x);
    else
      return workspace.take<T>(out.size() * rows);
  }

  /// Layers read and write `values` where outputs are kept in another type.
  template <std::size_t I, class In, class T>
  void forward_from(Context& context, In const& in, ForwardPass<T> f, Workspace workspace,
                    Pair<T> const& values) const {
    constexpr std::size_t following = next<I>;
    auto const& layer = stage<I>();
    using L = std::decay_t<decltype(layer)>;
    auto const out = layer.output(in);
    ForwardPass<T> call = f;
    [[maybe_unused]] stored_t<Context, T>* kept = nullptr;
    if constexpr (stores<L, following>) {
      kept = workspace.take<stored_t<Context, T>>(out.size() * f.rows);
      call.y = values.other(f.x);
    } else {
      call.y = place_output<following, L>(f.x, f.y, out, f.rows, workspace);
    }
    call.workspace = workspace.take<std::byte>(workspace_bytes<T, Context>(layer, in, f.rows));
    if constexpr (!reinterprets<L>)
      run_forward(context, layer, in, call);
    else if constexpr (following == last)
      kernels::copy(context, f.rows * in.size(), f.x, call.y);
    if constexpr (stores<L, following>)
      context.for_each("trireme::store", out.size() * f.rows, kernels::Store<T, stored_t<Context, T>>{call.y, kept});
    if constexpr (following < last) {
      f.x = call.y;
      if constexpr (!reinterprets<L>) f.x_rows = nullptr;
      pass_by(layer, in, f);
      forward_from<following>(context, out, f, workspace, values);
    }
  }

  /// Runs the last layer first. Returns the address of the gradient of layer I's input, or null where neither a layer
  /// before it trains nor the caller needs it (`wants_dx`). A layer with nothing to compute is left out. `kept_x`: its
  /// input where that is kept in another type.
  template <std::size_t I, class In, class T>
  Left<T> backward_from(Context& context, In const& in, BackwardPass<T> b, Workspace workspace,
                        Buffers<T> const& buffers, bool wants_dx,
                        [[maybe_unused]] stored_t<Context, T> const* kept_x) const {
    constexpr std::size_t following = next<I>;
    auto const& layer = stage<I>();
    using L = std::decay_t<decltype(layer)>;
    auto const out = layer.output(in);
    BackwardPass<T> call = b;
    stored_t<Context, T> const* kept = kept_x;
    if constexpr (stores<L, following>)
      kept = workspace.take<stored_t<Context, T>>(out.size() * b.rows);
    else
      call.y = place_output<following, L>(b.x, const_cast<T*>(b.y), out, b.rows, workspace);
    call.workspace = workspace.take<std::byte>(workspace_bytes<T, Context>(layer, in, b.rows));
    bool const trains = !b.frozen && parameter_elements<T>(layer, in) > 0;
    if constexpr (following < last) {
      BackwardPass<T> rest = b;
      if constexpr (!StoresOutputs<Context>) rest.x = call.y;
      if constexpr (!reinterprets<L>) rest.x_rows = nullptr;
      pass_by(layer, in, rest);
      Left<T> const left = backward_from<following>(context, out, rest, workspace, buffers, wants_dx || trains, kept);
      call.dy = left.dx;
      if constexpr (StoresOutputs<Context>) call.y = left.x;
    }
    if (!wants_dx && !trains) return {};
    if constexpr (StoresOutputs<Context>)
      if (kept_x) call.x = input_of<following, L>(context, b.rows * in.size(), kept_x, call.y, buffers.values);
    if constexpr (I > First) call.dx = wants_dx ? buffers.gradients.other(call.dy) : nullptr;
    if constexpr (!reinterprets<L>) {
      run_backward(context, layer, in, call);
    } else {
      if (I > First)
        call.dx = call.dy;
      else if (call.dx)
        kernels::copy(context, b.rows * in.size(), static_cast<T const*>(call.dy), call.dx);
    }
    if (trains && b.sink) b.sink->ready(call.gradients);
    return {call.dx, call.x};
  }

  /// A layer's input as it was stored, beside its output; one that only renames has both in one place.
  template <std::size_t Next, class L, class Stored, class T>
  static T const* input_of(Context& context, std::size_t count, Stored const* kept, T const* y, Pair<T> const& values) {
    if constexpr (reinterprets<L> && Next < last) return y;
    T* const x = values.other(y);
    context.for_each("trireme::expand", count, kernels::Expand<T, Stored>{kept, x});
    return x;
  }

  std::tuple<Layers...> const& layers_;
};

}  // namespace trireme::detail
