/// ShardedStrategy: every rank takes its rows of each global batch, and no rank holds everything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/gpu_awareness.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/engine/arena_map.hpp"
#include "trireme/strategies/engine/cross_replica_sum.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/engine/partial_model.hpp"
#include "trireme/strategies/engine/process_sum.hpp"
#include "trireme/strategies/engine/require_same.hpp"
#include "trireme/strategies/sharded/model_pass.hpp"
#include "trireme/strategies/sharded/sharded_arenas.hpp"

namespace trireme {

/// The engine of a rank under ShardedStrategy. All threads of the space work on each product: a gradient arena for each
/// thread would take the memory that sharding saves.
template <class ModelType, class SpaceType, std::size_t Stage>
class ShardedEngine
    : public EngineBase<
          PartialModel<ModelType, SpaceType, ShardedArenas<typename ModelType::scalar, SpaceType, Stage>>> {
  using Arenas = ShardedArenas<typename ModelType::scalar, SpaceType, Stage>;
  using Parts = PartialModel<ModelType, SpaceType, Arenas>;
  using Base = EngineBase<Parts>;

 public:
  using Model = ModelType;
  using Space = SpaceType;
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Layout = ShardLayout<T, Stage>;
  /// The chief reads files for all.
  static constexpr bool divided = true;
  /// True if a process holds all weights, and so can use them by itself.
  static constexpr bool holds_all = Stage < 3;

  /// The shard of each global batch that this process draws.
  DataShard data_shard(Phase) const { return {parts_.group().rank(), parts_.group().size(), parts_.group().size()}; }

  /// Collectives that this process has begun.
  std::uint64_t begun() const { return parts_.arenas().begun(); }

  /// One optimizer step on the global batch; `batch` is this process's part (possibly empty). Collective; may still be
  /// under way when it returns.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    auto& context = parts_.context();
    auto& arenas = parts_.arenas();
    auto const step = parts_.begin_step(batch);
    cross_replica_sum_.begin(sum_.get());
    arenas.complete_left();
    {
      ContextSum const sums(context, cross_replica_sum_);
      pass_.train(parts_.model(), context, step.slice, step.scales(), reserve(batch.rows), arenas,
                  parts_.totals(Phase::train), step.keys);
    }
    arenas.finish();
    parts_.optimizer().apply(context, arenas.own_parameters(), arenas.own_gradients(), step.global_rows);
    parts_.optimizer().move_states(context, arenas.states(), arenas.updates(), step.global_rows);
    arenas.spread();
  }

