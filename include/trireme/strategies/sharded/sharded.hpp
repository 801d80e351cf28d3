/// ShardedStrategy: every rank takes its rows of each global batch, and no rank holds everything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/engine/arena_map.hpp"
#include "trireme/strategies/engine/cross_replica_sum.hpp"
#include "trireme/strategies/engine/partial_engine.hpp"
#include "trireme/strategies/engine/process_sum.hpp"
#include "trireme/strategies/sharded/model_pass.hpp"
#include "trireme/strategies/sharded/sharded_arenas.hpp"

namespace trireme {

/// The engine of a rank under ShardedStrategy. All threads of the space work on each product: a gradient arena for each
/// thread would take the memory that sharding saves.
template <class ModelType, class SpaceType, std::size_t Stage>
class ShardedEngine : public PartialEngine<ModelType, SpaceType> {
  using Base = PartialEngine<ModelType, SpaceType>;
  using typename Base::Context;

 public:
  using typename Base::L;
  using typename Base::Model;
  using typename Base::Parameters;
  using typename Base::Snapshot;
  using typename Base::Space;
  using typename Base::T;
  using Layout = ShardLayout<T, Stage>;
  /// True if a process holds all weights, and so can use them by itself.
  static constexpr bool holds_all = Stage < 3;

  /// The shard of each global batch that this process draws.
  DataShard data_shard(Phase) const { return {group_->rank(), group_->size(), group_->size()}; }

  /// One optimizer step on the global batch; `batch` is this process's part (possibly empty). Collective; may still be
  /// under way when it returns.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    auto const step = this->begin_step(batch);
    cross_replica_sum_.begin(sum_.get());
    SpaceSum exchange(cross_replica_sum_);
    context_.set_exchange(&exchange);
    pass_.train(model_, context_, step.slice, step.scales(), reserve(batch.rows), arenas_, this->totals(Phase::train),
                step.keys);
    context_.set_exchange(nullptr);
    arenas_.finish();
    updater_.apply(context_, own_, arenas_.own_gradients(), step.positions[0]);
    updater_.move_states(context_, arenas_.states(), arenas_.updates(), step.global_rows);
    arenas_.spread();
  }

