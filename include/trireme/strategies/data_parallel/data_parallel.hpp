/// Data parallelism: every process holds the whole model and trains on its share of each global batch.
///
/// The engines of OneDeviceStrategy, MirroredStrategy and MultiWorkerMirroredStrategy. They differ in the group of
/// processes (`Group`: SingleProcess or Communicator) and in the number of replicas within one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "trireme/backend/threads/profiling.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/data_parallel/divided_update.hpp"
#include "trireme/strategies/data_parallel/local_replica.hpp"
#include "trireme/strategies/data_parallel/partition_plan.hpp"
#include "trireme/strategies/data_parallel/replica.hpp"
#include "trireme/strategies/data_parallel/synchronization.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/gradients/summed_gradients.hpp"

namespace trireme {

namespace detail {

/// The place of a DividedUpdate in engines that never divide.
struct NoDividedUpdate {};

template <class Model, class Space, class Group, class Synchronization>
using ReplicaOf =
    std::conditional_t<steps_locally<Synchronization>, LocalReplica<Model, Space, Group>, Replica<Model, Space, Group>>;

}  // namespace detail

/// The engine of a replica whose `Synchronization` (see there) brings gradients or weights of all processes together.
template <class ModelType, class SpaceType, class Group,
          class SynchronizationType = SummedGradients<ModelType, SpaceType, Group>>
class DataParallel : public EngineBase<detail::ReplicaOf<ModelType, SpaceType, Group, SynchronizationType>> {
  using Base = EngineBase<detail::ReplicaOf<ModelType, SpaceType, Group, SynchronizationType>>;
  using Parts = typename Base::Parts;
  static constexpr bool local_steps = steps_locally<SynchronizationType>;
  /// True if ranks of a node may divide the update.
  static constexpr bool may_divide =
      std::is_same_v<Group, Communicator> && !local_steps && Parts::takes_elements && is_host_space<SpaceType>;
  /// True if steps can be recorded: those in which the processes meet between passes and update alone.
  static constexpr bool may_record = may_record_steps<ModelType, SpaceType, Group> &&
                                     std::is_same_v<SynchronizationType, SummedGradients<ModelType, SpaceType, Group>>;

 public:
  using Synchronization = SynchronizationType;
  using Model = ModelType;
  using Space = SpaceType;
  using T = typename Model::scalar;
  using L = typename Model::label;

  /// Collective: the chief's initial weights are broadcast. `options` go to the Synchronization.
  template <class... Options>
  DataParallel(Model model, Space const& space, std::shared_ptr<Group const> group, std::size_t replicas,
               Parallelism plan, Options const&... options)
      : Base(Parts(std::move(model), space, std::move(group), replicas, plan)),
        synchronization_(parts_.group(), space, parts_.model().description(), options...) {
    if constexpr (local_steps) static_assert(detail::require_local_synchronization<Synchronization, T, Space>());
    if constexpr (requires { parts_.weights().keep_anchor(synchronization_.anchor()); })
      parts_.weights().keep_anchor(synchronization_.anchor());
    if constexpr (requires { synchronization_.shared(); })
      if (auto* const shared = synchronization_.shared()) {
        parts_.partitions().place_gradients(shared->arena());
        if constexpr (may_divide) divide_updates(*shared, plan);
      }
  }

  /// Policy that sums gradients, or brings weights together.
  Synchronization& synchronization() { return synchronization_; }

  /// The shard of each global batch that this process draws.
  DataShard data_shard(Phase) const {
    auto const& group = parts_.group();
    return {group.rank(), group.size(), group.size() * parts_.partitions().plan().replicas};
  }
  /// True if the rows of a batch may be scattered.
  bool takes_scattered_rows() const { return parts_.takes_scattered_rows(); }

  /// After errors have taken all processes out of a call: those that take local steps, and left it in different ones,
  /// get the same weights and count the same steps. Collective.
  void recover() {
    if constexpr (local_steps) {
      std::uint64_t own = 0;
      if constexpr (requires { synchronization_.steps(); }) own = synchronization_.steps();
      if (parts_.group().size() > 1 && parts_.join_steps(own)) synchronization_.at_epoch_end(local_weights());
    }
  }

