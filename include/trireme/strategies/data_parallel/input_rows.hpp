/// Contiguous inputs of a partition whose rows are scattered.
#pragma once

#include <array>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/gemm/row_gather.hpp"
#include "trireme/data/batch.hpp"

namespace trireme {

/// Gathers the rows on the partition's thread, so that they are in its cache: those of the next batch, if known, while
/// this one is computed. Two buffers alternate.
template <class T>
class InputRows {
  using Gather = detail::RowGather<T>;

 public:
  /// \param numbers  in the rows of the largest batch.
  void reserve(std::size_t numbers) {
    for (auto& buffer : buffers_) buffer = uninitialized_view<Buffer>("trireme::inputs", numbers);
    begun_ = {};
  }

  /// (rows, size), valid until the second call after this one.
  T const* gather(RowList<T> const& rows, std::size_t size) {
    if (rows.ticket == 0 || rows.ticket != begun_.ticket || rows.count != begun_.count) begin(rows, size);
    gather_.finish();
    begun_ = {};
    T const* const gathered = buffers_[turn_].data();
    turn_ = 1 - turn_;
    return gathered;
  }

  /// Starts to gather rows for a later `gather`; `Meanwhile` continues.
  Gather& begin(RowList<T> const& rows, std::size_t size) {
    begun_ = rows;
    return gather_ = Gather(rows.rows, rows.rows + rows.count, size, buffers_[turn_].data());
  }
  /// The gather that was started last.
  Gather& gathering() { return gather_; }

 private:
  using Buffer = Kokkos::View<T*, Kokkos::HostSpace>;

  std::array<Buffer, 2> buffers_;
  std::size_t turn_ = 0;
  Gather gather_;
  RowList<T> begun_{};
};

}  // namespace trireme
