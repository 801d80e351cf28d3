/// The partitions of one process: slices of the batch with a gradient arena, a workspace and metric sums each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/one_blas_thread.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/backend/threads/thread_pool.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/models/model.hpp"
#include "trireme/strategies/data_parallel/deferred_products.hpp"
#include "trireme/strategies/data_parallel/operand_copies.hpp"
#include "trireme/strategies/data_parallel/partition.hpp"
#include "trireme/strategies/data_parallel/partition_totals.hpp"
#include "trireme/strategies/data_parallel/product_list.hpp"
#include "trireme/strategies/data_parallel/update_range.hpp"
#include "trireme/strategies/engine/cross_replica_sum.hpp"
#include "trireme/strategies/engine/step.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// Runs a model's mathematics over the rows of this process's batch.
template <class Model, class Space>
class BatchPartitions {
  using T = typename Model::scalar;
  using L = typename Model::label;

 public:
  using Context = SpaceContext<Space>;

  /// Partitions whose gradients are added in their order.
  BatchPartitions(Space const& space, Model const& model, PartitionPlan const& plan)
      : BatchPartitions(space, model, plan, in_turn(plan)) {}
  /// \param order  of the additions of the partitions' gradients; partition 0 ends with the sum.
  BatchPartitions(Space const& space, Model const& model, PartitionPlan const& plan, std::vector<PartitionPair> order)
      : context_(space),
        plan_(plan),
        rows_(plan),
        order_(std::move(order)),
        elements_(model.description().reduced_elements()),
        row_flops_(model.description().flops()),
        mixes_rows_(model.description().row_scope != StatisticsScope::none),
        cross_replica_sum_(plan),
        totals_(space, plan.partitions, Model::totals_width),
        products_(plan.partitions, used_partitions(plan, 0)),
        memory_(space, plan, elements_) {
    if (plan.threads > static_cast<std::size_t>(space.concurrency()))
      own_pool_ = std::make_unique<ThreadPool>(plan.threads);
  }

  /// Context of the whole space.
  Context& context() { return context_; }
  Context const& context() const { return context_; }
  /// Plan that divides a batch.
  PartitionPlan const& plan() const { return plan_; }
  /// True if threads take a batch of so many rows through the layers by samples in training; otherwise they divide the
  /// kernels.
  bool trains_by_samples(std::size_t rows) const {
    return plan_.by_samples && (plan_.whole_rows == 0 || rows > plan_.whole_rows);
  }
  /// Takes batches by samples from now on, if there is one thread: layers then defer products.
  void prefer_samples() {
    if (!is_host_space<Space> || plan_.partitions != 1 || context_.threads() != 1) return;
    plan_.by_samples = true;
    memory_.set_plan(plan_);
    rows_ = PartitionRows(plan_);
  }
  /// Makes `arena` the memory of the gradients' sum; it has the size of the arena that it replaces.
  void place_gradients(T* arena) { memory_.place_gradients(arena, elements_); }
  /// Sums of loss and metrics of each partition.
  PartitionTotals<Space>& totals() { return totals_; }
  PartitionTotals<Space> const& totals() const { return totals_; }
  /// The sum over partitions, once `train` has returned (and the space's work is done).
  T* gradients() { return gradients(0); }
  /// Gradients of a partition.
  T* gradients(std::size_t partition) { return memory_[partition].gradients.data(); }

  /// See PartitionRows.
  void set_shards(std::size_t first, std::size_t global_rows) { rows_.set_shards(first, global_rows); }

