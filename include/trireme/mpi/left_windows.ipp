/// Definitions of trireme/mpi/left_windows.hpp.
#pragma once

#include "trireme/mpi/left_windows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "trireme/core/linkage.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"

namespace trireme::detail {

TRIREME_INLINE LeftWindows& LeftWindows::own() {
  static LeftWindows windows;
  return windows;
}

TRIREME_INLINE std::uint64_t LeftWindows::number(Communicator const& communicator) {
  return number_ = communicator.allreduce_max(number_ + 1).value();
}

TRIREME_INLINE void LeftWindows::free(Communicator const& communicator) {
  auto const numbers = numbers_of(communicator);
  if (!communicator.allreduce_or(!numbers.empty()).value()) return;
  auto const all = communicator.allgatherv(numbers).values();
  DeadlineWait const waiting("MPI_Win_free");
  std::ranges::sort(windows_, {}, &Left::number);  // the order of all ranks
  std::erase_if(windows_, [&](Left& left) {
    if (static_cast<std::size_t>(std::ranges::count(all, left.number)) < communicator.size()) return false;
    check(MPI_Win_free(&left.window), "MPI_Win_free", communicator.get());
    return true;
  });
}

TRIREME_INLINE std::vector<std::uint64_t> LeftWindows::numbers_of(Communicator const& communicator) const {
  std::vector<std::uint64_t> numbers;
  if (windows_.empty()) return numbers;
  MPI_Group ranks = MPI_GROUP_NULL;
  check(MPI_Comm_group(communicator.get(), &ranks), "MPI_Comm_group", communicator.get());
  for (Left const& left : windows_) {
    MPI_Group others = MPI_GROUP_NULL;
    int equal = MPI_UNEQUAL;
    check(MPI_Win_get_group(left.window, &others), "MPI_Win_get_group", communicator.get());
    check(MPI_Group_compare(ranks, others, &equal), "MPI_Group_compare", communicator.get());
    MPI_Group_free(&others);
    if (equal != MPI_UNEQUAL) numbers.push_back(left.number);
  }
  MPI_Group_free(&ranks);
  return numbers;
}

}  // namespace trireme::detail