  /// Sums of gradients that this process has begun, where they do not end within one call.
  std::uint64_t begun() const {
    if constexpr (requires { synchronization_.begun(); }) return synchronization_.begun();
    return 0;
  }

  /// One optimizer step on the global batch, of which `batch` is this process's part (possibly empty). Collective,
  /// unless weights are a process's own; may still be under way on the device when it returns.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    before_step();
    auto const step = parts_.begin_step(batch);
    // Tables of which only some rows have gradients need their sink, also in one process.
    bool const by_samples = parts_.partitions().trains_by_samples(step.slice.rows);
    bool const needs_sink = !by_samples && sink();
    if constexpr (may_record)
      if (parts_.recorder().active()) {
        if (!by_samples && synchronization_.tables().sink())
          parts_.recorder().stop("gradients of tables pass through the host");
        else
          return take_recorded_step(step);
      }
    take_step(step, needs_sink);
  }

  void test_step(Batch<T, L> const& batch) { parts_.test(batch); }
  void predict_step(Batch<T, L> const& batch, T* out) { parts_.predict(batch, out); }
  /// y (rows, output) for x (rows, input), both in the space's memory; complete on return, not collective.
  void infer(std::size_t rows, T const* x, T* y) { parts_.infer(rows, x, y); }

  /// The end of an epoch, after which all processes have the same weights. Collective. False: hooks here decide at once
  /// whether to stop.
  Uniform<bool> finish_epoch() {
    if constexpr (local_steps) synchronization_.at_epoch_end(local_weights());
    return parts_.finish_epoch();
  }

  /// See EngineBase; with what the synchronization keeps.
  MemoryUse memory_use(std::size_t rows) const {
    MemoryUse use = parts_.memory_use(rows);
    if constexpr (requires { synchronization_.memory_bytes(); }) use.workspace_bytes += synchronization_.memory_bytes();
    if constexpr (may_divide)
      if (divided_) use.workspace_bytes += divided_->operand_bytes(rows * parts_.group().size());
    return use;
  }

  /// See EngineBase; with the path of messages from a device's memory, and whether steps are fused and recorded.
  std::string placement() const {
    std::string const steps = (parts_.fuser().active() ? "" : parts_.fuser().text()) + parts_.recorder().text();
    if constexpr (requires { synchronization_.message_path(); })
      return Base::placement() + steps + synchronization_.message_path();
    else
      return Base::placement() + steps;
  }

  /// Fuses steps of a device from now on, where that is possible; `placement` says whether.
  void fuse_steps() { parts_.fuser().start(parts_.model(), parts_.weights().space()); }

  /// Records steps of a device once and launches them whole from then on, with the same bits; `placement` says if so.
  void record_steps() {
    parts_.recorder().start(parts_.model(), parts_.weights().space());
    if constexpr (local_steps)
      parts_.recorder().stop("the processes bring weights together, not gradients");
    else if constexpr (!may_record)
      parts_.recorder().stop("gradients are brought together on the host");
  }

  /// See EngineBase; otherwise where weights are a process's own, or gradients are compressed.
  std::string moved_agreement() const {
    if constexpr (requires { synchronization_.carries(); })
      return "differ as what compression leaves out on each process";
    if constexpr (local_steps) return "go on from the mean of the processes' weights";
    return Base::moved_agreement();
  }

  /// State of a run besides the weights and the optimizer's state. Collective. `pieces`: a text of how a step's rows
  /// are taken one after the other, on which the bits of a result depend too
  template <class Archive>
  void state(Archive& archive, std::string const& pieces = {}) {
    archive.placed("was placed otherwise", "placement", parts_.group(), parts_.placement() + pieces);
    parts_.state(archive);
    archive.placed("exchanged gradients otherwise", "exchange", parts_.group(), exchange());
    if constexpr (requires { synchronization_.state(archive); }) archive("gradients", synchronization_);
  }
  /// Called when all of a checkpoint has been set.
  void resumed() {
    parts_.resumed();
    if constexpr (requires { synchronization_.resumed(); }) synchronization_.resumed();
  }

 protected:
  using Base::parts_;
  using Step = trireme::Step<Model>;