  /// Runs forward and backward over all partitions and sums the gradients; notifies `sink` of final gradients.
  /// If it trains by samples an `update`, if given, receives the sums: then the arena does not have those of all
  /// trained elements. If not, one partition has the gradients, and `sink` receives those of partition 0. Products
  /// whose operands fit into `copies` are left to `update_range`.
  void train(Model const& model, Slice<T, L> const& batch, PerOutput<Model::outputs> const& scales, T const* parameters,
             StepKeys const& keys, GradientSink<T>* sink, ProcessSum const* processes,
             UpdateRange<T> const& update = {}, OperandCopies<T>* copies = nullptr) {
    bool const by_samples = trains_by_samples(batch.rows), whole = plan_.by_samples && !by_samples;
    auto const train_partition = [&](auto& context, std::size_t index, GradientSink<T>* own) {
      auto& partition = memory_[index];
      auto const rows = whole ? RowRange{0, batch.rows} : rows_(index, batch.rows);
      bool const empty = rows.empty();
      StepKeys partition_keys = keys;
      partition_keys.first_row += rows.begin;
      NoRows<T, std::decay_t<decltype(context)>> none(context, partition.gradients.data(), elements_, own);
      Slice<T, L> const part = slice(context, model, batch, rows, index);
      if (!empty || mixes_rows_)  // where partitions sum over rows, empty ones take part
        model.train(context, part, scales, parameters, partition.gradients.data(), partition.workspace.data(),
                    totals_.data(index, Phase::train), partition_keys, empty && own ? &none : own);
      // An empty partition adds nothing; but the first one holds the sum, and shards may hold one each.
      if (empty && (index == 0 || plan_.shards != 0)) none.finish();
    };
    memory_.reserve(model, std::max<std::size_t>(1, batch.rows), batch.x.is_scattered() ? batch.rows : 0);
    memory_.reserve_gradients(batch.rows);
    cross_replica_sum_.begin(processes);
    // Shards have sums of their own, and one partition that only stores its gradients has none to compute them with.
    bool const defers = plan_.shards == 0 && (plan_.partitions > 1 || update || copies);
    products_.begin(defers && by_samples ? batch.rows : 0, defers ? copies : nullptr);
    if constexpr (is_host_space<Space>) {
      if (by_samples) {
        ThreadPool& threads = pool();
        std::size_t const partitions = used_partitions(plan_, batch.rows);
        ThreadBarrier barrier(partitions, threads.patience());
        auto const pass = [&](std::size_t partition) {
          PartitionSum exchange(cross_replica_sum_, partition, barrier);
          ThreadContext context(&exchange);
          RowRange const rows = rows_(partition, batch.rows);
          train_partition(context, partition, products_.sink(partition, rows, gradients(partition)));
        };
        ProfilingLoop const loop(context_.space(), "trireme::train");
        // Partitions that threads take in turn are replicas, each with statistics of its own: none waits for another.
        if (mixes_rows_ && partitions <= plan_.threads)
          threads.run_at_once(barrier, pass);
        else
          threads.run(partitions, pass);
        std::size_t const parts = plan_.fine_rows > 0 ? partitions : plan_.threads;
        threads.run(parts, [&](std::size_t part) {
          if (!copies) products_.compute(ThreadContext(), part, parts, all_elements(), gradients(0), update);
          sum_partitions(ThreadContext(), part, parts, batch.rows, update);
        });
        return;
      }
    }
    {
      ContextSum const sums(context_, cross_replica_sum_);
      std::size_t const partitions = whole ? 1 : plan_.partitions;
      for (std::size_t partition = 0; partition < partitions; ++partition)
        train_partition(context_, partition, partitions == 1 ? sink : nullptr);
    }
    if (whole) return;
    for (PartitionPair const& s : order_)
      if (has_gradients(s.from, batch.rows))
        context_.for_each("trireme::sum_partitions", elements_, kernels::AddTo<T>{gradients(s.from), gradients(s.to)});
  }

  /// The gradients of the elements `own` over all processes go to `update`, on the threads of the space.
  /// \param ranks  products() of all processes, and for_each_sum(begin, end, f) of stored gradients (DividedUpdate)
  template <class Ranks>
  void update_range(RowRange const& own, Ranks const& ranks, UpdateRange<T> const& update) {
    products_.join(ranks.products());
    std::size_t const threads = plan_.by_samples ? plan_.threads : context_.threads();
    ProfilingLoop const loop(context_.space(), "trireme::update_range");
    pool().run(threads, [&](std::size_t thread) {
      ThreadContext const context;
      products_.compute(context, thread, threads, own, nullptr, update);
      products_.for_each_other(thread, threads, own, [&](std::size_t begin, std::size_t end) {
        ranks.for_each_sum(begin, end, [&](std::size_t first, std::size_t n, T const* values) {
          update(context, first, first + n, values);
        });
      });
    });
  }

  /// Forward and metrics over all partitions.
  void test(Model const& model, Slice<T, L> const& batch, T const* parameters) {
    memory_.reserve(model, batch.rows, batch.x.is_scattered() ? batch.rows : 0);
    for_partitions(batch.rows, [&](auto& context, std::size_t index, RowRange const& rows) {
      model.test(context, slice(context, model, batch, rows, index), parameters, memory_[index].workspace.data(),
                 totals_.data(index, Phase::test));
    });
  }

