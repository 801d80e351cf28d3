/// PartitionMemory: gradients, workspaces and gathered inputs of a process's partitions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/strategies/data_parallel/workspace.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

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
      : space_(space), plan_(plan), partitions_(plan.partitions) {
    for (Partition& partition : partitions_)
      partition.gradients = make_view<Arena<T, Space>>(space, "trireme::gradients", elements);
  }

  Partition& operator[](std::size_t partition) { return partitions_[partition]; }

  /// Takes another plan with the same partitions, before there are workspaces.
  void set_plan(PartitionPlan const& plan) { plan_ = plan; }

  /// Makes `arena` the gradients of partition 0.
  void place_gradients(T* arena, std::size_t elements) { partitions_[0].gradients = Arena<T, Space>(arena, elements); }

  /// Bytes of the workspaces for batches of up to `rows`.
  std::size_t workspace_bytes(Model const& model, std::size_t rows) const {
    std::size_t bytes = 0;
    for (std::size_t partition = 0; partition < plan_.partitions; ++partition)
      bytes += partition_bytes(model, partition, rows);
    return bytes;
  }

  /// Makes room for a batch of so many rows, of which so many are scattered and may be gathered.
  void reserve(Model const& model, std::size_t rows, std::size_t scattered_rows = 0) {
    if (scattered_rows > reserved_inputs_) {
      for (std::size_t partition = 0; partition < plan_.partitions; ++partition)
        partitions_[partition].inputs = uninitialized_view<decltype(Partition::inputs)>(
            "trireme::inputs", std::max(partition_capacity(plan_, partition, scattered_rows),
                                        partition == 0 ? whole_capacity(plan_, scattered_rows) : 0) *
                                   model.input_size());
      reserved_inputs_ = scattered_rows;
    }
    if (rows <= reserved_rows_) return;
    for (std::size_t partition = 0; partition < plan_.partitions; ++partition)
      partitions_[partition].workspace =
          uninitialized_view<Bytes>(space_, "trireme::workspace", partition_bytes(model, partition, rows));
    reserved_rows_ = rows;
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
  std::vector<Partition> partitions_;
  std::size_t reserved_rows_ = 0, reserved_inputs_ = 0;
};

}  // namespace trireme
