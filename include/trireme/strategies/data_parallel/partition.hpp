/// A partition of a process's batch: its rows, their slice of the batch, its memory, and the gradient sink of one that
/// has no rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/models/head.hpp"
#include "trireme/strategies/data_parallel/workspace.hpp"
#include "trireme/strategies/engine/step.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// Division of batches by a plan: evenly, or at the boundaries of shards of the global batch.
class PartitionRows {
 public:
  /// The division of no batch yet, if by shards.
  explicit PartitionRows(PartitionPlan const& plan) : plan_(plan) {}

  /// Sets, for a plan of shards, the shard of partition 0 in the next batches, of so many rows over all processes.
  void set_shards(std::size_t first, std::size_t global_rows) {
    first_shard_ = first;
    global_rows_ = global_rows;
  }

  /// Rows of a partition, of `rows` rows of this process.
  RowRange operator()(std::size_t partition, std::size_t rows) const {
    if (plan_.shards == 0) return partition_rows(plan_, partition, rows);
    std::size_t const own = begin_of(first_shard_);
    return {begin_of(first_shard_ + partition) - own, begin_of(first_shard_ + partition + 1) - own};
  }

 private:
  std::size_t begin_of(std::size_t shard) const { return row_range(global_rows_, shard, plan_.shards).begin; }

  PartitionPlan plan_;
  std::size_t first_shard_ = 0, global_rows_ = 0;
};

/// The rows `rows` of a batch, for a pass under a Context. Scattered ones are gathered in `inputs`, unless the model's
/// first layer reads them directly.
template <class Context, class Model, class T, class L>
Slice<T, L> partition_slice(Model const& model, Slice<T, L> const& batch, RowRange const& rows, T* inputs) {
  Slice<T, L> part = rows_of(model, batch, rows);
  if (!part.x.is_scattered()) return part;
  if constexpr (requires { model.template takes_scattered_rows<Context>(part.rows); })
    if (model.template takes_scattered_rows<Context>(part.rows)) return part;
  detail::gather_rows(part.x, part.rows, model.input_size(), inputs);
  part.x = inputs;
  return part;
}

/// A gradient arena of its own for each partition. Workspaces grow to the largest batch seen; they never shrink.
template <class Model, class Space>
class PartitionMemory {
  using T = typename Model::scalar;
  using Bytes = Kokkos::View<std::byte*, typename Space::memory_space>;

 public:
  struct Partition {
    Arena<T, Space> gradients;
    Bytes workspace;
    Kokkos::View<T*, Kokkos::HostSpace> inputs;  ///< gathered from scattered rows
  };

  /// \param elements  of each gradient arena.
  PartitionMemory(Space const& space, PartitionPlan const& plan, std::size_t elements)
      : space_(space), plan_(plan), elements_(elements), partitions_(plan.partitions) {
    reserve_gradients(0);
  }

  Partition& operator[](std::size_t partition) { return partitions_[partition]; }

  /// Takes another plan with the same partitions, before there are workspaces.
  void set_plan(PartitionPlan const& plan) { plan_ = plan; }

  /// Makes `arena` the gradients of partition 0.
  void place_gradients(T* arena, std::size_t elements) { partitions_[0].gradients = Arena<T, Space>(arena, elements); }

  /// Bytes of the workspaces for batches of up to `rows`.
  std::size_t workspace_bytes(Model const& model, std::size_t rows) const {
    std::size_t bytes = 0;
    for (std::size_t partition = 0; partition < used_partitions(plan_, rows); ++partition)
      bytes += partition_bytes(model, partition, rows);
    return bytes;
  }

  /// Makes room for a batch of so many rows, of which so many are scattered and may be gathered.
  void reserve(Model const& model, std::size_t rows, std::size_t scattered_rows = 0) {
    if (scattered_rows > reserved_inputs_) {
      for (std::size_t partition = 0; partition < used_partitions(plan_, scattered_rows); ++partition)
        partitions_[partition].inputs = uninitialized_view<decltype(Partition::inputs)>(
            "trireme::inputs", std::max(partition_capacity(plan_, partition, scattered_rows),
                                        partition == 0 ? whole_capacity(plan_, scattered_rows) : 0) *
                                   model.input_size());
      reserved_inputs_ = scattered_rows;
    }
    if (rows <= reserved_rows_) return;
    for (std::size_t partition = 0; partition < used_partitions(plan_, rows); ++partition)
      partitions_[partition].workspace =
          uninitialized_view<Bytes>(space_, "trireme::workspace", partition_bytes(model, partition, rows));
    reserved_rows_ = rows;
  }

  /// Makes the gradient arenas of the partitions that have some of so many rows.
  void reserve_gradients(std::size_t rows) {
    for (std::size_t partition = 0; partition < used_partitions(plan_, rows); ++partition)
      if (Arena<T, Space>& gradients = partitions_[partition].gradients; gradients.size() < elements_)
        gradients = make_view<Arena<T, Space>>(space_, "trireme::gradients", elements_);
  }

 private:
  std::size_t partition_bytes(Model const& model, std::size_t partition, std::size_t rows) const {
    std::size_t const most = partition_capacity(plan_, partition, rows);
    if (!plan_.by_samples) return model.template workspace_bytes<SpaceContext<Space>>(most);
    std::size_t const bytes = model.template workspace_bytes<ThreadContext>(most);
    if (partition != 0 || plan_.whole_rows == 0) return bytes;
    return std::max(bytes, model.template workspace_bytes<SpaceContext<Space>>(whole_capacity(plan_, rows)));
  }

  Space space_;
  PartitionPlan plan_;
  std::size_t elements_;
  std::vector<Partition> partitions_;
  std::size_t reserved_rows_ = 0, reserved_inputs_ = 0;
};

/// Precedes the sink of a partition's gradients. A partition without rows leaves no gradients, but notifies the
/// sink at the same points as others: where processes sum over rows, sums of gradients come between those of rows,
/// in the same order on all.
template <class T, class Context>
class NoRows final : public GradientSink<T> {
 public:
  /// \param next  may be null, if only `finish` is called.
  NoRows(Context& context, T* gradients, std::size_t elements, GradientSink<T>* next)
      : context_(context), gradients_(gradients), end_(elements), next_(next) {}

  void ready(T const* from) override {
    clear_from(static_cast<std::size_t>(from - gradients_));
    next_->ready(from);
  }

  /// Clears the remaining gradients.
  void finish() {
    clear_from(0);
    if (next_) next_->no_rows();
  }

 private:
  void clear_from(std::size_t begin) {
    context_.for_each("trireme::no_rows", end_ - begin, kernels::Clear<T>{gradients_ + begin});
    end_ = begin;
  }

  Context& context_;
  T* gradients_;
  std::size_t end_;
  GradientSink<T>* next_;
};

}  // namespace trireme