  /// Adds this process's part of a batch to the test metrics. Collective under stage 3.
  void test_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::test_step");
    pass_.test(model_, context_, batch_.upload(context_.space(), batch), reserve(batch.rows), arenas_,
               this->totals(Phase::test));
  }

  /// Predictions for this process's rows, (rows, output) in host memory. Collective under stage 3.
  void predict_step(Batch<T, L> const& batch, T* out) {
    auto const slice = batch_.upload(context_.space(), {.x = batch.x, .rows = batch.rows});
    std::size_t const count = slice.rows * model_.output_size();
    if constexpr (is_host_space<Space>) {
      pass_.predict(model_, context_, slice.rows, slice.x, out, reserve(slice.rows), arenas_);
      context_.fence("trireme: predictions complete");
    } else {
      auto const y = uninitialized_view<Arena<T, Space>>(context_.space(), "trireme::prediction", count);
      pass_.predict(model_, context_, slice.rows, slice.x, y.data(), reserve(slice.rows), arenas_);
      copy_view(host_view(out, count), y);
    }
  }

  /// y (rows, output) for x (rows, input), both in the space's memory; complete on return, not collective.
  void infer(std::size_t rows, T const* x, T* y) {
    static_assert(holds_all,
                  "trireme: infer needs a process that holds the whole model, which none does under stage 3; use "
                  "predict, which is collective");
    pass_.predict(model_, context_, rows, x, y, reserve(rows), arenas_);
    if constexpr (!is_host_space<Space>) context_.fence("trireme: predictions complete");
  }

  /// Waits for work in flight. Always false: no hook here ends an epoch alone.
  Uniform<bool> finish_epoch() {
    settle();
    return detail::UniformAccess::make(false);
  }

  /// Throws if weights that several processes hold are no longer bitwise the same. Collective.
  void verify_replicas() const {
    if (group_->size() == 1) return;
    settle();
    // All weights except those of a shard, which no other process has.
    std::size_t const first = holds_all ? 0 : held_.extent(0) - behind();
    std::vector<T> values(held_.extent(0) - first);
    copy_view(host_view(values), space_view<Space>(held_.data() + first, values.size()));
    this->require_same(data::hash_bytes(values.data(), values.size() * sizeof(T)), [&](std::size_t rank) {
      return formatted("the weights of rank {} differ from those of rank 0 after step {}", rank, updater_.iteration());
    });
  }

  /// Memory of this process for batches of up to `rows` rows of its own, and its contribution to a step's reduction.
  MemoryUse memory_use(std::size_t rows) const {
    return {model_.cost(), updater_.slots().size(), group_->size(),
            rows,          workspace_bytes(rows),   this->division_.slots.size(group_->rank()) * sizeof(T)};
  }

  /// A readable description of what the bits of a result depend on; a run resumes where it is the same. Not collective.
  std::string placement() const { return this->describe_placement(formatted("shards of stage {}", Stage)); }

  /// The ranks that hold a layer's weights under stage 3, and those that update its parameters under the others.
  LayerPlacement layer_placement() const {
    if (group_->size() == 1) return {};
    if (holds_all) return {"Updated by", layer_holders(model_.description(), this->division_.slots)};
    return {"Held by", layer_holders(model_.description(), this->division_.weights)};
  }

  /// The state of a run besides weights and optimizer state. Collective.
  template <class Archive>
  void state(Archive& archive) {
    archive.placed("was placed otherwise", "placement", placement());
    Base::state(archive);
  }

  /// Collective.
  ShardedEngine(Model const& model, Space const& space, std::shared_ptr<Communicator const> const& group)
      : ShardedEngine(model, space, group, Pass(model)) {}

 private:
  using Pass = detail::ModelPass<Model, Context>;
  static_assert(
      Stage < 3 || !requires(Model const& model) { model.parameter_view(); },
      "trireme: ShardedStrategy of stage 3 holds parameters in shards, and cannot train them in the application's "
      "View; take stage 1 or 2");

  using Base::batch_;
  using Base::context_;
  using Base::group_;
  using Base::held_;
  using Base::model_;
  using Base::own_;
  using Base::updater_;

  ShardedEngine(Model const& model, Space const& space, std::shared_ptr<Communicator const> const& group, Pass pass)
      : Base(model, space, group, group,
             division(model.description(), Layout(pass.ranges(), group->rank(), group->size()))),
        pass_(std::move(pass)),
        cross_replica_sum_(PartitionPlan{}),
        sum_(std::make_unique<GroupSum<Communicator>>(*group_)),
        arenas_(*group_, space, Layout(pass_.ranges(), group_->rank(), group_->size()), held_.data(),
                model_.description().state_elements) {
    own_ = arenas_.own_parameters();
  }

  static ModelDivision division(ModelDescription const& model, Layout const& layout) {
    return {layout.weights(model.arena_elements() - model.elements), layout.shards(), 0, model.state_elements};
  }
  void settle() const override {
    arenas_.settle();
    Base::settle();
  }
  std::size_t behind() const { return model_.description().arena_elements() - model_.description().elements; }

  std::size_t workspace_bytes(std::size_t rows) const { return pass_.workspace_bytes(model_, rows); }
  /// Memory for a pass over so many rows: it grows to the largest batch seen, and never shrinks.
  std::byte* reserve(std::size_t rows) {
    rows = std::max<std::size_t>(1, rows);
    if (rows > reserved_rows_) {
      workspace_ =
          uninitialized_view<decltype(workspace_)>(context_.space(), "trireme::workspace", workspace_bytes(rows));
      reserved_rows_ = rows;
    }
    return workspace_.data();
  }

  Pass pass_;
  CrossReplicaSum cross_replica_sum_;
  std::unique_ptr<GroupSum<Communicator>> sum_;
  mutable ShardedArenas<T, Space, Stage> arenas_;  // new parameters may still arrive
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
