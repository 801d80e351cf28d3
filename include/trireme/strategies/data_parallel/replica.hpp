/// Replica: the parts of a process that holds the whole model: weights, optimizer state and its shard of each batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/data_parallel/batch_partitions.hpp"
#include "trireme/strategies/data_parallel/operand_copies.hpp"
#include "trireme/strategies/data_parallel/partition_plan.hpp"
#include "trireme/strategies/data_parallel/replica_optimizer.hpp"
#include "trireme/strategies/data_parallel/step_fuser.hpp"
#include "trireme/strategies/data_parallel/step_recorder.hpp"
#include "trireme/strategies/data_parallel/update_range.hpp"
#include "trireme/strategies/engine/device_batch.hpp"
#include "trireme/strategies/engine/group_member.hpp"
#include "trireme/strategies/engine/process_sum.hpp"
#include "trireme/strategies/engine/require_same.hpp"
#include "trireme/strategies/engine/step.hpp"
#include "trireme/strategies/engine/whole_weights.hpp"

namespace trireme {

/// Parts of data-parallel engines (EngineBase), and passes of the model over the process's rows. The engines bring the
/// processes together.
template <class ModelType, class SpaceType, class GroupType,
          class WeightsType = WholeWeights<typename ModelType::scalar, SpaceType, GroupType>>
class Replica {
 public:
  using Model = ModelType;
  using Space = SpaceType;
  using Group = GroupType;
  using Weights = WeightsType;
  using Snapshot = typename Weights::Snapshot;
  using Step = trireme::Step<Model>;
  using T = typename Model::scalar;
  using L = typename Model::label;

 private:
  using Optimizer = ReplicaOptimizer<T, typename Model::Optimizer, Space>;
  using Rule = typename Optimizer::Rule;

 public:
  /// Collective: the chief's initial weights are broadcast. `updates`: true if this process keeps the optimizer's
  /// state; otherwise it receives its weights.
  Replica(Model model, Space const& space, std::shared_ptr<Group const> group, std::size_t replicas, Parallelism plan,
          bool updates = true)
      : Replica(model, space, std::move(group),
                plan_model(model.description(), plan, replicas, static_cast<std::size_t>(space.concurrency()),
                           sizeof(T), is_host_space<Space>),
                updates) {}

  /// `order`: optionally that in which gradients of partitions are added. Collective as above.
  template <class... Order>
  Replica(Model model, Space const& space, std::shared_ptr<Group const> group, PartitionPlan const& plan, bool updates,
          Order const&... order)
      : model_(std::move(model)),
        group_(std::move(group)),
        weights_(model_, space, group_),
        partitions_(space, model_, plan, order...),
        optimizer_(space, model_.optimizer(), model_.description(), updates),
        batch_(model_.input_size(), model_.target_size()),
        processes_(*group_) {}

  Model const& model() const { return model_; }
  Group const& group() const { return *group_; }
  Weights& weights() { return weights_; }
  Weights const& weights() const { return weights_; }
  auto& optimizer() { return optimizer_; }
  auto const& optimizer() const { return optimizer_; }
  /// Partitions of this process's rows.
  auto& partitions() { return partitions_; }
  auto const& partitions() const { return partitions_; }
  /// Context of the whole space.
  SpaceContext<Space>& context() { return partitions_.context(); }
  /// The processes that share the rows of a batch.
  ProcessSum const* processes() const { return &processes_; }
  /// True if the rows of a batch may be scattered: each thread then reads or gathers its own.
  bool takes_scattered_rows() const { return partitions_.plan().by_samples; }
  /// Devices that may keep a copy of the inputs of all samples.
  static constexpr std::size_t input_copies() { return is_host_space<Space> ? 0 : 1; }

  // Tests and predictions.

  /// Adds this process's part of a batch to the test metrics. Not collective.
  void test(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::test_step");
    partitions_.test(model_, batch_.upload(weights_.space(), batch), weights_.data());
  }

  /// Predictions for this process's rows, (rows, output) in host memory. Not collective.
  void predict(Batch<T, L> const& batch, T* out) {
    predict_batch(batch_, weights_.space(), batch, model_.output_size(), out, [&](std::size_t rows, T const* x, T* y) {
      partitions_.predict(model_, rows, x, y, weights_.data());
    });
    context().fence("trireme: predictions complete");
  }

