/// The Layer concept, and defaults for its optional members.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "trireme/core/declares_member.hpp"
#include "trireme/initializers/glorot.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/layers/call.hpp"
#include "trireme/layers/parameter.hpp"
#include "trireme/layers/regularizer.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Layer: a struct that maps samples of extents `in` to samples of extents `output(in)`. Extents are those of one
/// sample; tensors have the rows of a batch before them.
///
/// It has
/// - `output(in)`: extents of its output for those of its input, Extents<...>. It may throw ShapeError, which `compile`
///   passes on.
/// - `forward(context, in, Forward)`: writes y from x.
/// - `backward(context, in, Backward)`: writes dx and states the gradients of its parameters, from dy.
///
/// and, where it has any,
/// - `parameters(in)`: std::array of ParameterShape.
/// - `initializer(i)`, `regularizer(i)`: of the i-th parameter (default: GlorotUniform, none).
/// - `states(in)`: std::array of StateShape: what training moves along without a gradient.
/// - `mixes_rows`: the scope (backend/execution/statistics_scope.hpp) over which it sums rows: see cross_replica_sum.
/// - `looks_up`, `by_rows()`: marks a layer that takes indices below its member `vocabulary`; true if its parameter is
///   a table whose gradients should be sparse: of the rows that occur.
/// - `saved<T, Context>(in, rows)`: std::array of SavedTensor: what it keeps from forward to backward.
/// - `flops(in)`: operations of forward for a sample, where those of models/layer_flops.hpp are far off.
/// - `takes_scattered_rows<T, Context>(in, rows)`: true if it reads `rows` scattered rows of Forward::input(),
///   forward and backward, as fast as others; with `scattered_rows_of`, the layer itself: one that derives from it has
///   a `forward` of its own.
/// - `takes_parts`: true: its input may be a tuple of tensors, with extents Parts<...>.
/// - `class_name`, `name`: as Keras would call it; the user's own name for it, a LayerName.
/// - `final_activation`: what it ends in, with `without_activation()`, the same layer before that, with the same
///   parameters (see models/logits.hpp).
///
/// Forward and Backward hand it its tensors by their index in `parameters`, `states` and `saved`. The context runs
/// kernels (ThreadContext, SpaceContext): a layer knows neither threads nor devices.
///
/// Compile-time errors: forward or backward does not take such arguments; more than 16 parameters, states or saved
/// tensors; a tuple for a layer without `takes_parts`.
template <class L, class In>
concept Layer = requires(L const layer, In const in) { layer.output(in); };

