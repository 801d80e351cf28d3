/// StepRecorder: records the training steps of a replica, where its types allow that.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "trireme/backend/execution/recorded_work.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/layers/call.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/strategies/engine/device_batch.hpp"
#include "trireme/strategies/engine/recorded_steps.hpp"
#include "trireme/strategies/engine/step.hpp"
#include "trireme/strategies/engine/update_kernels.hpp"

namespace trireme {

/// True if steps of a replica can be recorded, as far as types but the optimizer's say: on a device that records, those
/// of models of layers, of processes that each have one device.
template <class Model, class Space, class Group>
inline constexpr bool may_record_steps =
    RecordsWork<Space> && (std::is_same_v<Group, SingleProcess> || std::is_same_v<Group, Communicator>) &&
    (requires(Model const& model) { model.architecture(); } ||
     requires(Model const& model) { model.exact_architecture(); });

/// Part of a step that is recorded as one: the passes are all before the optimizer's update.
enum class RecordedPart : std::uint64_t { whole, passes, update };

/// Recorder of steps with this rule of the optimizer. It records none before `start`.
template <class Model, class Space, class Group, class Rule>
class StepRecorder {
  using T = typename Model::scalar;
  using L = typename Model::label;
  static constexpr bool may_record = may_record_steps<Model, Space, Group> && CopiedRule<Rule>;

 public:
  /// Records steps from now on, if that is possible.
  void start(Model const& model, Space const& space) {
    started_ = true;
    if constexpr (may_record) {
      steps_ = std::make_unique<RecordedSteps<Space, Rule>>(space);
      if (model.description().row_scope == StatisticsScope::global)
        stop("statistics of the global batch pass through the host");
      if (model.masks_positions()) stop("the loss leaves positions out, in each batch another number");
    }
  }
  /// Ends recording. \param why  end of the sentence "steps not recorded: …"
  void stop(char const* why) {
    if constexpr (may_record)
      if (steps_) steps_->stop(why);
  }
  /// True if steps are recorded.
  bool active() const {
    if constexpr (may_record) return steps_ && steps_->active();
    return false;
  }
  /// A readable description, empty before `start`.
  std::string text() const {
    if (!started_) return {};
    if constexpr (may_record) return ", " + steps_->text();
    return ", steps not recorded: only those of models of layers, with an optimizer whose rule is "
           "trivially copyable, on CUDA and "
           "HIP devices are";
  }

  /// Brings a batch to the space, with the values of its step, whose rule is `rule()`; `keys` receive the number that
  /// kernels read there.
  template <class NextRule>
  Slice<T, L> upload(DeviceBatch<T, L, Space>& batches, Space const& space, Batch<T, L> const& batch,
                     NextRule const& rule, StepKeys& keys) {
    if constexpr (may_record)
      if (active()) {
        auto const slice = batches.upload(space, batch, steps_->values(keys.step.unnoted(), rule()));
        keys.step = steps_->begin(keys.step.unnoted(), batches.appended());
        return slice;
      }
    return batches.upload(space, batch);
  }

  /// Calls take(next), with the rule in the device's memory if the step may be recorded.
  template <class Next, class Take>
  void with_rule(Next const& next, Take const& take) const {
    if constexpr (may_record)
      if (active() && steps_->rule()) return take(next.with(kernels::StoredRule<Rule>{steps_->rule()}));
    take(next);
  }

  /// A part of a replica's step by `take()`, which enqueues all of it, or by a recording of what `take` enqueued in an
  /// earlier step.
  template <class Replica, class Take>
  void run(Replica& replica, Step<Model> const& step, RecordedPart part, Take const& take) {
    if constexpr (may_record) {
      if (active()) return run_recorded(replica, step, part, take);
    }
    take();
  }

 private:
  template <class Replica, class Take>
  void run_recorded(Replica& replica, Step<Model> const& step, RecordedPart part, Take const& take) {
    if (replica.context().exceeds_arguments()) stop("a kernel's functor is larger than its argument may be");
    list_memory(replica);
    list_batch(step);
    key_.push_back(static_cast<std::uint64_t>(part));
    auto& optimizer = replica.optimizer();
    std::uint64_t const iteration = optimizer.iteration();
    steps_->run(key_, [&] {
      optimizer.set_iteration(iteration);
      take();
    });
    if (part != RecordedPart::passes) optimizer.set_iteration(iteration + 1);
  }

  /// Begins the key of a step with the addresses of the memory that kernels use beside the batch's, and which may move.
  template <class Replica>
  void list_memory(Replica& replica) {
    key_.assign(1, reinterpret_cast<std::uintptr_t>(replica.weights().data()));
    for (auto const& slot : replica.optimizer().slots()) key_.push_back(reinterpret_cast<std::uintptr_t>(slot.data()));
    replica.partitions().list_addresses(key_);
    replica.fuser().list_addresses(key_);
  }
  /// Adds addresses and numbers of the batch.
  void list_batch(Step<Model> const& step) {
    for (void const* const address :
         {static_cast<void const*>(step.slice.x.block()), static_cast<void const*>(step.slice.y),
          static_cast<void const*>(step.slice.weight), static_cast<void const*>(steps_->rule())})
      key_.push_back(reinterpret_cast<std::uintptr_t>(address));
    for (std::uint64_t const number :
         {std::uint64_t{step.slice.rows}, std::uint64_t{step.global_rows}, step.keys.seed, step.keys.first_row,
          std::uint64_t{step.keys.micro_step}, std::uint64_t{steps_->values_bytes()}})
      key_.push_back(number);
    for (double const positions : step.positions) key_.push_back(std::bit_cast<std::uint64_t>(positions));
  }

  struct Nothing {};

  std::conditional_t<may_record, std::unique_ptr<RecordedSteps<Space, Rule>>, Nothing> steps_{};
  std::vector<std::uint64_t> key_;
  bool started_ = false;
};

}  // namespace trireme
