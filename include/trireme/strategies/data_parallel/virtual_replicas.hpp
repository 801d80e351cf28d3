/// VirtualReplicas: results that are bitwise independent of the number of processes and threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/data_parallel/adaptor.hpp"
#include "trireme/strategies/data_parallel/replica.hpp"
#include "trireme/strategies/data_parallel/shard_tree.hpp"
#include "trireme/strategies/engine/engine_base.hpp"

namespace trireme {

/// Sums of rows over the shards of all processes, in the order of their tree.
template <class Group>
class ShardSums final : public ProcessSum {
 public:
  /// Sums in the order of a tree, which has to outlive this object.
  explicit ShardSums(ShardTree<Group> const& tree) : tree_(&tree) {}
  void allreduce_sum(std::span<double> values) const override {
    double const* const partition = values.data();
    std::vector<double> total;
    sum_partitions(std::span(&partition, 1), values.size(), total);
    std::copy_n(total.begin(), values.size(), values.begin());
  }
  bool is_needed() const override { return true; }
  void sum_partitions(std::span<double const* const> partitions, std::size_t count,
                      std::vector<double>& total) const override {
    total.resize(partitions.size() * count);
    for (std::size_t partition = 0; partition < partitions.size(); ++partition)
      std::copy_n(partitions[partition], count, total.begin() + static_cast<std::ptrdiff_t>(partition * count));
    tree_->sum(total, count, received_);
  }

 private:
  ShardTree<Group> const* tree_;
  mutable std::vector<double> received_;
};

/// The engine of VirtualReplicas.
template <class ModelType, class SpaceType, class Group, std::size_t Shards>
class VirtualEngine : public EngineBase<Replica<ModelType, SpaceType, Group>> {
  using Parts = Replica<ModelType, SpaceType, Group>;
  using Base = EngineBase<Parts>;

 public:
  using Model = ModelType;
  using Space = SpaceType;
  using T = typename Model::scalar;
  using L = typename Model::label;

  /// Collective: the chief's initial weights are broadcast. `replicas`: of the strategy within each process.
  VirtualEngine(Model model, Space const& space, std::shared_ptr<Group const> group, std::size_t replicas,
                Parallelism plan)
      : VirtualEngine(std::move(model), space, group, checked_tree(*group, replicas), plan) {}

  /// The rows of this process's shards.
  DataShard data_shard(Phase) const {
    DataShard share{parts_.group().rank(), parts_.group().size(), Shards};
    share.parts = {tree_->own().begin, tree_->own().end, Shards};
    return share;
  }
  /// True if the rows of a batch may be scattered.
  bool takes_scattered_rows() const { return parts_.takes_scattered_rows(); }

  /// One optimizer step on the global batch; `batch` has the rows of this process's shards. Collective.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    auto const step = parts_.begin_step(batch);
    set_shards(batch);
    parts_.differentiate(step, nullptr, sums_.get());
    parts_.context().fence("trireme: gradients complete before they are added up");
    combine_gradients();
    parts_.update(step);
  }

  void test_step(Batch<T, L> const& batch) {
    set_shards(batch);
    parts_.test(batch);
  }

  void predict_step(Batch<T, L> const& batch, T* out) {
    set_shards(batch);
    parts_.predict(batch, out);
  }

  /// Cuts the rows into the same number of shards; this process may compute a few of them twice.
  void infer(std::size_t rows, T const* x, T* y) {
    Model const& model = parts_.model();
    std::size_t const partitions = tree_->partitions();
    for (std::size_t shard = 0; shard < Shards; shard += partitions) {
      std::size_t const first = std::min(shard, Shards - partitions);
      RowRange const range{rows * first / Shards, rows * (first + partitions) / Shards};
      parts_.partitions().set_shards(first, rows);
      parts_.partitions().predict(model, range.end - range.begin, x + range.begin * model.input_size(),
                                  y + range.begin * model.output_size(), parts_.weights().data());
    }
    if constexpr (!is_host_space<Space>) parts_.context().fence("trireme: predictions complete");
  }

  /// Waits for work in flight. Always false: hooks here decide at once whether to stop.
  Uniform<bool> finish_epoch() { return parts_.finish_epoch(); }

  /// Loss and metrics since the reset, exact over all processes. Collective.
  auto metrics(Phase phase) {
    std::vector<double> totals = parts_.partitions().totals().all(phase), received;
    tree_->sum(totals, Model::totals_width, received);
    return parts_.results(totals, phase);
  }

  /// See EngineBase; with what was asked for and is not done.
  std::string placement() const { return shards() + not_done_; }

  /// Steps are never recorded, as `placement` says from now on.
  void record_steps() { not_done_ += ", steps not recorded: the shards of a batch are added up on the host"; }
  /// Nor fused.
  void fuse_steps() { not_done_ += ", steps not fused: a batch is taken in shards"; }

