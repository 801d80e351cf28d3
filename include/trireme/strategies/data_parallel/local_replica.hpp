/// LocalReplica: a process that takes optimizer steps on its own rows, with weights of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/strategies/data_parallel/replica.hpp"

namespace trireme {

/// A replica whose synchronization has local steps: it steps on its own rows, and its weights are its own until an
/// epoch ends. Means of a step are over this process's rows; loss and metrics are exact over the rows of all. A file of
/// weights has the mean over the processes, and a checkpoint each process's own too, so that saving changes none.
template <class ModelType, class SpaceType, class Group>
class LocalReplica : public Replica<ModelType, SpaceType, Group> {
  using Base = Replica<ModelType, SpaceType, Group>;

 public:
  using typename Base::L;
  using typename Base::Model;
  using typename Base::Snapshot;
  using typename Base::Space;
  using typename Base::T;

  /// Loss and metrics since the reset, exact over all processes, each row with the penalty of the weights that it met.
  /// Collective.
  auto metrics(Phase phase) {
    std::vector<double> totals = partitions_.totals().sum(phase);
    totals.push_back(0);
    if (updater_.penalized())
      totals.back() = phase == Phase::train ? updater_.trained_penalty()
                                            : totals[1] * updater_.penalty(partitions_.context(), parameters_.data());
    group_->allreduce_sum(totals);
    auto values = model_.results(totals.data());
    if (totals[1] > 0) values[0] += totals.back() / totals[1];
    return detail::UniformAccess::make(values);
  }

  /// Fills `state` on the chief with the mean over the processes. Collective.
  template <class State>
  void gather_state(State& state) const {
    Base::gather_state(state);
    std::vector<T> values = mean(this->host_parameters());
    if (group_->is_chief()) state.parameters = std::move(values);
    for (std::size_t slot = 0; slot < this->slots(); ++slot) {
      values = mean(to_host(updater_.slots()[slot]));
      if (group_->is_chief()) state.slots[slot] = std::move(values);
    }
  }

  /// A gathered snapshot holds one of each process.
  static constexpr bool snapshots_of_each = true;

  /// The snapshots of all processes, one behind the other, on the chief. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    return std::move(group_->gatherv(to_host(snapshot), 0).values());
  }
  /// This process's snapshot of those that the chief gives, or their mean if it was another number of processes.
  /// Collective.
  Snapshot scatter(std::vector<T>& values) const {
    values.resize(group_->broadcast(values.size()).value());
    group_->broadcast(values);
    auto const own = own_of(values, parameters_.extent(0));
    auto const copy = uninitialized_view<Snapshot>(this->space(), "trireme::snapshot", own.size());
    copy_view(copy, host_view(own.data(), own.size()));
    return copy;
  }

  /// State of a run besides the means: each process's weights, optimizer state and running sums. Collective.
  template <class Archive>
  void state(Archive& archive) {
    archive.placed("was placed otherwise", "placement", this->placement());
    this->partition_sums(archive);
    std::vector<double> penalty{updater_.trained_penalty()};
    archive.summands("penalties", *group_, penalty, 1);
    std::vector<T> values;
    if (!archive.loads()) values = group_->gatherv(own_values(), 0).values();
    archive.on_chief("own", values);
    if (!archive.loads()) return;
    updater_.set_trained_penalty(penalty[0]);
    loaded_.clear();
    if (archive.moved()) return;  // all go on from the means
    values.resize(group_->broadcast(values.size()).value());
    group_->broadcast(values);
    auto const own = own_of(values, values.size() / group_->size());
    loaded_.assign(own.begin(), own.end());
  }
  /// Called when all of a checkpoint has been set, the means last.
  void resumed() {
    if (loaded_.empty()) return;
    std::size_t const size = parameters_.extent(0);
    copy_view(parameters_, host_view(loaded_.data(), size));
    T* from = loaded_.data() + size;
    for (auto const& slot : updater_.slots()) {
      copy_view(slot, host_view(from, slot.extent(0)));
      from += slot.extent(0);
    }
    loaded_.clear();
  }
  std::string moved_agreement() const { return "go on from the mean of the processes' weights"; }

 protected:
  using Base::group_;
  using Base::model_;
  using Base::parameters_;
  using Base::partitions_;
  using Base::updater_;

  using Step = typename Base::Step;

  /// Collective: the chief's initial weights are broadcast.
  LocalReplica(Model model, Space const& space, std::shared_ptr<Group const> group, std::size_t replicas,
               Parallelism plan)
      : Base(std::move(model), space, std::move(group), replicas, plan) {}

  /// A step on this process's rows alone: loss, gradients and statistics of layers are means over them. Not collective.
  Step begin_step(Batch<T, L> const& batch) {
    auto own = batch;
    own.global_rows = batch.rows;
    auto const positions =
        model_.masks_positions() ? model_.counted_positions(batch.y, batch.rows) : model_.positions(batch.rows);
    return Base::begin_step(own, positions, updater_.iteration());
  }
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
      updater_.set_iteration(updater_.iteration() + 1);
  }
  void differentiate_and_update(Step const& step) {
    if (step.slice.rows > 0)
      Base::differentiate_and_update(step, nullptr);
    else
      update(step);
  }

 private:
  /// The mean over the processes, or these values if all have the same. Collective.
  std::vector<T> mean(std::vector<T> values) const {
    std::uint64_t const bits = data::hash_bytes(values.data(), values.size() * sizeof(T));
    if (group_->allreduce_min(bits).value() == group_->allreduce_max(bits).value()) return values;
    group_->allreduce_sum(values);
    for (T& value : values) value /= static_cast<T>(group_->size());
    return values;
  }

  /// Weights, then the optimizer's slots.
  std::vector<T> own_values() const {
    std::vector<T> values = this->host_parameters();
    for (auto const& slot : updater_.slots()) {
      auto const host = to_host(slot);
      values.insert(values.end(), host.begin(), host.end());
    }
    return values;
  }

  /// Of the values of several processes, `size` each, this one's, or the mean if they were not as many as now.
  std::vector<T> own_of(std::vector<T> const& values, std::size_t size) const {
    std::size_t const count = values.size() / size;
    auto const part = [&](std::size_t i) { return std::span(values).subspan(i * size, size); };
    if (count == group_->size()) return {part(group_->rank()).begin(), part(group_->rank()).end()};
    std::vector<T> own(size);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < size; ++j) own[j] += part(i)[j] / static_cast<T>(count);
    return own;
  }

  std::vector<T> loaded_{};  ///< from a checkpoint, until all of it has been set
};

}  // namespace trireme
