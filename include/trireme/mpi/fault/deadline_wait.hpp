/// Waits with a deadline, so that the library never waits for another process forever.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>

#include <unistd.h>

#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme {

/// Deadline of a wait for other processes in one call, unless the Environment sets another one.
inline constexpr std::chrono::milliseconds default_deadline = std::chrono::minutes(10);

namespace detail {

inline std::atomic<std::chrono::milliseconds>& deadline() {
  static std::atomic<std::chrono::milliseconds> value{default_deadline};
  return value;
}

/// Ends all processes. Writes the message, or, if another process has written one already, first gives that process
/// three seconds to end this one. On the thread that started MPI.
[[noreturn]] inline void end_all(std::string const& message) {
  RankRegistry const* const board = RankRegistry::current();
  if (board == nullptr || board->claim(message)) {
    report(message);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
  status().state.store(StatusRecord::State::failed, std::memory_order_release);
  abort_all();
}

/// The same where MPI may not be called: the launcher ends the others, or they detect that this process is gone.
[[noreturn]] inline void end_without_mpi(std::string const& message) {
  RankRegistry const* const board = RankRegistry::current();
  if (board == nullptr || board->claim(message)) {
    report_at_once(message);
    status().state.store(StatusRecord::State::failed, std::memory_order_release);
    let_launcher_read();
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  std::_Exit(1);
}

/// True if another process of this node has shown activity within the deadline and is not waiting in a call.
inline bool somebody_works(std::chrono::milliseconds deadline) {
  RankRegistry const* const board = RankRegistry::current();
  if (board == nullptr) return false;
  double const seconds = std::chrono::duration<double>(deadline).count();
  return std::ranges::any_of(board->others(), [seconds](StatusRecord const* other) {
    return other->waiting.load(std::memory_order_relaxed) == 0 && seconds_since(other->since.load()) < seconds;
  });
}

/// Ends all processes if `gone` is gone without having ended or failed.
inline void end_if_gone(StatusRecord const& gone) {
  RankRegistry const* const board = RankRegistry::current();
  if (board != nullptr && gone.state.load(std::memory_order_acquire) == StatusRecord::State::running)
    end_all(report_gone(*board, gone));
}

[[noreturn]] inline void end_at_deadline(char const* call, double waited) {
  RankRegistry const* const board = RankRegistry::current();
  if (board == nullptr)
    end_all(formatted("trireme: a process has waited in {} for {:.1f} s, and no Environment knows of the others", call,
                      waited));
  // The lowest rank writes the message if several have waited as long.
  for (StatusRecord* const other : board->others())
    if (other->rank < board->own().rank && other->waiting.load(std::memory_order_relaxed) != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      break;
    }
  end_all(diagnose_wait(*board, call, waited));
}

}  // namespace detail

/// Scope of a process's wait for others in one call; its status record shows the call meanwhile. The waiting loop calls
/// `turn` after each unsuccessful test, which ends all processes once the deadline has passed.
class DeadlineWait {
  using Clock = std::chrono::steady_clock;

 public:
  /// \param call  a literal of up to 39 characters \throws CommunicationError if MPI has ended
  explicit DeadlineWait(char const* call) : call_(call) {
    detail::require_mpi(call);
    detail::status().begin_call(call);
  }
  DeadlineWait(DeadlineWait const&) = delete;
  DeadlineWait& operator=(DeadlineWait const&) = delete;
  ~DeadlineWait() { detail::status().end_call(); }

  /// From this call on the deadline counts from the last progress seen of another process of the node.
  void be_patient() { patient_ = true; }

  void turn() {
    if (++turns_ < patient_turns) return;
    detail::StatusRecord* const neighbour = detail::current_neighbour;
    if (neighbour != nullptr && detail::Heartbeat::is_marked(*neighbour)) detail::end_if_gone(*neighbour);
    std::this_thread::yield();  // perhaps to the process that it waits for
    if (turns_ % turns_of_clock == 0) look();
  }

 private:
  /// Short waits, which are those that matter, read no clock.
  static constexpr std::size_t patient_turns = 2000, turns_of_clock = 64;

  void look() {
    auto const now = Clock::now();
    // Time in which this process itself was stopped, as batch systems stop whole jobs, does not count.
    if (last_ != Clock::time_point{}) waited_ += std::min<Clock::duration>(now - last_, std::chrono::seconds(1));
    last_ = now;
    auto const deadline = detail::deadline().load(std::memory_order_relaxed);
    // Looks at the others long before the deadline: right after they arrive here too, none of them seems to work.
    if (patient_ && waited_ > deadline / 4 && detail::somebody_works(deadline / 4)) {
      waited_ = Clock::duration{0};
      detail::status().touch();  // the watchdog would take it for a hang
    }
    if (waited_ > deadline) detail::end_at_deadline(call_, std::chrono::duration<double>(waited_).count());
  }

  char const* call_;
  bool patient_ = false;
  std::size_t turns_ = 0;
  Clock::time_point last_{};
  Clock::duration waited_{0};
};

namespace detail {

/// As MPI_Wait. \return MPI's status
inline int wait_for(MPI_Request& request, DeadlineWait& waiting, MPI_Status* result = MPI_STATUS_IGNORE) {
  for (int done = 0;;) {
    int const status = test_request(request, done, result);
    if (status != MPI_SUCCESS || done != 0) return status;
    waiting.turn();
  }
}

using StartOperation = int(void const* what, MPI_Request* request);

/// The common code of `complete`; `start(what, request)` starts the operation.
inline void complete(char const* call, MPI_Comm comm, StartOperation* start, void const* what, MPI_Status* result) {
  DeadlineWait waiting(call);
  MPI_Request request = MPI_REQUEST_NULL;
  check(start(what, &request), call, comm);
  check(wait_for(request, waiting, result), call, comm);
}

/// Starts an operation and waits until it is complete. \param start  start(MPI_Request*) calls MPI
template <class Start>
void complete(char const* call, MPI_Comm comm, Start const& start, MPI_Status* result = MPI_STATUS_IGNORE) {
  StartOperation* const run = [](void const* what, MPI_Request* request) {
    return (*static_cast<Start const*>(what))(request);
  };
  complete(call, comm, run, &start, result);
}

/// Waits until all processes of the group are about to make a call that MPI offers in a blocking form only.
inline void meet_before(char const* call, MPI_Comm comm) {
  complete(call, comm, [comm](MPI_Request* request) { return MPI_Ibarrier(comm, request); });
}

}  // namespace detail

}  // namespace trireme
