/// LocalReplica: the parts of a process that takes optimizer steps on its own rows, with weights of its own.
#pragma once

#include <algorithm>
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
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/data_parallel/replica.hpp"
#include "trireme/strategies/engine/whole_weights.hpp"

namespace trireme {

namespace detail {

/// Of the values of several processes, `size` each, this one's, or the mean if they were not as many as now.
template <class T, class Group>
std::vector<T> values_of_process(Group const& group, std::vector<T> const& values, std::size_t size) {
  std::size_t const count = values.size() / size;
  auto const part = [&](std::size_t i) { return std::span(values).subspan(i * size, size); };
  if (count == group.size()) return {part(group.rank()).begin(), part(group.rank()).end()};
  std::vector<T> own(size);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < size; ++j) own[j] += part(i)[j] / static_cast<T>(count);
  return own;
}

/// The mean over the processes, or these values if all have the same. Collective.
template <class T, class Group>
std::vector<T> mean_of_processes(Group const& group, std::vector<T> values) {
  std::uint64_t const bits = data::hash_bytes(values.data(), values.size() * sizeof(T));
  if (group.allreduce_min(bits).value() == group.allreduce_max(bits).value()) return values;
  group.allreduce_sum(values);
  for (T& value : values) value /= static_cast<T>(group.size());
  return values;
}

}  // namespace detail

/// Whole weights that are each process's own until a synchronization brings them together.
template <class T, class Space, class Group>
class OwnWeights : public WholeWeights<T, Space, Group> {
  using Base = WholeWeights<T, Space, Group>;

 public:
  /// The process's weights, then, where there is an anchor, as many that all processes have alike: those from which the
  /// weights have changed. The last number is 1 if they were changing from it, else 0.
  using Snapshot = Arena<T, Space>;

  /// Weights that begin as the chief's. Collective.
  template <class Model>
  OwnWeights(Model const& model, Space const& space, std::shared_ptr<Group const> group)
      : Base(model, space, std::move(group)) {}

  /// Keeps `anchor`, the first elements of the weights that the processes had alike last, in step with weights that are
  /// set: one that all processes are given is no change of theirs, and a snapshot brings back what had changed.
  void keep_anchor(Arena<T, Space> const& anchor) {
    anchor_ = anchor;
    copy_view(anchor_, part(this->parameters(), 0, anchor_.extent(0)));
  }

  Snapshot snapshot() const {
    std::size_t const size = this->size(), anchored = anchor_.extent(0);
    if (anchored == 0) return Base::snapshot();
    auto const copy = uninitialized_view<Snapshot>(this->space(), "trireme::snapshot", snapshot_size());
    copy_view(part(copy, 0, size), this->parameters());
    copy_view(part(copy, size, anchored), anchor_);
    // Frozen weights change in no step.
    copy_view(part(copy, size + anchored, size - anchored), part(this->parameters(), anchored, size - anchored));
    T const changing = changing_ ? 1 : 0;
    copy_view(part(copy, 2 * size, 1), host_view(&changing, 1));
    return copy;
  }
  void restore(Snapshot const& snapshot) {
    std::size_t const size = this->size(), anchored = anchor_.extent(0);
    copy_view(this->parameters(), part(snapshot, 0, size));
    if (anchored == 0) return;
    copy_view(anchor_, part(snapshot, size, anchored));
    T changing{};
    copy_view(host_view(&changing, 1), part(snapshot, 2 * size, 1));
    changing_ = changing != 0;
  }
  /// True from when the anchor is taken until the processes bring their weights together; the same on all of them.
  bool& changing() { return changing_; }

  /// Elements of a snapshot. A gathered one holds a snapshot of each process.
  std::size_t snapshot_size() const { return anchor_.extent(0) > 0 ? 2 * this->size() + 1 : this->size(); }
  /// The snapshots of all processes, one behind the other, on the chief. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    return std::move(this->group_->gatherv(to_host(snapshot), 0).values());
  }
  /// This process's snapshot of those that the chief gives, or their mean if it was another number of processes.
  /// Collective.
  Snapshot scatter(std::vector<T>& values) const {
    values.resize(this->group_->broadcast(values.size()).value());
    this->group_->broadcast(values);
    return this->snapshot_of(detail::values_of_process(*this->group_, values, snapshot_size()));
  }

  /// Overwrites the weights on every process with the chief's values. Collective.
  void set_parameters(std::span<T> values) { set_values(0, values); }
  /// The same for elements from `offset` on.
  void set_values(std::size_t offset, std::span<T> values) {
    Base::set_values(offset, values);
    if (offset >= anchor_.extent(0)) return;
    std::size_t const count = std::min(values.size(), anchor_.extent(0) - offset);
    copy_view(part(anchor_, offset, count), host_view(values.data(), count));
  }

 private:
  static Arena<T, Space> part(Arena<T, Space> const& all, std::size_t offset, std::size_t count) {
    return Arena<T, Space>(all.data() + offset, count);
  }

  Arena<T, Space> anchor_{};
  bool changing_ = false;
};

/// The replica of a synchronization with local steps: it steps on its own rows, and its weights are its own until an
/// epoch ends. Means of a step are over this process's rows; loss and metrics are exact over the rows of all. A file of
/// weights has the mean over the processes, and a checkpoint each process's own too, so that saving changes none.
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
    std::vector<T> values = this->weights().host_parameters();
    for (auto const& slot : this->optimizer().slots()) {
      auto const host = to_host(slot);
      values.insert(values.end(), host.begin(), host.end());
    }
    return values;
  }

  std::vector<T> loaded_{};  ///< from a checkpoint, until all of it has been set
};

}  // namespace trireme
