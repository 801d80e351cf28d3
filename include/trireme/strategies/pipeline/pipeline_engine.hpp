/// The engine of a process under PipelineStrategy: a stage of the model's layers, for its shard of each batch.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/flops.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/slices.hpp"
#include "trireme/mpi/gpu_awareness.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/engine/cross_replica_sum.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/engine/partial_model.hpp"
#include "trireme/strategies/engine/slice_pass.hpp"
#include "trireme/strategies/pipeline/pipeline_arenas.hpp"
#include "trireme/strategies/pipeline/pipeline_link.hpp"
#include "trireme/strategies/pipeline/pipeline_place.hpp"
#include "trireme/strategies/pipeline/pipeline_schedule.hpp"
#include "trireme/strategies/pipeline/pipeline_workspace.hpp"
#include "trireme/strategies/pipeline/stage_replicas.hpp"

namespace trireme {

/// All threads of the space work on each product, and micro-batches come one after the other.
template <class ModelType, class SpaceType, std::size_t... Cuts>
class PipelineEngine
    : public EngineBase<PartialModel<ModelType, SpaceType, StageArenas<typename ModelType::scalar, SpaceType>>> {
  using Arenas = StageArenas<typename ModelType::scalar, SpaceType>;
  using Parts = PartialModel<ModelType, SpaceType, Arenas>;
  using Base = EngineBase<Parts>;
  using Layers = typename decltype(detail::pipeline_layers<ModelType>())::type;
  using SlicesOf = Slices<typename ModelType::scalar, Layers, decltype(detail::pipeline_cuts<Layers, Cuts...>())>;
  using Step = trireme::Step<ModelType>;

 public:
  using Model = ModelType;
  using Space = SpaceType;
  using T = typename Model::scalar;
  using L = typename Model::label;

  /// The chief reads files for all.
  static constexpr bool divided = true;
  static constexpr std::size_t slice_count = SlicesOf::count;

  std::size_t stage() const { return place_.stage; }             ///< of this process, from 0
  std::size_t stages() const { return place_.stages; }           ///< number of stages
  auto begun() const { return parts_.optimizer().iteration(); }  ///< steps of this stage: the last may be ahead

  /// All stages of a pipeline draw the same rows: the first needs the inputs, the last the targets.
  DataShard data_shard(Phase) const { return {replicas_.rank(), replicas_.size(), replicas_.size()}; }

  /// One optimizer step on the global batch; `batch` is this pipeline's part (possibly empty). Collective; may still be
  /// under way when it returns.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    auto& context = parts_.context();
    auto& arenas = parts_.arenas();
    Step const step = parts_.begin_step(place_.needed(batch), place_.is_last());
    workspace_.reserve(context.space(), pass_, batch.rows);
    cross_replica_sum_.begin(replicas_.rows());
    {
      ContextSum const sums(context, cross_replica_sum_);
      schedule_.run(
          [&](std::size_t m) {
            if (runs(batch.rows, m))
              forward(step.slice, m, step.keys, true);
            else
              arenas.forward(context, m, false, [] {});
          },
          [&](std::size_t m) {
            if (runs(batch.rows, m))
              backward(step, m);
            else
              arenas.backward(context, m, false, [] {});
          });
    }
    onwards_.wait_all();
    back_.wait_all();
    replicas_.add_up(context.space());
    T* const held = parts_.weights().data();
    parts_.optimizer().apply(context, held, arenas.gradient_sums(), step.global_rows);
    parts_.optimizer().move_states(context, held + parameters_, arenas.update_sums(), step.global_rows);
  }

