/// Definitions of trireme/environment/run_status.hpp.
#pragma once

#include "trireme/environment/run_status.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/exit_watch.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/watchdog.hpp"

namespace trireme::detail {

TRIREME_INLINE RunStatus::RunStatus(std::chrono::milliseconds limit)
    : deadline_(limit), outer_deadline_(deadline().load()) {
  deadline() = limit;
}

TRIREME_INLINE RunStatus::~RunStatus() {
  deadline() = outer_deadline_;
  if (RankRegistry::current() != &board_) return;
  if (!abandoned_) status().state.store(StatusRecord::State::ended, std::memory_order_release);
  Heartbeat::end(status());
  watchdog_.reset();
  board_.close(!abandoned_);
}

TRIREME_INLINE void RunStatus::open(Communicator const& world, std::string directory, bool watch_exits) {
  if (!world.allreduce_and(RankRegistry::current() == nullptr).value()) return;
  if (char const* const chosen = std::getenv("TRIREME_STATUS_DIR"); directory.empty() && chosen != nullptr)
    directory = chosen;
  // A launcher may give the variable to some ranks alone, and what one does for want of a folder all do.
  std::size_t const choosing = world.allreduce_min(directory.empty() ? world.size() : world.rank()).value();
  if (choosing < world.size()) {
    std::string chosen = directory;
    world.broadcast(chosen, choosing);
    if (directory.empty()) directory = std::move(chosen);
  }
  std::uint64_t const run = world.broadcast(fresh_number());
  bool const is_default = directory.empty();
  if (is_default) directory = temporary_folder();
  std::string name = formatted("trireme-{}-{:016x}", job(), run);
  world.broadcast(name);  // one for all, also where the batch system numbers a node's tasks
  try {
    world.together([&] {
      if (!is_default) ::mkdir(directory.c_str(), 0700);  // an error shows when `open` opens it
      board_.open(directory, name);
    });
    world.together([&] { board_.create(run, world.rank(), world.size()); });
  } catch (FileError const& error) {
    board_.remove_if_empty();
    if (!is_default) throw;
    board_.create_unshared(run, world.rank(), world.size());
    if (world.is_chief())
      report(
          formatted("trireme: {}; the run goes on without these records, and names no rank if it fails", error.what()));
  }
  if (RankRegistry::current() != &board_) return;
  board_.find_others();
  watchdog_.reset(new Watchdog(board_, deadline_));
  if (watch_exits) ExitWatch::begin();
  if (is_default) board_.remove_expired();  // a folder that was chosen keeps all records
}

TRIREME_INLINE std::uint64_t RunStatus::fresh_number() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0)
    number = static_cast<std::uint64_t>(steady_clock_now()) ^ (static_cast<std::uint64_t>(::getpid()) << 40);
  return number;
}

TRIREME_INLINE std::string RunStatus::temporary_folder() {
  char const* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

TRIREME_INLINE std::string RunStatus::job() {
  for (char const* const name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID"})
    if (char const* const number = std::getenv(name); number != nullptr && *number != '\0') {
      std::string text = number;
      for (char& c : text)
        if (c == '/') c = '-';
      return text;
    }
  return formatted("user-{}", ::getuid());
}

}  // namespace trireme::detail
