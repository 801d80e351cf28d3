/// PipelinePlace: the stage of a process, and the elements that each process of all pipelines holds.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/slices.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/engine/arena_map.hpp"

namespace trireme {

namespace detail {

/// The layers of a model: void where it is not made of layers, or computes in two precisions.
template <class Model>
constexpr auto pipeline_layers() {
  if constexpr (requires(Model const& model) { model.architecture(); })
    return std::type_identity<std::decay_t<decltype(std::declval<Model const&>().architecture())>>();
  else
    return std::type_identity<void>();
}

/// The model's slices: its stages, or the units of stages.
template <class Layers, std::size_t... Cuts>
constexpr auto pipeline_cuts() {
  static_assert(is_sequential<Layers>,
                "trireme: PipelineStrategy cuts a Sequential or a Graph between its layers, in one precision");
  if constexpr (!is_sequential<Layers>) {
    return std::index_sequence<>();
  } else if constexpr (sizeof...(Cuts) == 0) {
    return ParameterCuts<Layers>();
  } else {
    static_assert(((Cuts < Layers::layer_count) && ...),
                  "trireme: a cut of a PipelineStrategy lies behind the model's last layer");
    if constexpr (((Cuts < Layers::layer_count) && ...))
      return std::index_sequence<Cuts...>();
    else
      return std::index_sequence<>();
  }
}

}  // namespace detail

/// Consecutive ranks are the stages of one pipeline.
struct PipelinePlace {
  std::size_t stage, stages;
  std::size_t first_slice, last_slice;              ///< of the stage: [first, last)
  std::shared_ptr<Communicator const> stage_group;  ///< the stages of this pipeline, in order
  std::shared_ptr<Communicator const> data_group;   ///< this stage of all pipelines

  /// The place of this process. Stage i begins at slice begins[i]. Collective.
  template <std::size_t N>
  static PipelinePlace of(Communicator const& group, std::array<std::size_t, N> const& begins, std::size_t stages) {
    std::size_t const stage = group.rank() % stages, pipeline = group.rank() / stages;
    return {stage,
            stages,
            begins[stage],
            begins[stage + 1],
            std::make_shared<Communicator>(group.split(pipeline, stage)),
            std::make_shared<Communicator>(group.split(stage, pipeline))};
  }

  /// True if the stage takes the inputs.
  bool is_first() const { return stage == 0; }
  /// True if the stage has the loss.
  bool is_last() const { return stage + 1 == stages; }
  /// Parts of a batch that the stage needs: inputs in the first stage, targets in the last.
  template <class T, class L>
  Batch<T, L> needed(Batch<T, L> batch) const {
    if (!is_first()) batch.x = {};
    if (!is_last()) batch.y = nullptr, batch.weight = nullptr;
    return batch;
  }
};

/// The layer of the model's description at which each stage begins, if stage i begins at slice begins[i].
template <class SlicesType, std::size_t N>
std::vector<std::size_t> stage_begins(SlicesType const& slices, std::array<std::size_t, N> const& begins,
                                      std::size_t stages) {
  std::vector<std::size_t> layers;
  for (std::size_t stage = 0; stage < stages; ++stage) layers.push_back(slices.range(begins[stage]).first_leaf);
  return layers;
}

/// For each layer, as text, its stage and the ranks of that stage in all pipelines: "1 (ranks 1, 3)".
inline std::vector<std::string> layer_stages(std::vector<std::size_t> const& first_layers, std::size_t layers,
                                             std::size_t ranks) {
  std::vector<std::string> texts;
  for (std::size_t stage = 0; stage < first_layers.size(); ++stage) {
    std::vector<std::size_t> of_stage;
    for (std::size_t rank = stage; rank < ranks; rank += first_layers.size()) of_stage.push_back(rank);
    texts.resize(stage + 1 < first_layers.size() ? first_layers[stage + 1] : layers,
                 formatted("{} ({})", stage, detail::rank_text(of_stage)));
  }
  return texts;
}

/// Each rank holds its stage's parameters, then its states, then its frozen weights.
template <class SlicesType, std::size_t N>
ModelDivision divide_into_stages(ModelDescription const& model, SlicesType const& slices,
                                 std::array<std::size_t, N> const& begins, PipelinePlace const& own,
                                 std::size_t ranks) {
  std::vector<std::vector<HeldRange>> weights(ranks), slots(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    SliceRange const& first = slices.range(begins[rank % own.stages]);
    SliceRange const& last = slices.range(begins[rank % own.stages + 1] - 1);
    slots[rank] = {{first.begin, last.end, 0}};
    std::size_t const states = model.elements, frozen = model.elements + model.state_elements;
    std::size_t local = last.end - first.begin;
    weights[rank] = {slots[rank][0], {states + first.states_begin, states + last.states_end, local}};
    local += last.states_end - first.states_begin;
    weights[rank].push_back({frozen + first.frozen_begin, frozen + last.frozen_end, local});
  }
  return {ArenaMap(std::move(weights)), ArenaMap(std::move(slots)), slices.range(own.first_slice).states_begin,
          slices.range(own.last_slice - 1).states_end};
}

}  // namespace trireme