  /// y (rows, output) for x (rows, input), both in the space's memory; complete on return, not collective.
  void infer(std::size_t rows, T const* x, T* y) {
    partitions_.predict(model_, rows, x, y, weights_.data());
    if constexpr (!is_host_space<Space>) context().fence("trireme: predictions complete");
  }

  // Steps.

  /// Collective if the loss leaves some positions out.
  Step begin_step(Batch<T, L> const& batch) {
    return begin_step(batch, global_positions(model_, *group_, batch), optimizer_.iteration());
  }
  /// The same for known positions. `number`: of the step, for random keys.
  Step begin_step(Batch<T, L> const& batch, PerOutput<Model::outputs> const& positions, std::uint64_t number) {
    Step step{{},
              {.seed = model_.seed(), .step = number, .first_row = batch.first_row, .global_rows = batch.global_rows},
              positions,
              batch.global_rows};
    step.slice =
        recorder_.upload(batch_, weights_.space(), batch, [this] { return optimizer_.next_rule(); }, step.keys);
    return step;
  }

  /// True if `differentiate` has to be called without rows too: layers add up rows of all processes.
  bool differentiates_no_rows() const { return model_.description().row_scope != StatisticsScope::none; }
  /// Puts this process's summands of the mean gradient, and of the states' updates, into the gradient arena.
  void differentiate(Step const& step, GradientSink<T>* sink) { differentiate(step, sink, &processes_); }
  /// The same, except for products that layers defer, whose operands go to `copies`.
  void differentiate(Step const& step, GradientSink<T>* sink, OperandCopies<T>& copies) {
    partitions_.train(model_, step.slice, step.scales(), weights_.data(), step.keys, sink, &processes_, {}, &copies);
  }
  /// \param processes  that share the batch's rows; null: no others.
  void differentiate(Step const& step, GradientSink<T>* sink, ProcessSum const* processes) {
    if (!sink && train_fused(step)) return;
    partitions_.train(model_, step.slice, step.scales(), weights_.data(), step.keys, sink, processes);
  }

  /// The optimizer's step, and the states', from the sums over all processes.
  void update(Step const& step) {
    optimizer_.apply(context(), weights_.data(), partitions_.gradients(), step.global_rows,
                     [&](auto const& next, auto const& take) { recorder_.with_rule(next, take); });
    optimizer_.move_states(context(), weights_.data(), partitions_.gradients(), step.global_rows);
  }

  /// From now on this process updates the elements `own` of the weights, and keeps their part of the optimizer's state.
  void divide_updates(RowRange const& own) { optimizer_.divide(own); }
  /// The optimizer's step for its own elements, from the gradients and operands of all ranks (DividedUpdate).
  template <class Ranks>
  void update_range(Ranks const& ranks) {
    optimizer_.step_range(partitions_, weights_.data(), ranks);
  }

  /// Recorder of this replica's steps.
  auto& recorder() { return recorder_; }
  auto const& recorder() const { return recorder_; }
  /// Fuser of this replica's steps.
  auto& fuser() { return fuser_; }
  auto const& fuser() const { return fuser_; }

  /// True if the optimizer's rule takes elements one by one, so that `differentiate_and_update` can be called.
  static constexpr bool takes_elements = Optimizer::takes_elements;

  /// Both at once, if no other process has a summand and the optimizer `is_elementwise`. Under parallelism over samples
  /// the threads that sum the gradients apply the optimizer to their ranges; under parallelism within operators
  /// backward does.
  void differentiate_and_update(Step const& step) { differentiate_and_update(step, &processes_); }
  /// \param processes  that share the batch's rows; null: no others.
  void differentiate_and_update(Step const& step, ProcessSum const* processes) {
    recorder_.with_rule(optimizer_.next_step(weights_.data(), partitions_.gradients()),
                        [&](auto const& next) { differentiate_and_update(step, processes, next); });
    optimizer_.count_step();
  }

  /// Waits for work in flight. Always false: hooks decide at once whether to stop.
  Uniform<bool> finish_epoch() {
    context().fence("trireme: epoch complete");
    return detail::UniformAccess::make(false);
  }

  // Loss and metrics.

  void reset_metrics(Phase phase) {
    partitions_.totals().reset(phase);
    if (phase == Phase::train) optimizer_.set_trained_penalty();
  }

  /// Loss and metrics since the reset, exact over all processes. Collective.
  Uniform<std::array<double, Model::log_names.size()>> metrics(Phase phase) {
    std::vector<double> totals = partitions_.totals().sum(phase);
    group_->allreduce_sum(totals);
    return results(totals, phase);
  }