  /// The state of a run besides weights and optimizer state: the epoch's running sums of each shard. Collective.
  template <class Archive>
  void state(Archive& archive) {
    archive.placed("was placed otherwise", "placement", parts_.group(), shards());
    parts_.state(archive);
  }

 private:
  using Base::parts_;
  using Tree = ShardTree<Group>;
  static constexpr bool host_visible =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;

  VirtualEngine(Model model, Space const& space, std::shared_ptr<Group const> group, std::unique_ptr<Tree const> tree,
                Parallelism plan)
      : Base(Parts(model, space, group,
                   shard_plan(model.description(), plan, *tree, static_cast<std::size_t>(space.concurrency())), true,
                   tree->local())),
        tree_(std::move(tree)),
        sums_(std::make_unique<ShardSums<Group> const>(*tree_)) {}

  /// A run resumes wherever each batch has as many shards.
  static std::string shards() { return formatted("{} shards on {}", Shards, Space::name()); }

  void set_shards(Batch<T, L> const& batch) { parts_.partitions().set_shards(tree_->own().begin, batch.global_rows); }

  static std::unique_ptr<Tree const> checked_tree(Group const& group, std::size_t replicas) {
    if (group.size() * replicas > Shards)
      throw ValueError(formatted("VirtualReplicas of {} shards: too few for {} processes with {} replicas each", Shards,
                                 group.size(), replicas));
    return std::make_unique<Tree const>(group, Shards);
  }

  /// One shard per partition, each run by one thread on a host; partitions that sum over rows together all run at once.
  static PartitionPlan shard_plan(ModelDescription const& model, Parallelism plan, Tree const& tree,
                                  std::size_t concurrency) {
    constexpr bool host = is_host_space<Space>;
    std::size_t const partitions = tree.partitions();
    bool const at_once = model.row_scope == StatisticsScope::global;
    if (host && plan == Parallelism::intra_op)
      throw ValueError(
          "VirtualReplicas runs by rows on a host: products that threads share would differ with their number");
    if (!host && at_once && partitions > 1)
      throw ValueError(formatted(
          "a model with statistics over the whole batch cannot run {} shards in turn on one device; take as many "
          "processes as shards, or BatchNormalization",
          partitions));
    return {.replicas = partitions,
            .partitions = partitions,
            .threads = host ? (at_once ? partitions : std::min(partitions, concurrency)) : 1,
            .by_samples = host,
            .shards = Shards};
  }

  /// The tree's sum over the partitions of all processes, in partition 0.
  void combine_gradients() {
    auto& partitions = parts_.partitions();
    std::size_t const n = parts_.model().description().reduced_elements();
    if constexpr (host_visible) {
      tree_->combine([&](std::size_t partition) { return partitions.gradients(partition); }, n, received_);
    } else if (parts_.group().size() > 1) {
      staged_.resize(tree_->partitions() * n);
      auto const device = [&](std::size_t partition) { return space_view<Space>(partitions.gradients(partition), n); };
      auto const host = [&](std::size_t partition) { return host_view(staged_.data() + partition * n, n); };
      for (std::size_t partition = 0; partition < tree_->partitions(); ++partition)
        Kokkos::deep_copy(host(partition), device(partition));
      tree_->combine([&](std::size_t partition) { return host(partition).data(); }, n, received_);
      Kokkos::deep_copy(device(0), host(0));
    }
  }

  std::unique_ptr<Tree const> tree_;
  std::unique_ptr<ShardSums<Group> const> sums_;
  std::vector<T> received_, staged_;
  std::string not_done_;
};

/// `VirtualReplicas<MultiWorkerMirroredStrategy<>, 8>(world)`: every global batch is cut into 8 shards, whose
/// gradients, losses, metrics and statistics are added up in one fixed tree. From 1 to 8 processes with any number of
/// threads give bitwise the same weights, with the same program on processors of one type.
///
/// The shards are the replicas: BatchNormalization's statistics are those of a shard. Each process keeps the gradients
/// of its shards. Data that each process owns have no shards; batches of from_tensor_slices and generators do.
template <class Strategy, std::size_t Shards>
class VirtualReplicas : public Adaptor<Strategy> {
  static_assert(Shards > 0, "trireme: VirtualReplicas cuts a batch into 1 shard at least");
  using Group = std::remove_cvref_t<decltype(std::declval<Strategy const&>().group())>;

 public:
  using typename Adaptor<Strategy>::Space;
  template <class Model>
  using Engine = VirtualEngine<Model, Space, Group, Shards>;

  using Adaptor<Strategy>::Adaptor;

  /// \throws ValueError if there are more replicas than shards.
  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    static_assert(builds_engines<Strategy>,
                  "trireme: VirtualReplicas goes around OneDeviceStrategy, MirroredStrategy or "
                  "MultiWorkerMirroredStrategy itself: adaptors would change its sums");
    return this->strategy().template build_as<Engine<Model>>(std::move(model), plan);
  }
};

}  // namespace trireme
