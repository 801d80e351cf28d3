/// Each: one layer, with one set of parameters, on all parts of a tuple (Siamese networks).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Macros.hpp>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/activation.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/final_activation.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/graph_pass.hpp"
#include "trireme/models/layer_flops.hpp"
#include "trireme/models/leaf_layers.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/models/value_sources.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

namespace kernels {

/// Adds one part to a state's update. The state moves once for each part, one after the other as in Keras; one move
/// with the update does the same as all of them.
template <class T>
struct ChainUpdates {
  T const* state;
  T const* next;  ///< this part's update
  T* update;      ///< in: of the parts before; out: of these and this one
  T decay;        ///< of all moves of this part
  T share;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { update[i] = decay * (update[i] - share * state[i]) + next[i]; }
};

}  // namespace kernels

/// One layer, with one set of parameters, on each part of a tuple (a Siamese network):
/// `Each{Sequential{Dense<64, ReLU>{}, Dense<16>{}}}`.
///
/// Input and output: tuples of equally many tensors, 16 at most, of nested ones in all. Gradients are sums over the
/// parts. Parts may differ in extents as long as the layer has the same parameters for all. As when a layer of Keras is
/// called several times, normalizations take their statistics of each part for itself, and Dropout draws anew for each.
///
/// Compile-time errors: a single tensor, or more than 16; a layer whose output is a tuple; parts for which the layer
/// would have different numbers of parameters, where the compiler knows these.
/// \throws ShapeError from `compile` if they differ and the compiler cannot know it (`dynamic` extents, a Shared
/// layer), or if a layer within nested ones runs on more than 16 parts.
template <class L>
struct Each {
 private:
  using FinalActivation = typename detail::FinalActivation<L>::type;

 public:
  using composite = void;
  static constexpr bool wraps_layer = true, runs_on_each_part = true;
  static constexpr std::uint32_t leaf_count = detail::leaf_layers<L>();
  static constexpr bool has_tables = detail::has_tables<L>();
  static constexpr bool has_lookups = detail::has_lookups<L>();
  static constexpr bool has_shared = detail::has_shared<L>();
  static constexpr std::string_view class_name = "Each";