  /// y (rows, output) in the space's memory.
  void predict(Model const& model, std::size_t rows, T const* x, T* y, T const* parameters) {
    memory_.reserve(model, rows);
    for_partitions(rows, [&](auto& context, std::size_t partition, RowRange const& range) {
      model.predict(context, range.size(), x + range.begin * model.input_size(), y + range.begin * model.output_size(),
                    parameters, memory_[partition].workspace.data());
    });
  }

  /// Adds the addresses of all memory that a training pass uses, which may move when it grows.
  void list_addresses(std::vector<std::uint64_t>& all) {
    context_.list_addresses(all);
    for (std::size_t partition = 0; partition < plan_.partitions; ++partition)
      for (void const* const address : {static_cast<void const*>(gradients(partition)),
                                        static_cast<void const*>(memory_[partition].workspace.data()),
                                        static_cast<void const*>(totals_.data(partition, Phase::train))})
        all.push_back(reinterpret_cast<std::uintptr_t>(address));
  }

  /// Bytes of the workspaces for batches of up to `rows`.
  std::size_t workspace_bytes(Model const& model, std::size_t rows) const {
    return memory_.workspace_bytes(model, rows);
  }

 private:
  /// Operations of forward from which waking threads that sleep pays: it takes 20 to 90 us, in which one thread
  /// computes some millions.
  static constexpr std::size_t flops_worth_threads = std::size_t{1} << 22;
  /// Elements of the arena that are summed and updated as a block: few enough to stay in the cache.
  static constexpr std::size_t update_block = 1024;

  static std::vector<PartitionPair> in_turn(PartitionPlan const& plan) {
    std::vector<PartitionPair> order;
    for (std::size_t partition = 1; partition < plan.partitions; ++partition) order.push_back({0, partition});
    return order;
  }

  /// The rows of partition `index` as `model` takes them under a context.
  template <class Running>
  Slice<T, L> slice(Running const&, Model const& model, Slice<T, L> const& batch, RowRange const& rows,
                    std::size_t index) {
    return partition_slice<Running>(model, batch, rows, memory_[index].inputs.data());
  }

  template <class F>
  void for_partitions(std::size_t rows, F const& f) {
    auto const run_partition = [&](auto& context, std::size_t index) {
      RowRange const range = rows_(index, rows);
      if (!range.empty()) f(context, index, range);
    };
    if constexpr (is_host_space<Space>) {
      if (plan_.by_samples) {
        ProfilingLoop const loop(context_.space(), "trireme::partitions");
        auto const run_own = [&](std::size_t partition) {
          ThreadContext context;
          run_partition(context, partition);
        };
        if (rows * row_flops_ >= flops_worth_threads) {
          pool().run(used_partitions(plan_, rows), run_own);
        } else {
          detail::OneBlasThread const one;  // as in the pool: its threads would divide products, and so sums, otherwise
          for (std::size_t partition = 0; partition < plan_.partitions; ++partition) run_own(partition);
        }
        return;
      }
    }
    for (std::size_t partition = 0; partition < plan_.partitions; ++partition) run_partition(context_, partition);
  }

  ThreadPool& pool() { return own_pool_ ? *own_pool_ : ThreadPool::of(context_.space()); }

  bool has_gradients(std::size_t partition, std::size_t rows) const {
    return plan_.shards != 0 || !rows_(partition, rows).empty();
  }

  RowRange all_elements() const { return {0, elements_}; }

  /// Part `part` of `parts` of the sums of stored gradients, after all partitions are done.
  void sum_partitions(ThreadContext const& context, std::size_t part, std::size_t parts, std::size_t rows,
                      UpdateRange<T> const& update) {
    if (plan_.partitions == 1 && !update) return;
    products_.for_each_other(part, parts, all_elements(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; i += update_block) {
        std::size_t const count = std::min(end - i, update_block);
        for (PartitionPair const& s : order_)
          if (has_gradients(s.from, rows))
            context.for_each("trireme::sum_partitions", count,
                             kernels::AddTo<T>{gradients(s.from) + i, gradients(s.to) + i});
        if (update) update(context, i, i + count, gradients(0) + i);
      }
    });
  }

  Context context_;
  PartitionPlan plan_;
  PartitionRows rows_;
  std::vector<PartitionPair> order_;
  std::unique_ptr<ThreadPool> own_pool_;  ///< if more partitions run at once than the space has threads
  std::size_t elements_, row_flops_;
  bool mixes_rows_;
  CrossReplicaSum cross_replica_sum_;
  PartitionTotals<Space> totals_;
  DeferredProducts<T> products_;
  PartitionMemory<Model, Space> memory_;
};

}  // namespace trireme
