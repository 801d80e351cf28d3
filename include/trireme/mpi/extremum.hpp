/// Maximum and minimum over processes, the same on each of them.
///
/// MPI_MAX and MPI_MIN depend on the order of their operands where one is NaN, or where both are zeros of different
/// sign, so processes could get different results. Here a NaN anywhere gives NaN, and -0 is less than +0. MPICH 4.0
/// compares unsigned numbers as if they were signed.
#pragma once

#include <mpi.h>

#include <concepts>

#include "trireme/core/extremum.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"

namespace trireme::detail {

/// The MPI operation for T; frees what it created.
template <Extremum which, class T>
class ExtremumOperation {
 public:
  explicit ExtremumOperation([[maybe_unused]] MPI_Comm comm) {
    if constexpr (is_ours)
      check(MPI_Op_create(&apply, 1, &operation_), "MPI_Op_create", comm);
    else
      operation_ = which == Extremum::smallest ? MPI_MIN : MPI_MAX;
  }
  ~ExtremumOperation() {
    if constexpr (is_ours) MPI_Op_free(&operation_);
  }
  ExtremumOperation(ExtremumOperation const&) = delete;
  ExtremumOperation& operator=(ExtremumOperation const&) = delete;

  MPI_Op get() const { return operation_; }

 private:
  static constexpr bool is_ours = std::floating_point<T> || std::unsigned_integral<T>;

  static void apply(void* in, void* in_out, int* count, MPI_Datatype*) {
    if constexpr (is_ours) {
      auto const* a = static_cast<T const*>(in);
      auto* b = static_cast<T*>(in_out);
      for (int i = 0; i < *count; ++i) b[i] = extremum<which>(a[i], b[i]);
    }
  }

  MPI_Op operation_ = MPI_OP_NULL;
};

}  // namespace trireme::detail
