/// Environment: the lifetime of MPI and Kokkos, and the end of a run.
#pragma once

#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "trireme/backend/execution/running.hpp"
#include "trireme/backend/gemm/openblas_core.hpp"
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
  /// that is not set; if $TMPDIR cannot be used, the run reports it once and goes on without records.
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
  /// Output for messages about the run: errors that end it, and records that cannot be kept. Null: nowhere; a
  /// Kokkos that is started here then writes no warnings either.
  std::FILE* messages = stderr;
};

namespace detail {
/// MPI, started here or joined.
class MpiLifetime {
 public:
  /// Without arguments MPI is joined. \throws CommunicationError
  MpiLifetime(int* argc, char*** argv);
  ~MpiLifetime() {
    if (!started_here_ || abandoned_ || mpi_is_finalized()) return;
    DeadlineWait const waiting("MPI_Finalize");
    MPI_Finalize();
  }
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
  ~KokkosLifetime() {
    if (started_here_ && !Kokkos::is_finalized()) Kokkos::finalize();
  }
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
/// MPI_THREAD_FUNNELED, or is not running where a communicator is given; Error if Kokkos was finalized before;
/// ValueError if a time limit is not above 0.
class Environment {
 public:
  using holds_communicator = void;

  /// Removes the options of MPI and Kokkos (--kokkos-...) from the command line.
  Environment(int& argc, char**& argv, EnvironmentOptions const& options = {})
      : Environment(&argc, &argv, MPI_COMM_WORLD, options) {}

  /// Joins a program that runs MPI, with the processes of `communicator`, which stays the caller's. Collective there.
  explicit Environment(MPI_Comm communicator, EnvironmentOptions const& options = {})
      : Environment(nullptr, nullptr, communicator, options) {}

  ~Environment() {
    bool const failed = std::uncaught_exceptions() > exceptions_at_start_;
    if (!failed) require_last();
    if (!mpi_.started_here() || detail::mpi_is_finalized()) return;
    if (shutdown_.meet(failed)) return;
    mpi_.abandon();
    status_.abandon();
    detail::Shutdown::abort_at_exit(world_.rank());
  }
  Environment(Environment const&) = delete;
  Environment& operator=(Environment const&) = delete;

  /// The Environment's processes: those of the communicator that it was given, or of MPI_COMM_WORLD.
  Communicator const& world() const { return world_; }

 private:
  Environment(int* argc, char*** argv, MPI_Comm communicator, EnvironmentOptions const& options)
      : messages_(options.messages),
        status_(detail::bounded(options.deadline)),
        mpi_(argc, argv),
        kokkos_(argc, argv,
                {.threads = options.threads,
                 .start = options.start_kokkos,
                 .quiet_advice = mpi_.started_here(),
                 .quiet = options.messages == nullptr}),
        world_(communicator),
        shutdown_(world_, {.all = communicator == MPI_COMM_WORLD,
                           .patience = detail::bounded(options.patience),
                           .handles_terminate =
                               options.catch_exits.value_or(mpi_.started_here() && detail::default_terminate_handler()),
                           .finalizes_mpi = mpi_.started_here()}),
        exceptions_at_start_(std::uncaught_exceptions()) {
    world_.together([&] {
      detail::require_time_limit("EnvironmentOptions::deadline", options.deadline);
      detail::require_time_limit("EnvironmentOptions::patience", options.patience);
    });
    status_.open(world_, options.status_directory, options.catch_exits.value_or(mpi_.started_here()));
    if (options.choose_blas_kernels.value_or(mpi_.started_here())) detail::correct_openblas_core();
  }

  /// Ends the run if a later Environment or a compiled model outlives this one, since a destructor cannot throw.
  void require_last() const {
    if (!shutdown_.is_innermost())
      detail::Shutdown::end("an Environment ended before one that was made later; the last one made ends first", true);
    std::size_t const models = detail::NeedsKokkos::living();
    if (kokkos_.started_here() && models != 0)
      detail::Shutdown::end(
          formatted("{} compiled model{} or predictor{} outlive{} the Environment, which has to end last", models,
                    models == 1 ? "" : "s", models == 1 ? "" : "s", models == 1 ? "s" : ""),
          true);
  }