namespace detail {

/// Members of a layer; one that the layer lacks gets its default here and nowhere else.
template <class L, class In>
constexpr auto parameters_of(L const& layer, In const& in) {
  if constexpr (requires { layer.parameters(in); })
    return layer.parameters(in);
  else
    return std::array<ParameterShape, 0>{};
}

template <class L, class In>
constexpr auto states_of(L const& layer, In const& in) {
  if constexpr (requires { layer.states(in); })
    return layer.states(in);
  else
    return std::array<StateShape, 0>{};
}

struct SavedName {
  struct Named {
    int saved;
  };
  template <class Class>
  using Member = decltype(&Class::saved);
};
struct WorkspaceName {
  struct Named {
    int workspace;
  };
  template <class Class>
  using Member = decltype(&Class::workspace);
};
/// A sentence for a layer that declares saved tensors in another way, which would get none.
template <class L>
consteval bool require_no_other_saved() {
  constexpr bool fits = !declares_member<SavedName, L, false> && !declares_member<WorkspaceName, L, false>;
  static_assert(fits,
                "trireme: a layer declares what it keeps for backward in saved<T, Context>(in, rows) const, a template "
                "that returns a std::array of trireme::SavedTensor");
  return fits;
}

template <class T, class Context, class L, class In>
constexpr auto saved_of(L const& layer, In const& in, std::size_t rows) {
  if constexpr (requires { layer.template saved<T, Context>(in, rows); })
    return layer.template saved<T, Context>(in, rows);
  else if constexpr (require_no_other_saved<L>())
    return std::array<SavedTensor, 0>{};
}

template <class L>
Initializer initializer_of(L const& layer, std::size_t i) {
  if constexpr (requires { layer.initializer(i); })
    return layer.initializer(i);
  else
    return GlorotUniform{};
}

template <class L>
Regularizer regularizer_of(L const& layer, std::size_t i) {
  if constexpr (requires { layer.regularizer(i); })
    return layer.regularizer(i);
  else
    return {};
}

template <class L>
inline constexpr bool is_composite = requires { typename L::composite; };

/// True if the layer's parameter is a table with sparse gradients: a batch touches some of its rows only.
template <class L>
bool is_by_rows([[maybe_unused]] L const& layer) {
  if constexpr (requires { layer.by_rows(); })
    return layer.by_rows();
  else
    return false;
}

/// True if a layer of this type, or one within it, may have such a table.
template <class L>
consteval bool has_tables() {
  if constexpr (is_composite<L>)
    return L::has_tables;
  else
    return requires(L const& layer) { layer.by_rows(); };
}

/// True if a layer of this type, or one within it, takes indices.
template <class L>
consteval bool has_lookups() {
  if constexpr (requires { L::has_lookups; })
    return L::has_lookups;
  else
    return requires { L::looks_up; };
}

/// A layer whose weights other models may have as well (Shared).
template <class L>
inline constexpr bool is_shared = requires(L const& layer) { layer.shared_weights; };

/// True if a layer of this type, or one within it, is Shared.
template <class L>
consteval bool has_shared() {
  if constexpr (is_composite<L>)
    return is_shared<L> || L::has_shared;
  else
    return is_shared<L>;
}

/// True for a layer that can be given a name.
template <class L>
inline constexpr bool has_name = requires(L& layer) { layer.name = std::string_view(); };

template <class L>
std::string_view name_of(L const& layer) {
  if constexpr (requires { layer.name; })
    return layer.name;
  else
    return {};
}

template <class L>
constexpr std::string_view class_name_of() {
  if constexpr (requires { L::class_name; })
    return L::class_name;
  else
    return "Layer";
}

/// Extents of a layer's output.
template <class L, class In>
constexpr auto output_of(L const& layer, In const& in) {
  if constexpr (is_parts<In> && !is_composite<L>)
    static_assert(
        requires { requires L::takes_parts; },
        "trireme: a layer of one tensor was given a tuple of them: choose one by Select<i>, apply the layer to each by "
        "Each{layer}, give each its own by Parallel{...}, or join them by Add{} or Concatenate{}");
  return layer.output(in);
}

/// A layer that only renames its input's numbers: it gets no buffer and no kernel.
template <class L>
inline constexpr bool reinterprets = requires { requires L::reinterprets; };

/// Elements of the arena that a layer's parameters take.
template <class T, class L, class In>
constexpr std::size_t parameter_elements(L const& layer, In const& in) {
  if constexpr (is_composite<L>) {
    return layer.template parameter_elements<T>(in);
  } else {
    std::size_t elements = 0;
    for (auto const& parameter : parameters_of(layer, in)) elements += aligned_count<T>(parameter.shape.size());
    return elements;
  }
}

/// Elements of the arena of states that a layer's states take.
template <class T, class L, class In>
constexpr std::size_t state_elements(L const& layer, In const& in) {
  std::size_t elements = 0;
  if constexpr (is_composite<L>) {
    if constexpr (requires { layer.template state_elements<T>(in); }) elements = layer.template state_elements<T>(in);
  } else {
    for (auto const& state : states_of(layer, in)) elements += aligned_count<T>(state.shape.size());
  }
  return elements;
}

/// Elements of the arena that the weights of Frozen layers within a layer take.
template <class T, class L, class In>
constexpr std::size_t frozen_elements([[maybe_unused]] L const& layer, [[maybe_unused]] In const& in) {
  if constexpr (requires { layer.template frozen_elements<T>(in); })
    return layer.template frozen_elements<T>(in);
  else
    return 0;
}

/// Elements of the arena that all weights of a layer take, whether they train or not.
template <class T, class L, class In>
constexpr std::size_t weight_elements(L const& layer, In const& in) {
  return parameter_elements<T>(layer, in) + state_elements<T>(layer, in) + frozen_elements<T>(layer, in);
}

/// A composite whose layers do not train.
template <class L>
inline constexpr bool is_frozen = requires { requires L::frozen; };

/// Wrapper of one layer, its member `layer`, which also has the name: Frozen, Each.
template <class L>
inline constexpr bool wraps_layer = requires { requires L::wraps_layer; };

/// Bytes between forward and backward for a slice of `rows`.
template <class T, class Context, class L, class In>
constexpr std::size_t workspace_bytes(L const& layer, In const& in, std::size_t rows) {
  std::size_t bytes = 0;
  if constexpr (is_composite<L>)
    bytes = aligned_bytes(layer.template workspace<T, Context>(in, rows));
  else
    for (SavedTensor const& tensor : saved_of<T, Context>(layer, in, rows))
      bytes += aligned_bytes(tensor.template bytes<T>());
  return bytes;
}

/// True if a layer reads `rows` rows of its input where they lie apart.
template <class T, class Context, class L, class In>
constexpr bool takes_scattered_rows([[maybe_unused]] L const& layer, [[maybe_unused]] In const& in,
                                    [[maybe_unused]] std::size_t rows) {
  if constexpr (
      requires { requires std::is_same_v<typename L::scattered_rows_of, L>; } ||
      requires { requires std::is_same_v<typename L::graph_of, L>; })
    return layer.template takes_scattered_rows<T, Context>(in, rows);
  else
    return false;
}

/// Layers that are counted for keys of random numbers: one, or all within a nested model.
template <class L>
constexpr std::uint32_t leaf_layers() {
  if constexpr (requires { L::leaf_count; })
    return L::leaf_count;
  else
    return 1;
}

}  // namespace detail

/// Layer that is made of layers, such as Sequential, Graph or Residual.
template <class L>
concept CompositeLayer = detail::is_composite<L>;

}  // namespace trireme
