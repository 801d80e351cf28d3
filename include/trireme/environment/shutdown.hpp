/// Shutdown of a run: all processes end together, and all of them when one fails.
///
/// Before MPI is finalized all processes take part in one reduction. A failed process waits there for a limited time
/// only: if the others arrive, the run ends in order; if not, they have not seen the error and are aborted.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/shared_error.hpp"

namespace trireme::detail {

/// Final synchronization of the processes of one Environment; owns a communicator for it alone.
class Shutdown {
 public:
  struct Options {
    bool all;  ///< the processes are those of MPI_COMM_WORLD; launchers return the exit code of an abort there alone
    std::chrono::milliseconds patience;
    bool handles_terminate;  ///< has a std::terminate handler while it lives
    bool finalizes_mpi;      ///< all processes of MPI_COMM_WORLD end when these do; otherwise an error aborts these
  };

  Shutdown(Communicator const& world, Options const& options);
  ~Shutdown();
  Shutdown(Shutdown const&) = delete;
  Shutdown& operator=(Shutdown const&) = delete;

  std::size_t rank() const { return communicator_.rank(); }
  std::chrono::milliseconds patience() const { return options_.patience; }

  /// Waits for the other processes: until the deadline if this one ends in order, and beyond it while others of the
  /// node still progress. \return the lowest rank that ends with an error, or the number of ranks if none does; nothing
  /// if MPI fails, or this process has failed and the others did not arrive within its patience.
  std::optional<std::size_t> await_others(bool failed) noexcept;

  /// True if an Environment lives.
  static bool lives() { return innermost() != nullptr; }
  /// The patience of the Environment that began last; ten seconds without one.
  static std::chrono::milliseconds current_patience() {
    return lives() ? innermost()->patience() : std::chrono::milliseconds(std::chrono::seconds(10));
  }

  /// True unless an Environment that began later still lives.
  bool is_innermost() const { return innermost() == this; }

  /// Ends this process with exit code 1 and one line. \param uniform  true if the others end with the same error or in
  /// order: this process then waits for them; otherwise it aborts them
  [[noreturn]] static void end(std::string const& what, bool uniform) noexcept;

  /// Aborts all processes when this one exits, and not at once, so that a handler of the error can still report it.
  static void abort_at_exit(std::size_t rank);

 private:
  static Shutdown*& innermost();

  static std::size_t size_of(MPI_Comm communicator);

  static bool may_call_mpi();

  /// Suffix of an error that ends a fit: its epoch and step, and the last good checkpoint.
  static std::string where();

  /// The std::terminate handler. Reports the error in one line, and ends every process with exit code 1. A forked child
  /// ends alone, as in a program without an Environment.
  [[noreturn]] static void end_process() noexcept;

  /// Ends this process alone, by the handler that stood before the first Environment's.
  [[noreturn]] static void end_child() noexcept;

  Communicator communicator_;
  Options options_;
  Shutdown* outer_;
  MPI_Comm outer_run_;
  std::terminate_handler outer_handler_;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/environment/shutdown.ipp"
#endif