  detail::LivingEnvironment living_;
  detail::MessageScope messages_;
  detail::RunStatus status_;  // ends last
  detail::MpiLifetime mpi_;
  detail::KokkosLifetime kokkos_;
  Communicator world_;
  detail::Shutdown shutdown_;
  int exceptions_at_start_;
};

namespace detail {
inline MpiLifetime::MpiLifetime(int* argc, char*** argv) {
  if (mpi_is_finalized())
    throw CommunicationError("an Environment was made after MPI was finalized, which cannot be started again");
  static std::mutex starting;  // of two threads one starts MPI, and the other one throws below
  std::lock_guard const lock(starting);
  started_here_ = !mpi_is_initialized();
  if (started_here_ && argc == nullptr)
    raise_outside_environment(CommunicationError(
        "an Environment was made for a communicator while MPI is not running; start MPI first, or give argc and argv"));
  int level = MPI_THREAD_FUNNELED;
  if (started_here_) {
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);  // ends the process if it fails
    return_errors_of_requests();
  }
  int on_its_thread = 0;
  MPI_Is_thread_main(&on_its_thread);
  if (on_its_thread == 0)
    throw CommunicationError("an Environment was made on another thread than the one that started MPI");
  if (level >= MPI_THREAD_FUNNELED) return;
  MPI_Finalize();
  throw CommunicationError(
      "this MPI runs at thread level MPI_THREAD_SINGLE alone, but beside the threads of Kokkos it has to run at "
      "MPI_THREAD_FUNNELED or above");
}

/// Scope in which Kokkos starts without its advice to set OMP_PROC_BIND, which would bind all processes of a node to
/// the same cores. Sets the variable meanwhile, since switching warnings off would silence Kokkos for the rest of the
/// run; the OpenMP runtime has read the variable long before.
class WithoutBindingAdvice {
 public:
  explicit WithoutBindingAdvice(bool quiet) : is_ours_(quiet && std::getenv("OMP_PROC_BIND") == nullptr) {
    if (is_ours_) setenv("OMP_PROC_BIND", "false", 1);
  }
  ~WithoutBindingAdvice() {
    if (is_ours_) unsetenv("OMP_PROC_BIND");
  }
  WithoutBindingAdvice(WithoutBindingAdvice const&) = delete;
  WithoutBindingAdvice& operator=(WithoutBindingAdvice const&) = delete;

 private:
  bool is_ours_;
};

inline KokkosLifetime::KokkosLifetime(int* argc, char*** argv, Options const& options) {
  if (!options.start || Kokkos::is_initialized()) return;
  if (Kokkos::is_finalized())
    throw Error("an Environment was made after Kokkos was finalized, which cannot be started again");
  WithoutBindingAdvice const quiet(options.quiet_advice);
  std::vector<char*> arguments;
  if (argc != nullptr) arguments.assign(*argv, *argv + *argc);
  std::string name = "trireme", threads = formatted("--kokkos-num-threads={}", options.threads),
              quietly = "--kokkos-disable-warnings";
  if (arguments.empty()) arguments.push_back(name.data());
  // Our options stand before the user's, so that --kokkos-num-threads on the command line wins.
  if (options.threads != 0) arguments.insert(arguments.begin() + 1, threads.data());
  if (options.quiet) arguments.insert(arguments.begin() + 1, quietly.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  Kokkos::initialize(count, arguments.data());
  started_here_ = true;
  if (argc == nullptr || *argc == 0) return;
  std::copy_n(arguments.begin(), count, *argv);
  if (count < *argc) (*argv)[count] = nullptr;
  *argc = count;
}
}  // namespace detail

}  // namespace trireme
