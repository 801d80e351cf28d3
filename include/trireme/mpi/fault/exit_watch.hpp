/// ExitWatch: exits of a process within its Environment that run no destructor: exit, quick_exit, _exit and _Exit.
///
/// The launcher takes exit code 0 for success, even while the other processes wait. exit and quick_exit call registered
/// handlers. _exit and _Exit call none, so with glibc this header replaces them: outside of an Environment, in a child
/// process and with a code other than 0 they do what the system's do.
#pragma once

#include <array>
#include <cstddef>

#include <unistd.h>

#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

class ExitWatch {
 public:
  /// Starts the watch, for the process that calls this.
  static void begin();

  /// The exit code of a process that ends with `code`. May be called by a signal handler: it takes no lock and
  /// allocates nothing.
  static int code_of(int code) noexcept;

 private:
  struct State {
    pid_t process = 0;
    bool registered = false;
    std::size_t length = 0;
    std::array<char, 384> text{};
  };
  static State& state();

  /// Null unless this process is within its Environment and has not failed yet. A child process is not.
  static RankRegistry const* running_board();

  /// Exit handler. Does nothing if MPI is finalized.
  static void at_exit();
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/exit_watch.ipp"
#endif
