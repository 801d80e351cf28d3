/// Waits with a deadline: nothing in the library waits for another process without end.
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
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/last_words.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/pulse.hpp"
#include "trireme/mpi/fault/status_board.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme {

/// How long a process waits for others in one call, unless its Environment says something else.
inline constexpr std::chrono::milliseconds default_deadline = std::chrono::minutes(10);

namespace detail {

inline std::atomic<std::chrono::milliseconds>& deadline() {
  static std::atomic<std::chrono::milliseconds> value{default_deadline};
  return value;
}

/// Writes the message if no other process has spoken yet; else leaves it to that one, which will end us. On the thread
/// that started MPI.
[[noreturn]] inline void end_all(std::string const& message) {
  StatusBoard const* const board = StatusBoard::current();
  if (board == nullptr || board->claim(message)) {
    report(message);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
  status().state.store(StatusRecord::State::failed, std::memory_order_release);
  abort_all();
}

/// The same where MPI may not be called: the launcher ends the others, or they see that this process is gone.
[[noreturn]] inline void end_without_mpi(std::string const& message) {
  StatusBoard const* const board = StatusBoard::current();
  if (board == nullptr || board->claim(message)) {
    std::string const line = message + '\n';
    [[maybe_unused]] ssize_t const written = ::write(STDERR_FILENO, line.data(), line.size());
    status().state.store(StatusRecord::State::failed, std::memory_order_release);
    let_launcher_read();
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  std::_Exit(1);
}

/// Whether another process of this node has done something within the deadline and waits for nobody.
inline bool somebody_works(std::chrono::milliseconds deadline) {
  StatusBoard const* const board = StatusBoard::current();
  if (board == nullptr) return false;
  double const seconds = std::chrono::duration<double>(deadline).count();
  return std::ranges::any_of(board->others(), [seconds](StatusRecord const* other) {
    return other->waiting.load(std::memory_order_relaxed) == 0 && seconds_since(other->since.load()) < seconds;
  });
}

/// A process that others wait for is gone.
inline void end_if_gone(StatusRecord const& gone) {
  StatusBoard const* const board = StatusBoard::current();
  if (board != nullptr && gone.state.load(std::memory_order_acquire) == StatusRecord::State::running)
    end_all(report_gone(*board, gone));
}

[[noreturn]] inline void end_at_deadline(char const* call, double waited) {
  StatusBoard const* const board = StatusBoard::current();
  if (board == nullptr)
    end_all(formatted("trireme: a process has waited in {} for {:.1f} s, and no Environment knows of the others", call,
                      waited));
  // The lowest rank speaks, if several have waited for as long.
  for (StatusRecord* const other : board->others())
    if (other->rank < board->own().rank && other->waiting.load(std::memory_order_relaxed) != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      break;
    }
  end_all(diagnose_wait(*board, call, waited));
}

}  // namespace detail

/// Lives as long as a process waits for others in one call; its status record says so meanwhile. After each look that
/// found nothing `turn` is called, which ends all processes once the deadline has passed.
class Waiting {
  using Clock = std::chrono::steady_clock;

 public:
  /// \param call  a literal of up to 39 characters \throws CommunicationError if MPI has ended
  explicit Waiting(char const* call) : call_(call) {
    detail::require_mpi(call);
    detail::status().begin_call(call);
  }
  Waiting(Waiting const&) = delete;
  Waiting& operator=(Waiting const&) = delete;
  ~Waiting() { detail::status().end_call(); }

  /// From now on the deadline counts from when another process of the node was last seen to get on.
  void be_patient() { patient_ = true; }

  void turn() {
    if (++turns_ < patient_turns) return;
    detail::StatusRecord* const neighbour = detail::current_neighbour;
    if (neighbour != nullptr && detail::Pulse::is_marked(*neighbour)) detail::end_if_gone(*neighbour);
    std::this_thread::yield();  // to what it waits for, perhaps
    if (turns_ % turns_of_clock == 0) look();
  }

 private:
  /// No clock is asked in short waits, which are those that matter.
  static constexpr std::size_t patient_turns = 2000, turns_of_clock = 64;

  void look() {
    auto const now = Clock::now();
    // Time in which this process was stopped itself, as batch systems do with whole jobs, does not count.
    if (last_ != Clock::time_point{}) waited_ += std::min<Clock::duration>(now - last_, std::chrono::seconds(1));
    last_ = now;
    auto const deadline = detail::deadline().load(std::memory_order_relaxed);
    // Others that get on are seen long before the deadline: right after they have come here too, nobody seems to work.
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
inline int wait_for(MPI_Request& request, Waiting& waiting, MPI_Status* result = MPI_STATUS_IGNORE) {
  for (int done = 0;;) {
    int const status = test_request(request, done, result);
    if (status != MPI_SUCCESS || done != 0) return status;
    waiting.turn();
  }
}

using StartOperation = int(void const* what, MPI_Request* request);

/// All but the start, which each operation has of its own.
inline void complete(char const* call, MPI_Comm comm, StartOperation* start, void const* what, MPI_Status* result) {
  Waiting waiting(call);
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

/// Before a call that MPI offers in a blocking form only: waits until all processes of the group are about to call it.
inline void meet_before(char const* call, MPI_Comm comm) {
  complete(call, comm, [comm](MPI_Request* request) { return MPI_Ibarrier(comm, request); });
}

}  // namespace detail

}  // namespace trireme
