/// The inputs of a lane's rows where these do not lie together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include "trireme/backend/row_gather.hpp"
#include "trireme/backend/views.hpp"
#include "trireme/data/batch.hpp"

namespace trireme {

/// Puts them together on the lane's thread, in whose cache they are then: those of the batch that follows while this
/// one is computed, if it is known. Two buffers in turn.
template <class T>
class InputRows {
  using Gather = detail::RowGather<T>;

 public:
  /// \param numbers  of the largest batch's rows.
  void reserve(std::size_t numbers) {
    for (auto& buffer : buffers_) buffer = uninitialized_view<Buffer>("trireme::inputs", numbers);
    ticket_ = 0;
  }

  /// (rows, size), valid until the second call after this one.
  T const* gather(RowList<T> const& rows, std::size_t size) {
    if (rows.ticket == 0 || rows.ticket != ticket_) begin(rows, size);
    gather_.finish();
    ticket_ = 0;
    T const* const gathered = buffers_[turn_].data();
    turn_ = 1 - turn_;
    return gathered;
  }

  /// Begins with rows that `gather` will be asked for; `Meanwhile` goes on with them.
  Gather& begin(RowList<T> const& rows, std::size_t size) {
    ticket_ = rows.ticket;
    return gather_ = Gather(rows.rows, rows.rows + rows.count, size, buffers_[turn_].data());
  }

 private:
  using Buffer = Kokkos::View<T*, Kokkos::HostSpace>;

  std::array<Buffer, 2> buffers_;
  std::size_t turn_ = 0;
  Gather gather_;
  std::uint64_t ticket_ = 0;
};

}  // namespace trireme
