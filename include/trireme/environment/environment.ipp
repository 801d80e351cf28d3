/// Definitions of trireme/environment/environment.hpp.
#pragma once

#include "trireme/environment/environment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include <mpi.h>
#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/kokkos_memory.hpp"
#include "trireme/backend/gemm/openblas_core.hpp"
#include "trireme/backend/simd/vector_length.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/outside_environment.hpp"
#include "trireme/core/text.hpp"
#include "trireme/environment/run_status.hpp"
#include "trireme/environment/shutdown.hpp"
#include "trireme/environment/time_limits.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"

namespace trireme::detail {

TRIREME_INLINE MpiLifetime::~MpiLifetime() {
  if (!started_here_ || abandoned_ || is_forked_child() || mpi_is_finalized()) return;
  DeadlineWait const waiting("MPI_Finalize");
  MPI_Finalize();
}

TRIREME_INLINE KokkosLifetime::~KokkosLifetime() {
  if (started_here_ && !is_forked_child() && !Kokkos::is_finalized()) Kokkos::finalize();
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE Environment::~Environment() {
  if (detail::is_forked_child()) return;
  bool const failed = std::uncaught_exceptions() > exceptions_at_start_;
  if (!failed) require_last();
  if (!mpi_.started_here() || detail::mpi_is_finalized()) return;
  if (shutdown_.await_others(failed)) return;
  mpi_.abandon();
  status_.abandon();
  detail::Shutdown::abort_at_exit(world_.rank());
}

TRIREME_INLINE Environment::Environment(int* argc, char*** argv, MPI_Comm communicator,
                                        EnvironmentOptions const& options)
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
    detail::require_vector_length();
    detail::require_time_limit("EnvironmentOptions::deadline", options.deadline);
    detail::require_time_limit("EnvironmentOptions::patience", options.patience);
  });
  status_.open(world_, options.status_directory, options.catch_exits.value_or(mpi_.started_here()));
  if (options.choose_blas_kernels.value_or(mpi_.started_here())) detail::correct_openblas_core();
}

TRIREME_INLINE void Environment::require_last() const {
  if (!shutdown_.is_innermost())
    detail::Shutdown::end("an Environment ended before one that was made later; the last one made ends first", true);
  std::size_t const living = HoldsKokkosMemory::living();
  if (kokkos_.started_here() && living != 0) {
    std::string_view const plural = living == 1 ? "" : "s";
    detail::Shutdown::end(
        formatted("{} compiled model{}, predictor{} or snapshot{} outlive{} the Environment, which has to end last",
                  living, plural, plural, plural, living == 1 ? "s" : ""),
        true);
  }
}

}  // namespace trireme

namespace trireme::detail {

TRIREME_INLINE MpiLifetime::MpiLifetime(int* argc, char*** argv) {
  if (linkages().headers_alone && linkages().compiled_library)
    raise_outside_environment(Error(
        "some sources of this program link trireme::compiled and others do not; link it to all of them or to none"));
  if (mpi_is_finalized())
    raise_outside_environment(
        CommunicationError("an Environment was made after MPI was finalized, which cannot be started again"));
  static std::mutex starting;  // of two threads one starts MPI, and the other one throws below
  std::lock_guard const lock(starting);
  leave_records_to_ranks();
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
    raise_outside_environment(
        CommunicationError("an Environment was made on another thread than the one that started MPI"));
  if (level >= MPI_THREAD_FUNNELED) return;
  MPI_Finalize();
  raise_outside_environment(
      CommunicationError("this MPI runs at thread level MPI_THREAD_SINGLE alone, but beside the threads of Kokkos it "
                         "has to run at MPI_THREAD_FUNNELED or above"));
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

TRIREME_INLINE KokkosLifetime::KokkosLifetime(int* argc, char*** argv, Options const& options) {
  if (!options.start || Kokkos::is_initialized()) return;
  if (Kokkos::is_finalized())
    raise_outside_environment(
        Error("an Environment was made after Kokkos was finalized, which cannot be started again"));
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

}  // namespace trireme::detail
