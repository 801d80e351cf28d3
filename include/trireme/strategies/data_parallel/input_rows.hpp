/// The inputs of a partition's rows where these do not lie together.
#pragma once

#include <array>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/gemm/row_gather.hpp"
#include "trireme/data/batch.hpp"

namespace trireme {

/// Puts them together on the partition's thread, in whose cache they are then: those of the batch that follows while
/// this one is computed, if it is known. Two buffers in turn.
template <class T>
class InputRows {
  using Gather = detail::RowGather<T>;

 public:
  /// \param numbers  of the largest batch's rows.
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

  /// Begins with rows that `gather` will be asked for; `Meanwhile` goes on with them.
  Gather& begin(RowList<T> const& rows, std::size_t size) {
    begun_ = rows;
    return gather_ = Gather(rows.rows, rows.rows + rows.count, size, buffers_[turn_].data());
  }
  /// What was begun last.
  Gather& gathering() { return gather_; }

 private:
  using Buffer = Kokkos::View<T*, Kokkos::HostSpace>;

  std::array<Buffer, 2> buffers_;
  std::size_t turn_ = 0;
  Gather gather_;
  RowList<T> begun_{};
};

}  // namespace trireme