  L layer{};

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(is_parts<In>, "trireme: Each takes a tuple of tensors");
    static_assert(parts_count<In> <= most_parts, "trireme: Each takes at most 16 parts");
    if constexpr (is_parts<In>) {
      require_same_parameters(in);
      return map(in, [&]<class... Out>(Out const&... out) {
        static_assert((!is_parts<Out> && ...),
                      "trireme: a layer in Each that hands on a tuple would make a tuple of tuples");
        return Parts<Out...>{{out...}};
      });
    }
  }

  /// The activation that the layer ends in, on every part.
  template <std::size_t>
  using final_activation_of = FinalActivation;
  /// The layer without it; it follows on the parts, of `Count`, whose bit is not set.
  template <std::size_t Bits, std::size_t Count>
  constexpr auto without_activations() const {
    auto const rest = layer.without_activation();
    Each<std::remove_const_t<decltype(rest)>> const all{rest};
    auto const activation = []<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr ((Bits >> I & 1) != 0)
        return Skip{};
      else
        return Activation<final_activation_of<I>>{};
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (((Bits >> I & 1) && ...))
        return all;
      else
        return Sequential(all, Parallel(activation(std::integral_constant<std::size_t, I>())...));
    }(std::make_index_sequence<Count>());
  }

  /// Calls f(layer, the first part's extents), once for all parts.
  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    f(layer, in.template part<0>());
  }

  template <class In>
  detail::ValueSources trace_values(In const& in, detail::ValueSources const& sources,
                                    detail::ValueTracer& tracer) const {
    detail::ValueSources all;
    std::size_t i = 0;
    auto const first = tracer.next();
    for_each_part(in, [&](auto const& part, std::size_t) {
      tracer.begin_part(first, i);
      for (auto const& source : detail::trace_values(layer, part, {sources[i]}, tracer)) all.push_back(source);
      tracer.end_part();
      ++i;
    });
    return all;
  }

  /// Operations of forward, for one sample: the layer runs once a part.
  template <class In>
  constexpr std::size_t flops(In const& in) const {
    std::size_t sum = 0;
    for_each_part(in, [&](auto const& part, std::size_t) { sum += detail::layer_flops(layer, part); });
    return sum;
  }

  /// Elements of the layer's parameters in the arena, which all parts share.
  template <class T, class In>
  constexpr std::size_t parameter_elements(In const& in) const {
    return detail::parameter_elements<T>(layer, in.template part<0>());
  }
  /// Elements of the layer's states, which all parts share.
  template <class T, class In>
  constexpr std::size_t state_elements(In const& in) const {
    return detail::state_elements<T>(layer, in.template part<0>());
  }

  /// Elements of the layer's frozen weights, which all parts share.
  template <class T, class In>
  constexpr std::size_t frozen_elements(In const& in) const {
    return detail::frozen_elements<T>(layer, in.template part<0>());
  }

  /// Bytes for `rows` rows of all parts, between forward and backward.
  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    std::size_t bytes = aligned_bytes(scratch_elements<T>(in) * sizeof(T));
    for_each_part(
        in, [&](auto const& part, std::size_t) { bytes += detail::pass_workspace<T, Context>(layer, part, rows); });
    return bytes;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    Workspace workspace(f.workspace);
    T* const scratch = workspace.take<T>(scratch_elements<T>(in));
    ForwardPass<T> call = f;
    std::uint32_t index = 0;
    for_each_part(in, [&](auto const& part, std::size_t before) {
      call.x = f.x.block() + f.rows * before;
      call.workspace = workspace.take<std::byte>(detail::pass_workspace<T, Context>(layer, part, f.rows));
      call.keys.layer = part_key(f.keys.layer, index, In::count);
      if (f.state_updates && index > 0) call.state_updates = scratch;
      detail::pass_forward(context, layer, part, call);
      if (f.state_updates && index > 0) chain_updates(context, part, f, scratch);
      call.y += f.rows * layer.output(part).size();
      ++index;
    });
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    Workspace workspace(b.workspace);
    T* const scratch = workspace.take<T>(scratch_elements<T>(in));
    BackwardPass<T> call = b;
    call.sink = nullptr;  // until all parts have added theirs
    std::uint32_t index = 0;
    for_each_part(in, [&](auto const& part, std::size_t before) {
      call.x = b.x.block() + b.rows * before;
      if (b.dx) call.dx = b.dx + b.rows * before;
      call.workspace = workspace.take<std::byte>(detail::pass_workspace<T, Context>(layer, part, b.rows));
      call.keys.layer = part_key(b.keys.layer, index, In::count);
      if (index > 0 && !b.frozen) call.gradients = scratch;
      detail::pass_backward(context, layer, part, call);
      if (index > 0 && !b.frozen) add_gradients(context, part, scratch, b.gradients);
      std::size_t const outputs = b.rows * layer.output(part).size();
      call.y += outputs;
      call.dy += outputs;
      ++index;
    });
    if (b.sink && parameter_elements<T>(in) > 0) b.sink->ready(b.gradients);
  }

  /// The key of random numbers of part `part` of `parts`. A key of 16 bits identifies a layer: the upper four number
  /// the parts, through nested ones too.
  static constexpr std::uint32_t part_key(std::uint32_t layer_key, std::uint32_t part, std::size_t parts) {
    std::uint32_t const outer = layer_key >> 12;
    return (layer_key & 0xFFFu) | ((outer * static_cast<std::uint32_t>(parts) + part) % most_parts) << 12;
  }

 private:
  static constexpr std::uint32_t most_parts = 16;

  template <class In, class F>
  constexpr auto map(In const& in, F&& f) const {
    return std::apply([&](auto const&... part) { return f(detail::output_of(layer, part)...); }, in.all);
  }

  /// Room for the gradients, or the states' updates, of one part beside those of the others.
  template <class T, class In>
  constexpr std::size_t scratch_elements(In const& in) const {
    return std::max(parameter_elements<T>(in), state_elements<T>(in));
  }

  template <class Context, class In, class T>
  void chain_updates(Context& context, In const& in, ForwardPass<T> const& f, T const* next) const {
    double const share =
        f.keys.global_rows > 0 ? static_cast<double>(f.rows) / static_cast<double>(f.keys.global_rows) : 1.0;
    detail::for_each_tensor<T>(
        layer, in, [](auto const& leaf, auto const& extents) { return detail::states_of(leaf, extents); },
        [&](std::size_t offset, std::size_t size, StateShape const& state, std::size_t times) {
          double const decay = std::pow(state.decay, static_cast<double>(times));
          context.for_each("trireme::chain_updates", size,
                           kernels::ChainUpdates<T>{f.states + offset, next + offset, f.state_updates + offset,
                                                    static_cast<T>(decay), static_cast<T>(share)});
        });
  }

  template <class Context, class In, class T>
  void add_gradients(Context& context, In const& in, T const* from, T* to) const {
    detail::for_each_tensor<T>(
        layer, in, [](auto const& leaf, auto const& extents) { return detail::parameters_of(leaf, extents); },
        [&](std::size_t offset, std::size_t size, ParameterShape const&, std::size_t) {
          context.for_each("trireme::add_gradients", size, kernels::AddTo<T>{from + offset, to + offset});
        });
  }

  template <class In>
  static constexpr bool counts_are_equal(L const& l, In const& in) {
    std::size_t const expected = detail::parameter_count(l, in.template part<0>());
    bool equal = true;
    for_each_part(
        in, [&](auto const& part, std::size_t) { equal = equal && detail::parameter_count(l, part) == expected; });
    return equal;
  }

  /// False for a layer that needs arguments or, like Shared, owns memory.
  template <class In>
  static constexpr bool is_compared_when_compiling =
      In::is_static && requires { typename std::bool_constant<(counts_are_equal(L{}, In{}), true)>; };

  template <class In>
  constexpr void require_same_parameters(In const& in) const {
    detail::for_each_leaf<true>(
        layer, in.template part<0>(),
        [](auto const&, auto const&, std::size_t times) {
          if (times > most_parts)
            throw ShapeError(formatted("a layer within nested Each runs on {} parts: 16 is the most", times));
        },
        parts_count<In>);
    if constexpr (is_compared_when_compiling<In>)
      static_assert(
          counts_are_equal(L{}, In{}),
          "trireme: the layer in Each would need other parameters for one part of its input than for another");
    else if (!counts_are_equal(layer, in))
      throw ShapeError("the layer in Each would need other parameters for one part of its input than for another");
  }
};
template <class L>
Each(L const&) -> Each<detail::as_layer_t<L>>;

}  // namespace trireme
