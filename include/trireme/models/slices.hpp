/// A model cut into slices of consecutive layers, each of which runs by itself, so that no process has to hold the
/// whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/sequential.hpp"

namespace trireme {

namespace detail {

template <class L>
inline constexpr bool is_sequential = false;
template <class... Layers>
inline constexpr bool is_sequential<Sequential<Layers...>> = true;

template <class L, class In>
constexpr bool has_parameters() {
  if constexpr (is_composite<L>)
    return true;
  else
    return std::tuple_size_v<decltype(parameters_of(std::declval<L const&>(), std::declval<In const&>()))> > 0;
}

/// Marks the layers at which a slice begins, `any`: whether one before I has parameters.
template <class Layers, class In, std::size_t I = 0>
constexpr void mark_cuts(std::array<bool, Layers::layer_count>& cuts, bool any = false) {
  using L = std::decay_t<decltype(std::declval<Layers const&>().template layer<I>())>;
  cuts[I] = any && has_parameters<L, In>();
  if constexpr (I + 1 < Layers::layer_count)
    mark_cuts<Layers, decltype(output_of(std::declval<L const&>(), std::declval<In const&>())), I + 1>(
        cuts, any || has_parameters<L, In>());
}

template <class Layers>
constexpr auto parameter_cuts() {
  using In = decltype(std::declval<Layers const&>().input());
  constexpr auto marked = [] {
    std::array<bool, Layers::layer_count> cuts{};
    mark_cuts<Layers, In>(cuts);
    return cuts;
  }();
  constexpr auto count = static_cast<std::size_t>(std::ranges::count(marked, true));
  constexpr auto at = [](auto const& cuts) {
    std::array<std::size_t, count> positions{};
    for (std::size_t i = 0, n = 0; i < cuts.size(); ++i)
      if (cuts[i]) positions[n++] = i;
    return positions;
  }(marked);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::index_sequence<at[I]...>();
  }(std::make_index_sequence<count>());
}

/// Layers [Begin, Cut), [Cut, next cut), ... as a tuple.
template <std::size_t Begin, class Layers>
constexpr auto cut_layers(Layers const& layers, std::index_sequence<>) {
  return std::make_tuple(layers.template slice<Begin, Layers::layer_count>());
}
template <std::size_t Begin, class Layers, std::size_t Cut, std::size_t... Rest>
constexpr auto cut_layers(Layers const& layers, std::index_sequence<Cut, Rest...>) {
  return std::tuple_cat(std::make_tuple(layers.template slice<Begin, Cut>()),
                        cut_layers<Cut>(layers, std::index_sequence<Rest...>()));
}

/// The input's extents of each layer in the tuple.
template <std::size_t I = 0, class Tuple, class In>
constexpr auto inputs_of(Tuple const& slices, In const& in) {
  if constexpr (I + 1 < std::tuple_size_v<Tuple>)
    return std::tuple_cat(std::make_tuple(in), inputs_of<I + 1>(slices, std::get<I>(slices).output(in)));
  else
    return std::make_tuple(in);
}

}  // namespace detail

/// Cuts before the layers with parameters, except the first: each slice has one such layer and the layers that follow
/// it.
template <class Layers>
using ParameterCuts = decltype(detail::parameter_cuts<Layers>());

/// Position of a slice in the arenas, in elements of T, and its first keys of random numbers.
struct SliceRange {
  std::size_t begin = 0, end = 0;                ///< of the parameters
  std::size_t states_begin = 0, states_end = 0;  ///< counted from the first state
  std::size_t frozen_begin = 0, frozen_end = 0;  ///< counted from the first weight that is frozen
  std::uint32_t first_leaf = 0;

  /// Elements of the slice's parameters.
  constexpr std::size_t elements() const { return end - begin; }
};

/// Slices of a Sequential that begins with an Input; `Cuts`: indices of the layers at which the second one and those
/// after it begin.
template <class T, class Layers, class Cuts = ParameterCuts<Layers>>
class Slices {
 public:
  static constexpr std::size_t count = Cuts::size() + 1;
  using Ranges = std::array<SliceRange, count>;

  /// Slices of these layers.
  constexpr explicit Slices(Layers const& layers)
      : slices_(detail::cut_layers<0>(layers, Cuts())), inputs_(detail::inputs_of(slices_, layers.input())) {
    SliceRange next;
    for (std::size_t i = 0; i < count; ++i)
      visit(i, [&]<class S>(S const& slice, auto const& in) {
        next.begin = next.end;
        next.states_begin = next.states_end;
        next.frozen_begin = next.frozen_end;
        next.end += detail::parameter_elements<T>(slice, in);
        next.states_end += detail::state_elements<T>(slice, in);
        next.frozen_end += detail::frozen_elements<T>(slice, in);
        ranges_[i] = next;
        next.first_leaf += S::leaf_count;
        input_sizes_[i] = in.size();
        input_sizes_[i + 1] = slice.output(in).size();
      });
  }

  /// Place of slice i in the arenas.
  constexpr SliceRange const& range(std::size_t i) const { return ranges_[i]; }
  /// Places of all slices.
  constexpr Ranges const& ranges() const { return ranges_; }
  /// Numbers of one sample.
  constexpr std::size_t input_size(std::size_t i) const { return input_sizes_[i]; }
  /// Numbers of a sample's output of slice i.
  constexpr std::size_t output_size(std::size_t i) const { return input_sizes_[i + 1]; }

  /// Bytes for `rows` rows of slice i, between forward and backward.
  template <class Context>
  constexpr std::size_t workspace_bytes(std::size_t i, std::size_t rows) const {
    std::size_t bytes = 0;
    visit(i, [&](auto const& slice, auto const& in) { bytes = detail::workspace_bytes<T, Context>(slice, in, rows); });
    return bytes;
  }

  /// f(index, slice, extents of its input) for each.
  template <class F>
  constexpr void for_each(F const& f) const {
    for (std::size_t i = 0; i < count; ++i) visit(i, [&](auto const& slice, auto const& in) { f(i, slice, in); });
  }

  /// As a layer's; weights, states and gradients are the slice's own. Keys are those of the whole model.
  template <class Context>
  void forward(Context& context, std::size_t i, ForwardPass<T> call) const {
    call.keys.layer += ranges_[i].first_leaf;
    visit(i, [&](auto const& slice, auto const& in) { detail::run_forward(context, slice, in, call); });
  }
  /// As a layer's, in the same terms as `forward`.
  template <class Context>
  void backward(Context& context, std::size_t i, BackwardPass<T> call) const {
    call.keys.layer += ranges_[i].first_leaf;
    visit(i, [&](auto const& slice, auto const& in) { detail::run_backward(context, slice, in, call); });
  }

 private:
  using Tuple = decltype(detail::cut_layers<0>(std::declval<Layers const&>(), Cuts()));
  using Inputs = decltype(detail::inputs_of(std::declval<Tuple const&>(), std::declval<Layers const&>().input()));

  /// f(slice i, extents of its input)
  template <class F>
  constexpr void visit(std::size_t i, F const& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (void)((I == i ? (f(std::get<I>(slices_), std::get<I>(inputs_)), true) : false) || ...);
    }(std::make_index_sequence<count>());
  }

  Tuple slices_;
  Inputs inputs_;
  Ranges ranges_{};
  std::array<std::size_t, count + 1> input_sizes_{};
};

}  // namespace trireme
