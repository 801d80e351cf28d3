/// A process that holds a part of the model: some elements of its arena, and the optimizer's state of some.
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
#include "trireme/strategies/engine/arena_exchange.hpp"
#include "trireme/strategies/engine/arena_map.hpp"
#include "trireme/strategies/engine/device_batch.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/engine/initial_parameters.hpp"
#include "trireme/strategies/engine/optimizer_update.hpp"
#include "trireme/strategies/engine/process_sum.hpp"
#include "trireme/strategies/engine/step.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// All members except the steps. Operations on all weights are collective, and go through the host
/// (arena_exchange.hpp).
template <class ModelType, class SpaceType>
class PartialEngine : public EngineBase<ModelType, Communicator> {
  using Base = EngineBase<ModelType, Communicator>;
  using Memory = typename SpaceType::memory_space;

 public:
  /// The chief reads files for all.
  static constexpr bool divided = true;
  using Space = SpaceType;
  using Context = SpaceContext<Space>;
  using typename Base::L;
  using typename Base::Model;
  using typename Base::T;
  using Parameters = Arena<T, Space>;
  /// The weights that this process holds at one moment, in the space's memory.
  using Snapshot = Parameters;

  void reset_metrics(Phase phase) {
    fill_view(context_.space(), totals_[static_cast<std::size_t>(phase)], 0);
    if (phase == Phase::train) updater_.set_trained_penalty(0);
  }

  /// Loss and metrics since the reset, exact over all processes. Collective.
  Uniform<std::array<double, Model::log_names.size()>> metrics(Phase phase) {
    context_.fence("trireme: totals complete");
    std::vector<double> totals = to_host(totals_[static_cast<std::size_t>(phase)]);
    group_->allreduce_sum(totals);
    auto values = model_.results(totals.data());
    if (updater_.penalized() && totals[1] > 0) values[0] += mean_penalty(phase, totals[1]);
    return detail::UniformAccess::make(values);
  }

  std::uint64_t iteration() const { return updater_.iteration(); }
  bool has_schedule() const { return updater_.has_schedule(); }
  double learning_rate() const { return updater_.learning_rate(); }
  void set_learning_rate(double rate) { updater_.set_learning_rate(rate); }
  void set_iteration(std::uint64_t iteration) { updater_.set_iteration(iteration); }
  std::size_t slots() const { return updater_.slots().size(); }

