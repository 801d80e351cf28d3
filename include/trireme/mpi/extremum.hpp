/// Maximum and minimum of floating-point numbers over processes, the same on each of them.
///
/// MPI_MAX and MPI_MIN depend on the order of their operands where one is NaN, or where both are zeros of different
/// sign, so processes could get different results. Here a NaN anywhere gives NaN, and -0 is less than +0.
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
    if constexpr (std::floating_point<T>)
      check(MPI_Op_create(&apply, 1, &operation_), "MPI_Op_create", comm);
    else
      operation_ = which == Extremum::smallest ? MPI_MIN : MPI_MAX;
  }
  ~ExtremumOperation() {
    if constexpr (std::floating_point<T>) MPI_Op_free(&operation_);
  }
  ExtremumOperation(ExtremumOperation const&) = delete;
  ExtremumOperation& operator=(ExtremumOperation const&) = delete;

  MPI_Op get() const { return operation_; }

 private:
  static void apply(void* in, void* in_out, int* count, MPI_Datatype*) {
    if constexpr (std::floating_point<T>) {
      auto const* a = static_cast<T const*>(in);
      auto* b = static_cast<T*>(in_out);
      for (int i = 0; i < *count; ++i) b[i] = extremum<which>(a[i], b[i]);
    }
  }

  MPI_Op operation_ = MPI_OP_NULL;
};

}  // namespace trireme::detail
