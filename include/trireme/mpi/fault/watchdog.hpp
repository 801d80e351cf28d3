/// Watchdog: a thread beside the one that calls MPI. It ends this process when the main thread cannot, because that one
/// hangs in a call or in a user's code while others wait, or because another process is gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

/// Calls no MPI and, as long as nothing is wrong, allocates nothing. It also writes the times of the status record, so
/// that the main thread need not look at a clock.
class Watchdog {
  using Clock = std::chrono::steady_clock;
  using State = StatusRecord::State;

 public:
  /// \param refresh  time after which it touches the process's file again, as a sign of life for other runs
  Watchdog(RankRegistry const& board, std::chrono::milliseconds deadline,
           std::chrono::milliseconds refresh = std::chrono::hours(1));
  Watchdog(Watchdog const&) = delete;
  Watchdog& operator=(Watchdog const&) = delete;
  ~Watchdog();

 private:
  /// Time that a failed process has to end this one.
  static constexpr std::chrono::seconds grace{2};

  /// Waits for a period, or until the watched process is gone or has ended. \return false if the watchdog is to stop
  bool wait();

  /// Goes on to the next process of the ring once the watched one has ended, which watches that no more. A process that
  /// has failed ends all others, whose deaths are no news then.
  void watch_next();

  void run();

  bool somebody_failed() const;

  [[noreturn]] void end(std::optional<std::string> const& message) const;

  RankRegistry const& board_;
  std::chrono::milliseconds deadline_, period_, refresh_;
  StatusRecord* next_ = board_.next_after(board_.own());  ///< the watched process
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable sleep_;
  std::thread thread_;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/watchdog.ipp"
#endif