  Snapshot snapshot() const {
    settle();
    return clone_view(context_.space(), "trireme::snapshot", held_);
  }
  void restore(Snapshot const& snapshot) {
    settle();
    copy_view(held_, snapshot);
  }
  /// The complete snapshot, on the chief. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    std::vector<T> all;
    collect_arena<Space>(*group_, division_.weights, model_.description().arena_elements(), snapshot.data(), all);
    return all;
  }
  /// This process's part of the chief's complete snapshot. Collective.
  Snapshot scatter(std::span<T const> values) const {
    auto const copy = uninitialized_view<Snapshot>(context_.space(), "trireme::snapshot", held_.extent(0));
    spread_arena<Space>(*group_, division_.weights, 0, values, copy.data());
    return copy;
  }

  /// Elements [offset, offset + count) of the arena, on every process. Collective.
  std::vector<T> host_values(std::size_t offset, std::size_t count) const {
    settle();
    return share_arena<Space>(*group_, division_.weights, offset, count, held_.data());
  }
  /// The whole arena on every process: for models that fit one. Collective.
  std::vector<T> host_parameters() const { return host_values(0, model_.description().arena_elements()); }

  /// Overwrites elements of the arena from `offset` on with the chief's values; those of other processes are ignored.
  /// Collective.
  void set_values(std::size_t offset, std::span<T const> values) {
    settle();
    spread_arena<Space>(*group_, division_.weights, offset, values, held_.data());
  }
  void set_parameters(std::span<T const> values) { set_values(0, values); }
  void set_slot(std::size_t slot, std::span<T const> values) {
    settle();
    spread_arena<Space>(*group_, division_.slots, 0, values, updater_.slots()[slot].data());
  }

  /// Sends the complete state to the chief: fills `state` there (parameters, slots, iteration, learning_rate).
  /// Collective.
  template <class State>
  void gather_state(State& state) const {
    settle();
    state.iteration = static_cast<std::int64_t>(updater_.iteration());
    if (!has_schedule()) state.learning_rate = static_cast<T>(learning_rate());
    collect_arena<Space>(*group_, division_.weights, model_.description().arena_elements(), held_.data(),
                         state.parameters);
    for (auto const& slot : updater_.slots()) {
      std::vector<T> unused;
      collect_arena<Space>(*group_, division_.slots, model_.description().elements, slot.data(),
                           group_->is_chief() ? state.slots.emplace_back() : unused);
    }
  }

  /// The state of a run besides weights and optimizer state: the epoch's running sums of each process, so that those of
  /// a resumed epoch are bitwise the same. Collective.
  template <class Archive>
  void state(Archive& archive) {
    auto const& own_sums = totals_[static_cast<std::size_t>(Phase::train)];
    std::vector<double> sums = to_host(own_sums), penalty{updater_.trained_penalty()};
    archive.summands("sums", *group_, sums, Model::totals_width);
    archive.summands("penalties", *parts_, penalty, 1);  // every copy of the model has the same
    if (!archive.loads()) return;
    copy_view(own_sums, host_view(sums));
    updater_.set_trained_penalty(penalty[0]);
  }

 protected:
  using Base::group_;
  using Base::model_;

  /// Sums over the other processes that hold parts of this one's copy of the model.
  using PartSum = GroupSum<Communicator>;

  using Step = trireme::Step<Model>;

  /// \param parts  the group of processes that hold the model together.
  PartialEngine(Model model, Space const& space, std::shared_ptr<Communicator const> group,
                std::shared_ptr<Communicator const> parts, ModelDivision division)
      : Base(std::move(model), std::move(group)),
        context_(space),
        parts_(std::move(parts)),
        division_(std::move(division)),
        held_(memory(space, model_, division_.weights.size(group_->rank()))),
        updater_(space, model_.optimizer(),
                 held_part(model_.description(), division_.slots, group_->rank(), division_.states_begin,
                           division_.states_end)),
        batch_(model_.input_size(), model_.target_size()) {
    for (auto& totals : totals_) totals = make_view<Totals>(space, "trireme::totals", Model::totals_width);
    updater_.share_sums(std::make_shared<PartSum>(*parts_));
    initialize();
  }

  /// Collective if the loss leaves some positions out. \param counts  true if this process counts its rows: one process
  /// for each row does.
  Step begin_step(Batch<T, L> const& batch, bool counts = true) {
    return {batch_.upload(context_.space(), batch),
            {.seed = model_.seed(),
             .step = updater_.iteration(),
             .first_row = batch.first_row,
             .global_rows = batch.global_rows},
            this->global_positions(batch, counts),
            batch.global_rows};
  }

  /// Waits until the weights are complete where they are held. Not collective.
  virtual void settle() const { context_.fence("trireme: weights complete"); }
  ~PartialEngine() = default;

  std::string describe_placement(std::string_view kind) const {
    return formatted("{} processes with {} threads of {}, {}", group_->size(), context_.space().concurrency(),
                     Space::name(), kind);
  }

  double* totals(Phase phase) { return totals_[static_cast<std::size_t>(phase)].data(); }

  Context context_;
  std::shared_ptr<Communicator const> parts_;
  ModelDivision division_;
  Parameters held_;
  Updater<T, typename Model::Optimizer, Context> updater_;
  /// The parameters that this process updates.
  T* own_ = nullptr;
  DeviceBatch<T, L, Space> batch_;

 private:
  using Totals = Kokkos::View<double*, Memory>;
  /// The application's memory, if it keeps all parameters.
  static Parameters memory(Space const& space, Model const& own_model, std::size_t elements) {
    if constexpr (requires { own_model.parameter_view(); })
      return parameter_arena<Parameters>(space, own_model);
    else
      return make_view<Parameters>(space, "trireme::parameters", elements);
  }

  /// Initializes tensor by tensor, so that a process needs memory for the largest at most.
  void initialize() {
    ModelDescription const& description = model_.description();
    if constexpr (requires(ParameterInfo const& weight) { model_.initial_values(weight); }) {
      std::vector<T> part;
      for_each_weight(description, [&](auto const& weight) {
        division_.weights.for_each_held(group_->rank(), weight.offset, weight.offset + weight.size,
                                        [&](std::size_t first, std::size_t local, std::size_t count) {
                                          if (part.empty()) part = model_.initial_values(weight);
                                          std::span<T> const from(part.data() + (first - weight.offset), count);
                                          copy_view(space_view<Space>(held_.data() + local, count), host_view(from));
                                        });
        part.clear();
      });
    } else {
      set_parameters(initial_parameters(model_));
    }
  }

  /// Each process computes the penalty of the parameters that it updates.
  double mean_penalty(Phase phase, double positions) {
    double const own =
        phase == Phase::train ? updater_.trained_penalty() / positions : updater_.penalty(context_, own_);
    return parts_->allreduce_sum(own).value();
  }

  std::array<Totals, 2> totals_;
};

}  // namespace trireme