  /// Loss and metrics from totals over all processes.
  Uniform<std::array<double, Model::log_names.size()>> results(std::vector<double> const& totals, Phase phase) {
    auto values = model_.results(totals.data());
    if (optimizer_.penalized()) values[0] += optimizer_.mean_penalty(context(), phase, weights_.data());
    return detail::UniformAccess::make(values);
  }
  /// The penalty of the weights.
  double penalty() { return optimizer_.penalty(context(), weights_.data()); }

  // The complete state.

  std::size_t slots() const { return optimizer_.slots().size(); }
  void set_slot(std::size_t slot, std::span<T> values) { optimizer_.set_slot(*group_, slot, values); }

  /// Collective; every process holds everything, so nothing is sent, unless updates are divided.
  template <class State>
  void gather_state(State& state) const {
    optimizer_.gather(*group_, state);
    if (group_->is_chief()) state.parameters = weights_.host_parameters();
  }

  /// The state of a run besides weights and optimizer state: the epoch's running sums of each process and partition, so
  /// that those of a resumed epoch are bitwise the same. Collective.
  template <class Archive>
  void state(Archive& archive) {
    partition_sums(archive);
    std::vector<double> penalty = optimizer_.trained_penalty();  // the same in all processes
    archive("penalty", penalty[0]);
    archive("penalized_rows", penalty[1]);
    if (archive.loads()) optimizer_.set_trained_penalty(penalty);
  }
  /// The sums of the partitions alone.
  template <class Archive>
  void partition_sums(Archive& archive) {
    std::vector<double> sums = partitions_.totals().all(Phase::train);
    archive.summands("sums", *group_, sums, Model::totals_width);
    if (archive.loads()) partitions_.totals().set(Phase::train, sums);
  }
  /// Called when all of a checkpoint has been set.
  static constexpr void resumed() {}

  void verify_replicas() const {
    if (group_->size() == 1) return;
    detail::require_same_weights(*group_, weights_.host_parameters(), optimizer_.iteration());
  }

  std::string placement() const {
    std::string text = placement_text(partitions_.plan(), group_->size(), detail::members_name<Group>,
                                      weights_.space().concurrency(), Space::name());
    return fuser_.active() ? text + fuser_.text() : text;
  }

  /// Memory of this process for batches of up to `rows` rows of its own.
  MemoryUse memory_use(std::size_t rows) const {
    MemoryUse use{model_.cost(), slots(), group_->size(), rows, workspace_bytes(rows)};
    use.members = detail::members_name<Group>;
    if (auto const own = optimizer_.own_elements()) use.slot_bytes = *own * sizeof(T);
    return use;
  }
  /// Bytes of the workspaces of all partitions and of fused steps, for `rows` rows of this process.
  std::size_t workspace_bytes(std::size_t rows) const {
    return partitions_.workspace_bytes(model_, rows) + fuser_.memory_bytes(model_, rows);
  }

 private:
  /// The same by `next`, the optimizer's step.
  template <class Next>
  void differentiate_and_update(Step const& step, ProcessSum const* processes, Next const& next) {
    if (train_fused(step, next)) return;
    auto const train = [&](GradientSink<T>* sink, UpdateRange<T> const& range) {
      partitions_.train(model_, step.slice, step.scales(), weights_.data(), step.keys, sink, processes, range);
    };
    optimizer_.step_in_pass(partitions_, step.slice.rows, model_.description().elements, next, train);
    optimizer_.move_states(context(), weights_.data(), partitions_.gradients(), step.global_rows);
  }

  /// The passes of a step as one kernel, with that of the optimizer if it is given; false where steps are not fused.
  template <class... Next>
  bool train_fused(Step const& step, Next const&... next) {
    return fuser_.train(context(), model_, step.slice, step.scales(), weights_.data(), partitions_.gradients(),
                        partitions_.totals().data(0, Phase::train), next...);
  }

  Model model_;
  std::shared_ptr<Group const> group_;
  Weights weights_;
  BatchPartitions<Model, Space> partitions_;
  Optimizer optimizer_;
  DeviceBatch<T, L, Space> batch_;
  GroupSum<Group> processes_;
  StepRecorder<Model, Space, Group, Rule> recorder_;
  StepFuser<Model, Space, Group> fuser_;
};

}  // namespace trireme
