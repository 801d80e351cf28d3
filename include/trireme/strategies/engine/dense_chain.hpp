/// DenseChain: a Sequential of Dense layers as kernels of a fused step take it, and its division of scratch memory and
/// of batches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/layers/dense.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/head.hpp"
#include "trireme/models/model.hpp"
#include "trireme/models/score_kernel.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/strategies/engine/dense_chain_kernels.hpp"
#include "trireme/strategies/engine/dense_chain_model.hpp"
#include "trireme/strategies/engine/dense_chain_step.hpp"

namespace trireme {

namespace detail {

/// Divides scratch memory, and finds parameters in the arena in the order of the layers.
template <class T>
class ChainLayout {
 public:
  ChainLayout(ModelDescription const& description, std::size_t tile_rows)
      : description_(&description), tile_rows_(tile_rows) {}

  kernels::ChainIndex take(std::size_t count) {
    return static_cast<kernels::ChainIndex>(std::exchange(next_, next_ + count));
  }
  kernels::ChainIndex take_rows(std::size_t stride) { return take(tile_rows_ * stride); }
  kernels::ChainIndex parameter() {
    return static_cast<kernels::ChainIndex>(description_->parameters[parameter_++].offset);
  }
  /// Numbers of scratch memory that are taken.
  std::size_t numbers() const { return next_; }

 private:
  ModelDescription const* description_;
  std::size_t tile_rows_, next_ = 0, parameter_ = 0;
};

}  // namespace detail

/// Division of a batch among teams, from sizes alone.
struct ChainDivision {
  std::size_t tile_rows, team_rows, teams;
};

/// Kernels of the fused steps of a model.
template <DenseChainModel Model, class Space>
class DenseChain {
  using T = typename Model::scalar;
  using L = typename Model::label;

 public:
  using Memory = kernels::ChainMemory<T, Space>;

  /// Bytes of scratch memory that a team needs at least.
  static std::size_t least_bytes(Model const& model) { return bytes(model, least_rows); }
  /// True if each layer's input is one vector.
  static bool takes_vectors(Model const& model) {
    bool all = true;
    model.architecture().for_each_layer(model.architecture().input(), [&]<class Layer>(Layer const&, auto const& in) {
      if constexpr (detail::is_dense<Layer>) all = all && in.size() == in.back();
    });
    return all;
  }

  /// Division of a batch of `rows` rows: tiles are smaller where teams were few otherwise, or scratch memory little.
  static ChainDivision division(Model const& model, std::size_t rows) {
    std::size_t tile = most_rows;
    while (tile > least_rows && (rows <= tile / 2 * most_teams || bytes(model, tile) > scratch_target)) tile /= 2;
    std::size_t const tiles = (rows + tile - 1) / tile;
    std::size_t const tiles_per_team = (tiles + most_teams - 1) / most_teams;
    return {tile, tiles_per_team * tile, (tiles + tiles_per_team - 1) / tiles_per_team};
  }

  /// Forward, loss and backward of a batch. \param gradients, totals  (teams, elements), (teams, sums)
  static auto step(Model const& model, ChainDivision const& division, Slice<T, L> const& slice,
                   PerOutput<1> const& scales, T const* parameters, T* gradients, double* totals) {
    detail::ChainLayout<T> layout(model.description(), division.tile_rows);
    auto const inputs = static_cast<kernels::ChainIndex>(model.input_size());
    kernels::ChainIndex const tile_inputs = layout.take_rows(inputs);
    auto const layers = chain(model, scales[0], layout);
    return kernels::ChainStep<T, L, std::remove_const_t<decltype(layers)>, Space>{
        .layers = layers,
        .parameters = parameters,
        .x = slice.x.block(),
        .targets = slice.y,
        .weights = slice.weight,
        .rows = slice.rows,
        .team_rows = division.team_rows,
        .tile_rows = static_cast<kernels::ChainIndex>(division.tile_rows),
        .inputs = inputs,
        .target_size = static_cast<kernels::ChainIndex>(model.target_size()),
        .tile_inputs = tile_inputs,
        .numbers = static_cast<kernels::ChainIndex>(layout.numbers()),
        .elements = model.description().elements,
        .gradients = gradients,
        .totals = totals};
  }

 private:
  using Architecture = std::remove_cvref_t<decltype(std::declval<Model const&>().architecture())>;