  /// Adds this process's part of a batch to the test metrics, in the last stage. Collective for a pipeline.
  void test_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::test_step");
    infer_rows(parts_.upload(place_.needed(batch)),
               [&](Slice<T, L> const& slice, T* z) { score(slice, z, {}, nullptr, Phase::test); });
  }

  /// Predictions for this pipeline's rows, (rows, output) in host memory: all of its stages get them. Collective for a
  /// pipeline.
  void predict_step(Batch<T, L> const& batch, T* out) {
    std::size_t const size = parts_.model().output_size();
    T* next = out;
    infer_rows(parts_.upload(place_.needed(batch)), [&](Slice<T, L> const& slice, T* z) {
      Model const& model = parts_.model();
      model.activate(parts_.context(), slice.rows, z, z);
      T* y = z;
      if constexpr (Model::several_outputs)
        model.join_outputs(parts_.context(), slice.rows, z, y = workspace_.output_gradient());
      copy_view(host_view(next, slice.rows * size), space_view<Space>(y, slice.rows * size));
      next += slice.rows * size;
    });
    place_.stage_group->broadcast(std::span<T>(out, batch.rows * size), place_.stages - 1);
  }

  /// Drops messages of a call that an error ended on all processes, which the next step would take. Collective.
  void recover() {
    place_.stage_group->template discard_messages<T>();
    onwards_.wait_all();
    back_.wait_all();
  }

  /// Compile-time error: no process holds the whole model.
  void infer(std::size_t, T const*, T*) {
    static_assert(sizeof(Model) == 0,
                  "trireme: infer needs a process that holds the whole model, which no stage does; use predict, which "
                  "is collective");
  }

  /// Waits for work in flight. Always false: no hook here ends an epoch alone.
  Uniform<bool> finish_epoch() { return parts_.finish_epoch(); }

  /// Throws if the replicas of a stage are no longer bitwise the same. Collective.
  void verify_replicas() const {
    if (replicas_.size() > 1) replicas_.verify(parts_, place_.stage, place_.stages);
  }

  /// The memory of this process for batches of up to `rows` rows of its pipeline.
  MemoryUse memory_use(std::size_t rows) const {
    ModelCost cost = parts_.model().cost();
    cost.arena_bytes = parameters_ * sizeof(T);
    cost.state_bytes = parts_.arenas().size() * sizeof(T) - cost.arena_bytes;
    return {cost, parts_.slots(), replicas_.size(), rows, workspace_.bytes(pass_, rows)};
  }

  /// A readable description of what the bits of a result depend on; a run resumes where it is the same. Not collective.
  std::string placement() const {
    return parts_.describe_placement(
        formatted("{} stages and {} micro-batches", place_.stages, schedule_.micro_batches), mpi_reads<Space>());
  }

  /// The stage of each layer, with the ranks that hold it in all pipelines.
  LayerPlacement layer_placement() const {
    if (place_.stages == 1) return {};
    return {"Stage", layer_stages(first_layers_, parts_.model().description().layers.size(), parts_.group().size())};
  }

  /// The state of a run besides weights and optimizer state. Collective.
  template <class Archive>
  void state(Archive& archive) {
    parts_.state(archive, placement());
  }

  /// Collective.
  PipelineEngine(Model const& model, Space const& space, std::shared_ptr<Communicator const> const& group,
                 std::size_t stages, std::size_t micro_batches)
      : PipelineEngine(model, space, group, SlicesOf(model.architecture()), stages, micro_batches) {}

 private:
  using Pass = SlicePass<T, SpaceContext<Space>, SlicesOf>;
  using Begins = std::array<std::size_t, slice_count + 1>;

  using Base::parts_;

  PipelineEngine(Model const& model, Space const& space, std::shared_ptr<Communicator const> const& group,
                 SlicesOf const& slices, std::size_t stages, std::size_t micro_batches)
      : PipelineEngine(model, space, group, slices, balanced_cuts(slice_flops(slices), stages),
                       PipelinePlace::of(*group, balanced_cuts(slice_flops(slices), stages), stages), micro_batches) {}

  PipelineEngine(Model const& model, Space const& space, std::shared_ptr<Communicator const> const& group,
                 SlicesOf const& slices, Begins const& begins, PipelinePlace place, std::size_t micro_batches)
      : Base(Parts(model, space, group, place.stage_group,
                   divide_into_stages(model.description(), slices, begins, place, group->size()),
                   [&](T const* held) {
                     auto const of_stage =
                         std::span(slices.ranges()).subspan(place.first_slice, place.last_slice - place.first_slice);
                     return Arenas(space, of_stage, place.first_slice, held, micro_batches);
                   })),
        place_(std::move(place)),
        first_layers_(stage_begins(slices, begins, place_.stages)),
        pass_(slices, place_.first_slice, place_.last_slice),
        schedule_{place_.stage, place_.stages, micro_batches},
        workspace_(schedule_, keeps_input()),
        parameters_(slices.range(place_.last_slice - 1).end - slices.range(place_.first_slice).begin),
        replicas_(place_.data_group, parts_.arenas().gradient_sums(), parts_.arenas().size()),
        mixes_rows_(model.description().row_scope != StatisticsScope::none),
        cross_replica_sum_(PartitionPlan{}),
        onwards_(*place_.stage_group, space, place_.stage + 1, schedule_.in_flight()),
        back_(*place_.stage_group, space, place_.stage - 1, 2) {}

  /// The rows of micro-batch m.
  RowRange micro_batch(std::size_t rows, std::size_t m) const { return row_range(rows, m, schedule_.micro_batches); }
  /// True if the layers run for a micro-batch: without rows they run only to sum over those of other pipelines.
  bool runs(std::size_t rows, std::size_t m) const {
    RowRange const range = micro_batch(rows, m);
    return range.begin != range.end || mixes_rows_;
  }

  /// Returns the stage's output for micro-batch m, and sends it to the next stage.
  T* forward(Slice<T, L> const& slice, std::size_t m, StepKeys keys, bool training) {
    auto& context = parts_.context();
    auto& arenas = parts_.arenas();
    RowRange const range = micro_batch(slice.rows, m);
    std::size_t const rows = range.end - range.begin, slot = m % schedule_.in_flight();
    keys.first_row += range.begin;
    T const* const x = input(slice, m);
    onwards_.wait(slot);
    if (!place_.is_first())
      back_.receive(workspace_.input(m), rows * pass_.input_size());
    else if constexpr (Model::several_inputs)
      parts_.model().split_inputs(context, rows, slice.x.block() + range.begin * parts_.model().input_size(),
                                  workspace_.input(m));
    T* y = nullptr;
    auto const pass = [&] { y = pass_.forward(context, rows, x, workspace_.kept(m), arenas, keys, training); };
    if (training)
      arenas.forward(context, m, rows > 0, pass);
    else
      pass();
    if (!place_.is_last()) onwards_.send(slot, y, rows * pass_.output_size());
    outputs_[slot] = y;
    return y;
  }

  void backward(Step const& step, std::size_t m) {
    RowRange const range = micro_batch(step.slice.rows, m);
    std::size_t const rows = range.end - range.begin;
    StepKeys keys = step.keys;
    keys.first_row += range.begin;
    T* dy = workspace_.output_gradient();
    if (place_.is_last())
      score(rows_of(parts_.model(), step.slice, range), outputs_[m % schedule_.in_flight()], step.scales(), dy,
            Phase::train);
    else
      onwards_.receive(dy, rows * pass_.output_size());
    back_.wait(m % 2);
    T* const dx = place_.is_first() ? nullptr : workspace_.input_gradient(m);
    parts_.arenas().backward(parts_.context(), m, rows > 0, [&] {
      pass_.backward(parts_.context(), rows, input(step.slice, m), workspace_.kept(m), dy, dx, parts_.arenas(), keys);
    });
    if (!place_.is_first()) back_.send(m % 2, dx, rows * pass_.input_size());
  }

  /// Loss and metrics of a slice for the output z of the last layer, with z's gradient unless `dz` is null.
  void score(Slice<T, L> const& slice, T* z, PerOutput<Model::outputs> const& scales, T* dz, Phase phase) {
    T* const y = Model::on_logits ? workspace_.model_output() : z;
    parts_.model().activate(parts_.context(), slice.rows, z, y);
    parts_.model().head().score(parts_.context(), slice, z, y, scales, dz, parts_.totals(phase));
  }

  /// f(micro-batch, its output) in the last stage, for all that have rows.
  template <class F>
  void infer_rows(Slice<T, L> const& slice, F const& f) {
    workspace_.reserve(parts_.context().space(), pass_, slice.rows);
    for (std::size_t m = 0; m < schedule_.micro_batches; ++m) {
      RowRange const range = micro_batch(slice.rows, m);
      if (range.begin == range.end) continue;
      T* const z = forward(slice, m, {}, false);
      if (place_.is_last()) f(rows_of(parts_.model(), slice, range), z);
    }
    onwards_.wait_all();
  }

  /// True if inputs are stored. The first stage reads its input in place, unless several inputs must be separated.
  bool keeps_input() const { return !place_.is_first() || Model::several_inputs; }
  /// Micro-batch m's input: its rows of the batch, or the stored input, received from the stage before or separated.
  T const* input(Slice<T, L> const& slice, std::size_t m) const {
    return keeps_input() ? workspace_.input(m)
                         : slice.x.block() + micro_batch(slice.rows, m).begin * parts_.model().input_size();
  }

  PipelinePlace place_;
  std::vector<std::size_t> first_layers_;  ///< of each stage
  Pass pass_;
  PipelineSchedule schedule_;
  StageWorkspace<T, Space> workspace_;
  std::size_t parameters_;
  StageReplicas<T, Space> replicas_;
  bool mixes_rows_;
  CrossReplicaSum cross_replica_sum_;
  PipelineLink<T, Space> onwards_, back_;
  std::vector<T*> outputs_ = std::vector<T*>(schedule_.in_flight());
};

}  // namespace trireme