  /// Adds this process's part of a batch to the test metrics. Collective under stage 3.
  void test_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::test_step");
    pass_.test(parts_.model(), parts_.context(), parts_.upload(batch), reserve(batch.rows), parts_.arenas(),
               parts_.totals(Phase::test));
  }

  /// Predictions for this process's rows, (rows, output) in host memory. Collective under stage 3.
  void predict_step(Batch<T, L> const& batch, T* out) {
    parts_.predict(batch, out, [this](std::size_t rows, T const* x, T* y) { predict(rows, x, y); });
    parts_.context().fence("trireme: predictions complete");
  }

  /// y (rows, output) for x (rows, input), both in the space's memory; complete on return, not collective.
  void infer(std::size_t rows, T const* x, T* y) {
    static_assert(holds_all,
                  "trireme: infer needs a process that holds the whole model, which none does under stage 3; use "
                  "predict, which is collective");
    predict(rows, x, y);
    if constexpr (!is_host_space<Space>) parts_.context().fence("trireme: predictions complete");
  }

  /// Waits for work in flight. Always false: no hook here ends an epoch alone.
  Uniform<bool> finish_epoch() { return parts_.finish_epoch(); }

  /// Throws if weights that several processes hold are no longer bitwise the same. Collective.
  void verify_replicas() const {
    if (parts_.group().size() == 1) return;
    parts_.weights().settle();
    // All weights except those of a shard, which no other process has.
    auto const& model = parts_.model().description();
    auto const& held = parts_.weights().held();
    std::size_t const first = holds_all ? 0 : held.extent(0) - (model.arena_elements() - model.elements);
    std::vector<T> values(held.extent(0) - first);
    copy_view(host_view(values), space_view<Space>(held.data() + first, values.size()));
    detail::require_same_weights(parts_.group(), std::move(values), this->iteration());
  }

  /// Memory of this process for batches of up to `rows` rows of its own, and its contribution to a step's reduction.
  MemoryUse memory_use(std::size_t rows) const {
    auto const& group = parts_.group();
    return {parts_.model().cost(),
            parts_.slots(),
            group.size(),
            rows,
            pass_.workspace_bytes(parts_.model(), rows),
            parts_.slot_map().size(group.rank()) * sizeof(T)};
  }

  /// A readable description of what the bits of a result depend on; a run resumes where it is the same. Not collective.
  std::string placement() const {
    return parts_.describe_placement(formatted("shards of stage {}", Stage), mpi_reduces<Space>());
  }

  /// The ranks that hold a layer's weights under stage 3, and those that update its parameters under the others.
  LayerPlacement layer_placement() const {
    if (parts_.group().size() == 1) return {};
    if (holds_all) return {"Updated by", layer_holders(parts_.model().description(), parts_.slot_map())};
    return {"Held by", layer_holders(parts_.model().description(), parts_.weights().map())};
  }

  /// The state of a run besides weights and optimizer state. Collective.
  template <class Archive>
  void state(Archive& archive) {
    parts_.state(archive, placement());
  }

  /// Collective.
  ShardedEngine(Model const& model, Space const& space, std::shared_ptr<Communicator const> const& group)
      : ShardedEngine(model, space, group, Pass(model)) {}

 private:
  using Base::parts_;
  using Pass = detail::ModelPass<Model, SpaceContext<Space>>;
  static_assert(
      Stage < 3 || !requires(Model const& model) { model.parameter_view(); },
      "trireme: ShardedStrategy of stage 3 holds parameters in shards, and cannot train them in the application's "
      "View; take stage 1 or 2");

  ShardedEngine(Model const& model, Space const& space, std::shared_ptr<Communicator const> const& group, Pass pass)
      : Base(parts(model, space, group, Layout(pass.ranges(), group->rank(), group->size()))),
        pass_(std::move(pass)),
        cross_replica_sum_(PartitionPlan{}),
        sum_(std::make_unique<GroupSum<Communicator>>(parts_.group())) {}

  static Parts parts(Model const& model, Space const& space, std::shared_ptr<Communicator const> const& group,
                     Layout const& layout) {
    ModelDescription const& description = model.description();
    ModelDivision division{layout.weights(description.arena_elements() - description.elements), layout.shards(), 0,
                           description.state_elements};
    return Parts(model, space, group, group, std::move(division),
                 [&](T* held) { return Arenas(*group, space, layout, held, description.state_elements); });
  }

  void predict(std::size_t rows, T const* x, T* y) {
    pass_.predict(parts_.model(), parts_.context(), rows, x, y, reserve(rows), parts_.arenas());
  }

  /// Memory for a pass over so many rows: it grows to the largest batch seen, and never shrinks.
  std::byte* reserve(std::size_t rows) {
    rows = std::max<std::size_t>(1, rows);
    if (rows > reserved_rows_) {
      workspace_ = uninitialized_view<decltype(workspace_)>(parts_.context().space(), "trireme::workspace",
                                                            pass_.workspace_bytes(parts_.model(), rows));
      reserved_rows_ = rows;
    }
    return workspace_.data();
  }

  Pass pass_;
  CrossReplicaSum cross_replica_sum_;
  std::unique_ptr<GroupSum<Communicator>> sum_;
  Kokkos::View<std::byte*, typename Space::memory_space> workspace_;
  std::size_t reserved_rows_ = 0;
};

/// Each rank of N owns 1/N of the optimizer's state (Stage 1), of the gradients too (2), of the parameters too (3).
/// Sums of gradients go to their owners, and new parameters from them to all. The resulting weights depend neither on
/// the stage nor on N. Sources: Rajbhandari et al., ZeRO, 2020; Zhao et al., PyTorch FSDP, 2023.
template <class SpaceType = Kokkos::DefaultExecutionSpace, std::size_t Stage = 3>
class ShardedStrategy {
  static_assert(Stage >= 1 && Stage <= 3,
                "trireme: ShardedStrategy has stage 1 (shards of the optimizer's state), 2 (of gradients too) or 3 (of "
                "parameters too)");

 public:
  using Space = SpaceType;
  template <class Model>
  using Engine = ShardedEngine<Model, Space, Stage>;

  /// Collective.
  explicit ShardedStrategy(Communicator const& communicator, Space const& space = default_space<Space>())
      : group_(std::make_shared<Communicator>(communicator.duplicate())), space_(space) {}

  Communicator const& group() const { return *group_; }
  /// Duplicate of the communicator that the strategy was made of; the same as `group()`.
  Communicator const& communicator() const { return *group_; }

  /// \throws ValueError under parallelism over samples: a gradient arena for each thread would take the memory that
  /// sharding saves.
  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    if (plan == Parallelism::samples)
      throw ValueError(
          "ShardedStrategy does not take Parallelism::samples, under which each thread holds gradients of its own");
    return Engine<Model>(model, space_, group_);
  }

 private:
  SharedHandle<Communicator const> group_;
  Space space_;
};

}  // namespace trireme
