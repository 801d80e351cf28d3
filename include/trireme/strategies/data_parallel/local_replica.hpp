/// LocalReplica: the parts of a process that takes optimizer steps on its own rows, with weights of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/data_parallel/own_weights.hpp"
#include "trireme/strategies/data_parallel/replica.hpp"

namespace trireme {

/// The replica of a synchronization with local steps: it steps on its own rows, and its weights are its own until an
/// epoch ends. Means of a step are over this process's rows; loss and metrics are exact over the rows of all. A file of
/// weights has the mean over the processes, which evaluation and predictions use too, and a checkpoint each process's
/// own beside it, so that neither changes training.
template <class ModelType, class SpaceType, class GroupType>
class LocalReplica
    : public Replica<ModelType, SpaceType, GroupType, OwnWeights<typename ModelType::scalar, SpaceType, GroupType>> {
  using Base = Replica<ModelType, SpaceType, GroupType, OwnWeights<typename ModelType::scalar, SpaceType, GroupType>>;

 public:
  using Model = ModelType;
  using Step = trireme::Step<Model>;
  using T = typename Model::scalar;
  using L = typename Model::label;

  /// Collective: the chief's initial weights are broadcast.
  LocalReplica(Model model, SpaceType const& space, std::shared_ptr<GroupType const> group, std::size_t replicas,
               Parallelism plan)
      : Base(std::move(model), space, std::move(group), replicas, plan) {}

  /// A step on this process's rows alone: loss, gradients and statistics of layers are means over them. Not collective.
  Step begin_step(Batch<T, L> const& batch) {
    if (this->weights().shows_mean())
      raise_uniform(ValueError(
          "training within 'evaluate' or 'predict' of the same model, which uses the mean of the weights that "
          "processes have: train when that has ended"));
    auto own = batch;
    own.global_rows = batch.rows;
    return Base::begin_step(own, own_positions(this->model(), batch, batch.rows), this->optimizer().iteration());
  }
  /// False: a process without rows has no part in a step.
  static constexpr bool differentiates_no_rows() { return false; }
  /// Without rows the gradient arena stays as it is.
  void differentiate(Step const& step, GradientSink<T>* sink) {
    if (step.slice.rows > 0) Base::differentiate(step, sink, nullptr);
  }
  /// Without rows the weights stay as they are, and the step is counted.
  void update(Step const& step) {
    if (step.slice.rows > 0)
      Base::update(step);
    else
      this->optimizer().count_step();
  }
  /// Both at once; without rows the step is counted alone.
  void differentiate_and_update(Step const& step) {
    if (step.slice.rows > 0)
      Base::differentiate_and_update(step, nullptr);
    else
      update(step);
  }

  /// Lets all processes count the steps of the one that did most. True if they differed in these, in `own`, the steps
  /// of each since the weights came together, or in whether the weights were changing. Collective.
  bool join_steps(std::uint64_t own) {
    auto& optimizer = this->optimizer();
    std::uint64_t const changing = this->weights().changing() ? 1 : 0, steps = optimizer.iteration();
    std::vector<std::uint64_t> most{steps, own, changing, ~steps, ~own, ~changing};
    this->group().allreduce_max(most);
    optimizer.set_iteration(most[0]);
    return most[0] != ~most[3] || most[1] != ~most[4] || most[2] != ~most[5];
  }

  /// Loss and metrics since the reset, exact over all processes, each row with the penalty of the weights that it met.
  /// Collective.
  auto metrics(Phase phase) {
    auto const& updater = this->optimizer();
    std::vector<double> totals = this->partitions().totals().sum(phase);
    std::size_t const penalties = totals.size();
    if (updater.penalized()) {
      std::vector<double> const trained = updater.trained_penalty();
      double const own = phase == Phase::train ? 0 : this->penalty(),
                   rows = phase == Phase::train ? trained[1] : totals[1];
      totals.insert(totals.end(), {phase == Phase::train ? trained[0] : rows * own, rows, own});
    }
    this->group().allreduce_sum(totals);
    auto values = this->model().results(totals.data());
    if (updater.penalized()) {
      double const rows = totals[penalties + 1], processes = static_cast<double>(this->group().size());
      values[0] += rows > 0 ? totals[penalties] / rows : totals[penalties + 2] / processes;
    }
    return detail::UniformAccess::make(values);
  }

  /// Fills `state` on the chief with the mean over the processes. Collective.
  template <class State>
  void gather_state(State& state) const {
    Base::gather_state(state);
    bool const is_chief = this->group().is_chief();
    std::vector<T> values = detail::mean_of_processes(this->group(), this->weights().host_parameters());
    if (is_chief) state.parameters = std::move(values);
    for (std::size_t slot = 0; slot < this->slots(); ++slot) {
      values = detail::mean_of_processes(this->group(), to_host(this->optimizer().slots()[slot]));
      if (is_chief) state.slots[slot] = std::move(values);
    }
  }

  /// State of a run besides the means: each process's weights, optimizer state and running sums. Collective.
  template <class Archive>
  void state(Archive& archive) {
    auto const& group = this->group();
    this->partition_sums(archive);
    std::vector<double> penalty = this->optimizer().trained_penalty();
    archive.summands("penalties", group, penalty, penalty.size());
    archive("changing", this->weights().changing());
    std::vector<T> values;
    if (!archive.loads()) values = group.gatherv(own_values(), 0).values();
    archive.on_chief("own", values);
    if (!archive.loads()) return;
    this->optimizer().set_trained_penalty(penalty);
    loaded_.clear();
    if (archive.moved()) return;  // all go on from the means
    values.resize(group.broadcast(values.size()).value());
    group.broadcast(values);
    loaded_ = detail::values_of_process(group, values, values.size() / group.size());
  }
  /// Called when all of a checkpoint has been set, the means last.
  void resumed() {
    if (loaded_.empty()) return;
    std::size_t const size = this->weights().size();
    copy_view(this->weights().parameters(), host_view(loaded_.data(), size));
    T* from = loaded_.data() + size;
    for (auto const& slot : this->optimizer().slots()) {
      copy_view(slot, host_view(from, slot.extent(0)));
      from += slot.extent(0);
    }
    loaded_.clear();
  }

 private:
  /// Weights, then the optimizer's slots.
  std::vector<T> own_values() const {
    std::vector<T> values = this->weights().host_own();
    for (auto const& slot : this->optimizer().slots()) {
      auto const host = to_host(slot);
      values.insert(values.end(), host.begin(), host.end());
    }
    return values;
  }

  std::vector<T> loaded_{};  ///< from a checkpoint, until all of it has been set
};

}  // namespace trireme
