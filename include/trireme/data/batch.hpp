/// Batch: the rows of one step that a process has, and DataShard, its part of the data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/data/input_memory.hpp"

namespace trireme {

/// Rows of one global batch that this process trains on. Pointers go to host memory, row-major.
///
/// A batch of 0 rows is normal: the process takes part in the step, with nothing of its own to add.
template <class X, class Y>
struct Batch {
  /// (rows, extents of a sample...); scattered on request (StreamOptions::scattered).
  RowsView<X> x{};
  Y const* y = nullptr;            ///< (rows, extents of a target...)
  double const* weight = nullptr;  ///< (rows), or null: every sample weighs 1
  std::size_t rows = 0;
  std::size_t first_row = 0;         ///< of these rows in the global batch
  std::size_t global_rows = 0;       ///< over all processes
  InputMemory<X>* memory = nullptr;  ///< that x may lie in; on request (StreamOptions::kept)
  std::size_t device = 0;            ///< of the engine, which takes these rows
};

/// Part of each global batch that a process draws: part `index` of `count`.
struct DataShard {
  std::size_t index = 0;
  std::size_t count = 1;
  std::size_t replicas = 0;  ///< over all processes, as `PerReplicaBatch` counts them; 0: one a drawing process
  /// Only the processes [first, last) draw samples; the others get batches without rows.
  std::size_t first = 0, last = std::numeric_limits<std::size_t>::max();
  /// If `of` is not 0, the process draws the parts [begin, end) of `of` parts, for any number of processes.
  struct Parts {
    std::size_t begin = 0, end = 0, of = 0;
  };
  Parts parts{};

  /// True if this process draws samples.
  bool draws() const { return index >= first && index < last; }
  /// Number of processes that draw samples.
  std::size_t drawing() const { return std::min(last, count) - first; }
  /// Number of replicas over all processes, by which a PerReplicaBatch grows.
  std::size_t replica_count() const { return replicas == 0 ? drawing() : replicas; }
};

}  // namespace trireme
