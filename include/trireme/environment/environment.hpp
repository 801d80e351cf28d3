/// Environment: the lifetime of MPI and Kokkos, and the end of a run.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "trireme/compiled_library.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/outside_environment.hpp"
#include "trireme/core/text.hpp"
#include "trireme/environment/run_status.hpp"
#include "trireme/environment/shutdown.hpp"
#include "trireme/environment/time_limits.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"

namespace trireme {

/// Options of an Environment. Designated initializers name the members in this order.
struct EnvironmentOptions {
  /// Threads of Kokkos' host space in each process; 0: as OMP_NUM_THREADS, KOKKOS_NUM_THREADS or --kokkos-num-threads
  /// say, and all cores if none of them is set. Several processes on a node do not share cores by themselves: choose
  /// threads so that threads x processes on the node is at most the number of its cores.
  std::size_t threads = 0;
  /// Time for which a process that ends with an error waits for the others before it aborts them. Above 0.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  /// Time for which a process waits for the others in one call before it ends all of them with a message that names the
  /// rank that did not come. A computation may take any time while no other process waits longer than this for it.
  /// Above 0; 50 years and more, such as milliseconds::max(), mean no deadline.
  std::chrono::milliseconds deadline = default_deadline;
  /// Parent of a directory for each run, with a record of each process's progress, for the abort message and for
  /// scripts/explain-failure; the run removes its own when it ends in order. Empty: $TRIREME_STATUS_DIR, or $TMPDIR if
  /// that is not set; if $TMPDIR cannot be used, the run reports it once and goes on without records. From $TMPDIR
  /// alone a later run removes records that are seven days old.
  std::string status_directory{};
  /// Start of Kokkos here, if it is not running yet. False: the application starts it, before the first model.
  bool start_kokkos = true;
  /// End of all processes, with one line, by an uncaught exception or a call of `exit` within the Environment: through
  /// a std::terminate handler, which gives way to the earlier one at the end, and by exit handlers. Unset: where this
  /// Environment starts MPI and the program has set no std::terminate handler.
  std::optional<bool> catch_exits{};
  /// Replacement of OpenBLAS's kernels by those that suit the processor, where OpenBLAS is known to choose slower ones.
  /// No thread may be in a product then. Unset: where this Environment starts MPI.
  std::optional<bool> choose_blas_kernels{};
  /// Output for messages about the run: errors that end it, and records that cannot be kept. Null: nowhere; then
  /// callbacks and a Kokkos that is started here write no warnings either.
  std::FILE* messages = stderr;
};

namespace detail {
/// MPI, started here or joined.
class MpiLifetime {
 public:
  /// Without arguments MPI is joined. \throws CommunicationError
  MpiLifetime(int* argc, char*** argv);
  ~MpiLifetime();
  MpiLifetime(MpiLifetime const&) = delete;
  MpiLifetime& operator=(MpiLifetime const&) = delete;

  bool started_here() const { return started_here_; }
  /// Does not finalize MPI, since that would wait for processes that do not come.
  void abandon() { abandoned_ = true; }

 private:
  bool started_here_ = false;
  bool abandoned_ = false;
};

/// Kokkos, started here or joined.
class KokkosLifetime {
 public:
  struct Options {
    std::size_t threads;
    bool start;         ///< if it is not running
    bool quiet_advice;  ///< without the advice of the OpenMP space, for which an environment variable is set meanwhile
    bool quiet;         ///< without any warning of Kokkos
  };
  /// \throws Error
  KokkosLifetime(int* argc, char*** argv, Options const& options);
  ~KokkosLifetime();
  KokkosLifetime(KokkosLifetime const&) = delete;
  KokkosLifetime& operator=(KokkosLifetime const&) = delete;

  bool started_here() const { return started_here_; }

 private:
  bool started_here_ = false;
};
}  // namespace detail

/// MPI and Kokkos for the scope of this object.
///
/// At the start of main, `Environment(argc, argv)` starts each of them, or joins it if it is running already, for all
/// processes. In a program that runs MPI, `Environment(communicator)` joins it for the processes of one communicator,
/// and calls nothing on MPI_COMM_WORLD unless that is the one. Both finalize only what they started. An Environment
/// that has started MPI ends every process with exit code 1 and one line, with its rank, after an uncaught exception;
/// it never leaves the other processes waiting. Made by its processes together, on the thread that started MPI.
///
/// A joined program keeps its handlers of errors, signals, exits and std::terminate and its environment variables, and
/// may run MPI at any thread level: one thread alone, that of the Environment, calls MPI here.
///
/// It outlives strategies, communicators and compiled models. Several may live at once, on the same processes or on
/// others; in a process the last one made ends first. Breaking either rule ends the run with one line.
///
/// \throws CommunicationError if MPI was finalized before, was started on another thread, cannot be started at
/// MPI_THREAD_FUNNELED, or is not running where a communicator is given; Error if Kokkos was finalized before, or if
/// the program was compiled for vectors of SVE that are longer or shorter than the processor's; ValueError if a time
/// limit is not above 0.
class Environment {
 public:
  using holds_communicator = void;

  /// Removes the options of MPI and Kokkos (--kokkos-...) from the command line.
  Environment(int& argc, char**& argv, EnvironmentOptions const& options = {})
      : Environment(&argc, &argv, MPI_COMM_WORLD, options) {}

  /// Joins a program that runs MPI, with the processes of `communicator`, which stays the caller's. Collective there.
  explicit Environment(MPI_Comm communicator, EnvironmentOptions const& options = {})
      : Environment(nullptr, nullptr, communicator, options) {}

  ~Environment();
  Environment(Environment const&) = delete;
  Environment& operator=(Environment const&) = delete;

  /// The Environment's processes: those of the communicator that it was given, or of MPI_COMM_WORLD.
  Communicator const& world() const { return world_; }

 private:
  Environment(int* argc, char*** argv, MPI_Comm communicator, EnvironmentOptions const& options);

  /// Ends the run if a later Environment or a compiled model outlives this one, since a destructor cannot throw.
  void require_last() const;

  detail::MessageScope messages_;
  detail::RunStatus status_;  // ends last
  detail::MpiLifetime mpi_;
  detail::KokkosLifetime kokkos_;
  Communicator world_;
  detail::Shutdown shutdown_;
  detail::LivingEnvironment living_;  // last: errors before this one lives are raised outside of an Environment
  int exceptions_at_start_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/environment/environment.ipp"
#endif
