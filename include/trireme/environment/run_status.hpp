/// RunStatus: the status records of a run, from the start of an Environment to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "trireme/core/error.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/watchdog.hpp"

namespace trireme::detail {

/// Owner of the run's records; of several living Environments the first one has them. `open` is called at the
/// Environment's start, the destructor after MPI's end.
class RunStatus {
 public:
  explicit RunStatus(std::chrono::milliseconds limit);
  RunStatus(RunStatus const&) = delete;
  RunStatus& operator=(RunStatus const&) = delete;
  ~RunStatus();

  /// Keeps the records, since the run has failed.
  void abandon() { abandoned_ = true; }

  /// Makes the records. Collective. \param directory  parent of the run's own; empty: that of the lowest rank that
  /// has one, or the folder for temporary files, and the run goes on if that cannot be used. \param watch_exits  see
  /// ExitWatch
  /// \throws FileError if the requested directory cannot be used
  void open(Communicator const& world, std::string directory, bool watch_exits);

 private:
  /// A random number, unique to the run, that cannot be guessed.
  static std::uint64_t fresh_number();

  static std::string temporary_folder();

  /// The batch system's number of the job, by which users find its records.
  static std::string job();

  std::chrono::milliseconds deadline_, outer_deadline_;
  bool abandoned_ = false;
  RankRegistry board_;
  ThreadOwner<Watchdog> watchdog_;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/environment/run_status.ipp"
#endif
