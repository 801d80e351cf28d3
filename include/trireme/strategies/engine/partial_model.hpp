/// PartialModel: the parts of a process that holds some elements of a model's arena, and the optimizer's state of some.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/gpu_awareness.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/engine/arena_exchange.hpp"
#include "trireme/strategies/engine/arena_map.hpp"
#include "trireme/strategies/engine/device_batch.hpp"
#include "trireme/strategies/engine/divided_weights.hpp"
#include "trireme/strategies/engine/optimizer_update.hpp"
#include "trireme/strategies/engine/process_sum.hpp"
#include "trireme/strategies/engine/step.hpp"

namespace trireme {

/// Parts of an engine that divides the model over processes (EngineBase), which has the steps.
template <class ModelType, class SpaceType, class Arenas>
class PartialModel {
 public:
  using Model = ModelType;
  using Space = SpaceType;
  using Group = Communicator;
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Context = SpaceContext<Space>;
  using Weights = DividedWeights<T, Space, Arenas>;
  using Snapshot = typename Weights::Snapshot;
  using Step = trireme::Step<Model>;

  /// Collective. \param holders  the group of processes that hold the model together. `make_arenas`: see
  /// DividedWeights.
  template <class MakeArenas>
  PartialModel(Model model, Space const& space, std::shared_ptr<Communicator const> group,
               std::shared_ptr<Communicator const> holders, ModelDivision division, MakeArenas const& make_arenas)
      : model_(std::move(model)),
        group_(std::move(group)),
        holders_(std::move(holders)),
        context_(space),
        weights_(model_, space, group_, std::move(division.weights), make_arenas),
        slots_(std::move(division.slots)),
        updater_(space, model_.optimizer(),
                 held_part(model_.description(), slots_, group_->rank(), division.states_begin, division.states_end)),
        batch_(model_.input_size(), model_.target_size()) {
    for (auto& totals : totals_) totals = make_view<Totals>(space, "trireme::totals", Model::totals_width);
    updater_.share_sums(std::make_shared<GroupSum<Communicator>>(*holders_));
  }

  Model const& model() const { return model_; }
  Communicator const& group() const { return *group_; }
  Weights& weights() { return weights_; }
  Weights const& weights() const { return weights_; }
  /// Arenas of the pass, in the memory that this process holds.
  Arenas& arenas() { return weights_.arenas(); }
  Arenas const& arenas() const { return weights_.arenas(); }
  auto& optimizer() { return updater_; }
  auto const& optimizer() const { return updater_; }
  /// Context of the whole space.
  Context& context() { return context_; }
  /// The parameters that each process updates, and holds the optimizer's state of.
  ArenaMap const& slot_map() const { return slots_; }
  /// Those of this process.
  T* own_parameters() {
    if constexpr (requires { arenas().own_parameters(); })
      return arenas().own_parameters();
    else
      return weights_.data();
  }

  /// Devices that may keep a copy of the inputs of all samples.
  static constexpr std::size_t input_copies() { return is_host_space<Space> ? 0 : 1; }
  /// Rows of the batch in the space's memory.
  Slice<T, L> upload(Batch<T, L> const& batch) { return batch_.upload(context_.space(), batch); }
  /// See predict_batch.
  template <class F>
  void predict(Batch<T, L> const& batch, T* out, F const& f) {
    predict_batch(batch_, context_.space(), batch, model_.output_size(), out, f);
  }
  /// Collective if the loss leaves some positions out. \param counts  true if this process counts its rows: one process
  /// for each row does.
  Step begin_step(Batch<T, L> const& batch, bool counts = true) {
    return {upload(batch),
            {.seed = model_.seed(),
             .step = updater_.iteration(),
             .first_row = batch.first_row,
             .global_rows = batch.global_rows},
            global_positions(model_, *group_, batch, counts),
            batch.global_rows};
  }

  /// Sums of loss and metrics of a phase, in the space's memory.
  double* totals(Phase phase) { return totals_[static_cast<std::size_t>(phase)].data(); }
  void reset_metrics(Phase phase) {
    fill_view(context_.space(), totals_[static_cast<std::size_t>(phase)], 0);
    if (phase == Phase::train) updater_.set_trained_penalty();
  }

  /// Loss and metrics since the reset, exact over all processes. Collective.
  Uniform<std::array<double, Model::log_names.size()>> metrics(Phase phase) {
    context_.fence("trireme: totals complete");
    std::vector<double> totals = to_host(totals_[static_cast<std::size_t>(phase)]);
    group_->allreduce_sum(totals);
    auto values = model_.results(totals.data());
    if (updater_.penalized()) values[0] += mean_penalty(phase);
    return detail::UniformAccess::make(values);
  }

  std::size_t slots() const { return updater_.slots().size(); }
  void set_slot(std::size_t slot, std::span<T const> values) {
    weights_.settle();
    spread_arena<Space>(*group_, slots_, 0, values, updater_.slots()[slot].data());
  }

  /// Sends the complete state to the chief. Collective.
  template <class State>
  void gather_state(State& state) const {
    updater_.store(state);
    weights_.collect(state.parameters);
    for (auto const& slot : updater_.slots()) {
      std::vector<T> unused;
      collect_arena<Space>(*group_, slots_, model_.description().elements, slot.data(),
                           group_->is_chief() ? state.slots.emplace_back() : unused);
    }
  }

  /// Waits for work in flight. Always false: no hook ends an epoch alone.
  Uniform<bool> finish_epoch() const {
    weights_.settle();
    return detail::UniformAccess::make(false);
  }

  /// The state of a run besides weights and optimizer state: the epoch's running sums of each process, so that those of
  /// a resumed epoch are bitwise the same. `placement`: the engine's, to which a resumed run has to return. Collective.
  template <class Archive>
  void state(Archive& archive, std::string const& placement) {
    archive.placed("was placed otherwise", "placement", *group_, placement);
    auto const& own_sums = totals_[static_cast<std::size_t>(Phase::train)];
    std::vector<double> sums = to_host(own_sums), trained = updater_.trained_penalty(), penalty{trained[0]};
    archive.summands("sums", *group_, sums, Model::totals_width);
    archive.summands("penalties", *holders_, penalty, 1);  // every copy of the model has the same
    archive("penalized_rows", trained[1]);                 // and every process
    if (!archive.loads()) return;
    copy_view(own_sums, host_view(sums));
    updater_.set_trained_penalty({penalty[0], trained[1]});
  }

  /// `in_place`: true if messages are sent from the space's memory.
  std::string describe_placement(std::string_view kind, bool in_place) const {
    return formatted("{} processes with {} threads of {}, {}{}", group_->size(), context_.space().concurrency(),
                     Space::name(), kind, group_->size() > 1 ? message_path<Space>(in_place) : "");
  }

 private:
  using Totals = Kokkos::View<double*, typename Space::memory_space>;

  /// Each process computes the penalty of the parameters that it updates.
  double mean_penalty(Phase phase) {
    return holders_->allreduce_sum(updater_.mean_penalty(context_, phase, own_parameters())).value();
  }

  Model model_;
  std::shared_ptr<Communicator const> group_, holders_;
  Context context_;
  Weights weights_;
  ArenaMap slots_;
  Updater<T, typename Model::Optimizer, Context> updater_;
  DeviceBatch<T, L, Space> batch_;
  std::array<Totals, 2> totals_;
};

}  // namespace trireme
