/// LeftWindows: windows of shared memory that errors took out of use, until all of their ranks can free them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "trireme/mpi/communicator.hpp"

namespace trireme::detail {

/// Freeing a window waits for its other ranks, which may not come while an error unwinds this one's stack. So such a
/// window is left here, and freed where its ranks meet next to make one.
class LeftWindows {
 public:
  /// The windows of this process.
  static LeftWindows& own();

  /// A number for a window of these ranks, the same on all, which no earlier one of this process has. Collective.
  std::uint64_t number(Communicator const& communicator);

  /// Leaves a window with its number. Local.
  void leave(MPI_Win window, std::uint64_t number) { windows_.push_back({window, number}); }

  /// Frees the windows of these ranks that all of them have left. Collective.
  void free(Communicator const& communicator);

 private:
  struct Left {
    MPI_Win window;
    std::uint64_t number;
  };

  /// Numbers of those whose ranks are the communicator's.
  std::vector<std::uint64_t> numbers_of(Communicator const& communicator) const;

  std::uint64_t number_ = 0;  ///< the last one given
  std::vector<Left> windows_{};
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/left_windows.ipp"
#endif