  /// Rows of a tile; the least is what a thread takes at once. Teams, whose gradients are added up.
  static constexpr std::size_t least_rows = kernels::chain_block, most_rows = 16, most_teams = 128;
  /// Bytes of scratch memory that a tile of more than `least_rows` may take: what Kokkos has for CUDA.
  static constexpr std::size_t scratch_target = 40'000;

  static std::size_t bytes(Model const& model, std::size_t tile_rows) {
    detail::ChainLayout<T> layout(model.description(), tile_rows);
    layout.take_rows(model.input_size());
    chain(model, 0, layout);
    return Memory::bytes(layout.numbers(), (1 + tile_rows) * Model::totals_width);
  }

  static auto chain(Model const& model, double scale, detail::ChainLayout<T>& layout) {
    return chain_from<0, true>(model, model.architecture().input(), scale, layout);
  }

  /// The chain from layer I on. \tparam is_first  true if no Dense layer stands before it
  template <std::size_t I, bool is_first, class In>
  static auto chain_from(Model const& model, In const& in, double scale, detail::ChainLayout<T>& layout) {
    if constexpr (I == Architecture::layer_count) {
      return score(model, in.size(), scale, layout);
    } else {
      auto const& layer = model.architecture().template layer<I>();
      auto const out = layer.output(in);
      if constexpr (detail::reinterprets<detail::LayerOf<Architecture, I>>) {
        return chain_from<I + 1, is_first>(model, out, scale, layout);
      } else {
        constexpr bool followed = detail::activation_follows<Architecture, I + 1>();
        constexpr std::size_t next = I + (followed ? 2 : 1);
        auto const activation = [&] {
          if constexpr (followed)
            return detail::only_activation(layer.activation, model.architecture().template layer<I + 1>().activation);
          else
            return layer.activation;
        }();
        constexpr bool is_last = next == Architecture::layer_count,
                       use_bias = detail::LayerOf<Architecture, I>::use_bias;
        auto const first = dense<is_first, is_last, use_bias>(activation, in.size(), out.size(), layout);
        auto const rest = chain_from<next, false>(model, out, scale, layout);
        return kernels::Chain<std::remove_const_t<decltype(first)>, std::remove_const_t<decltype(rest)>>{first, rest};
      }
    }
  }

  template <bool is_first, bool is_last, bool use_bias, class A>
  static auto dense(A const& activation, std::size_t inputs, std::size_t units, detail::ChainLayout<T>& layout) {
    std::size_t const weight_stride = is_first ? units : units | 1, stride = is_last ? units : units | 1;
    kernels::ChainDense<A, use_bias> layer{.activation = activation,
                                           .inputs = static_cast<kernels::ChainIndex>(inputs),
                                           .units = static_cast<kernels::ChainIndex>(units),
                                           .kernel = layout.parameter(),
                                           .bias = 0,
                                           .weights = layout.take(inputs * weight_stride),
                                           .biases = 0,
                                           .weight_stride = static_cast<kernels::ChainIndex>(weight_stride),
                                           .z = 0,
                                           .y = layout.take_rows(stride),
                                           .stride = static_cast<kernels::ChainIndex>(stride)};
    if constexpr (use_bias) {
      layer.bias = layout.parameter();
      layer.biases = layout.take(units);
    }
    layer.z = needs_preactivation<A>() ? layout.take_rows(stride) : layer.y;
    return layer;
  }

  static auto score(Model const& model, std::size_t outputs, double scale, detail::ChainLayout<T>& layout) {
    auto const& head = model.head();
    auto const metrics =
        std::apply([](auto const&... metric) { return kernels::pack_metrics(metric...); }, head.metrics());
    using Loss = typename Model::Head::Loss;
    using Score = kernels::ChainScore<LinkOf<Loss>, Loss, std::remove_const_t<decltype(metrics)>>;
    Score score{.loss = head.loss(),
                .metrics = metrics,
                .scale = scale,
                .size = static_cast<kernels::ChainIndex>(outputs),
                .linked = 0,
                .gradients = layout.take_rows(outputs)};
    if constexpr (Score::has_link) score.linked = layout.take_rows(outputs);
    return score;
  }

  template <class Loss>
  struct Linked {
    using type = typename Loss::link;
  };
  struct Unlinked {
    using type = void;
  };
  /// The activation between what the loss takes and what metrics take.
  template <class Loss>
  using LinkOf = typename std::conditional_t<Model::on_logits, Linked<Loss>, Unlinked>::type;
};

}  // namespace trireme