  void before_step() {
    if constexpr (requires(LocalWeights<T, Space> const& weights) { synchronization_.before_step(weights); })
      synchronization_.before_step(local_weights());
  }
  /// Before the first backward of a step.
  void begin_gradients() {
    if constexpr (!local_steps) synchronization_.begin(parts_.partitions().gradients());
  }
  /// The sink of gradients that are final, or null.
  GradientSink<T>* sink() {
    if constexpr (local_steps)
      return nullptr;
    else
      return synchronization_.sink();
  }

  /// After the last one: sums the gradients over the processes and takes the optimizer's step.
  void reduce_and_update(Step const& step) {
    if constexpr (!local_steps) {
      if constexpr (may_divide)
        if (divided_) {
          divided_->begin_stored();
          return update_ranges();
        }
      synchronization_.finish();
    }
    parts_.update(step);
    if constexpr (requires { synchronization_.tables().set_all_dirty(); })
      if (parts_.optimizer().clips_by_norm()) synchronization_.tables().set_all_dirty();
    after_update();
  }

  Synchronization synchronization_;

 private:
  /// All of a step after its batch is there.
  void take_step(Step const& step, bool needs_sink) {
    if constexpr (Parts::takes_elements)
      if (sums_alone() && !needs_sink && parts_.optimizer().is_elementwise()) {
        parts_.differentiate_and_update(step);
        return after_update();
      }
    begin_gradients();
    if constexpr (may_divide)
      if (divided_) {
        std::size_t const rows = step.slice.rows;
        bool const by_samples = parts_.partitions().trains_by_samples(rows);
        parts_.differentiate(step, sink(), *divided_->begin(rows, step.global_rows, by_samples));
        return update_ranges();
      }
    parts_.differentiate(step, sink());
    reduce_and_update(step);
  }

  /// The same by recordings. Those of several processes are sums of gradients apart, which start after the passes.
  void take_recorded_step(Step const& step) {
    auto& recorder = parts_.recorder();
    if (sums_alone()) return recorder.run(parts_, step, RecordedPart::whole, [&] { take_step(step, false); });
    begin_gradients();
    recorder.run(parts_, step, RecordedPart::passes, [&] { parts_.differentiate(step, nullptr); });
    synchronization_.finish();
    recorder.run(parts_, step, RecordedPart::update, [&] { parts_.update(step); });
  }

  /// Divides updates among the ranks, if each weight's update depends on its own gradient alone and the weights do not
  /// lie in the application's memory.
  template <class Shared>
  void divide_updates(Shared& shared, Parallelism plan) {
    if constexpr (requires { parts_.model().parameter_view(); }) return;
    if (!shared.is_whole() || !parts_.optimizer().changes_only_parameters()) return;
    divided_ =
        DividedUpdate<T, Space>::make(parts_.group(), parts_.weights().space(), shared, parts_.model().description(),
                                      parts_.weights(), parts_.partitions().plan().partitions);
    if (!divided_) return;
    parts_.divide_updates(divided_->own());
    if (plan == Parallelism::automatic && rows_for_owned_weights(parts_.model().description()) > 0)
      parts_.partitions().prefer_samples();
  }
  /// A text of what the order of summands depends on.
  std::string exchange() const {
    if constexpr (may_divide)
      if (divided_) return synchronization_.placement() + ", by ranges of the weights";
    return synchronization_.placement();
  }
  void update_ranges() {
    divided_->meet();
    parts_.update_range(*divided_);
    divided_->exchange();
  }

  /// True if no other process, and no earlier step, has a summand of the gradients.
  bool sums_alone() const {
    if constexpr (local_steps) return true;
    if constexpr (requires { synchronization_.carries(); })
      if (synchronization_.carries()) return false;
    return parts_.group().size() == 1;
  }

  void after_update() {
    if constexpr (local_steps) synchronization_.after_update(local_weights());
  }

  LocalWeights<T, Space> local_weights() {
    ModelDescription const& model = parts_.model().description();
    return {parts_.context(),         parts_.weights().data(),        parts_.partitions().gradients(), model.elements,
            model.reduced_elements(), parts_.optimizer().iteration(), parts_.weights().changing()};
  }

  std::conditional_t<may_divide, std::unique_ptr<DividedUpdate<T, Space>>, detail::NoDividedUpdate> divided_{};
};

}  // namespace trireme
