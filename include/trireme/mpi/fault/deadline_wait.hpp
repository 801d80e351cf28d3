/// Waits with a deadline, so that the library never waits for another process forever.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>

#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme {

/// Deadline of a wait for other processes in one call, unless the Environment sets another one.
inline constexpr std::chrono::milliseconds default_deadline = std::chrono::minutes(10);

namespace detail {

std::atomic<std::chrono::milliseconds>& deadline();

/// Ends all processes. Writes the message, or, if another process has written one already, first gives that process
/// three seconds to end this one. On the thread that started MPI.
[[noreturn]] void end_all(std::string const& message);

/// The same where MPI may not be called: the launcher ends the others, or they detect that this process is gone.
[[noreturn]] void end_without_mpi(std::string const& message);

/// True if another process of this node has shown activity within the deadline and is not waiting in a call.
bool somebody_works(std::chrono::milliseconds deadline);

/// Ends all processes if `gone` is gone without having ended or failed.
void end_if_gone(StatusRecord const& gone);

[[noreturn]] void end_at_deadline(char const* call, double waited);

}  // namespace detail

/// Scope of a process's wait for others in one call; its status record shows the call meanwhile. The waiting loop calls
/// `turn` after each unsuccessful test, or `look` if it has slept, which end all processes once the deadline has
/// passed.
class DeadlineWait {
  using Clock = std::chrono::steady_clock;

 public:
  /// \param call  a literal of up to 39 characters \throws CommunicationError if MPI has ended
  explicit DeadlineWait(char const* call);
  DeadlineWait(DeadlineWait const&) = delete;
  DeadlineWait& operator=(DeadlineWait const&) = delete;
  ~DeadlineWait();

  /// From this call on the deadline counts from the last progress seen of another process of the node.
  void be_patient() { patient_ = true; }

  /// Ends all processes with a message once the deadline has passed. After the first turns it
  /// yields, or sleeps for a while if another process has just used the core for long.
  void turn();
  /// The same for a loop that sleeps: at once, without yielding.
  void look();

 private:
  /// Short waits, which are those that matter, read no clock.
  static constexpr std::size_t patient_turns = 2000, turns_of_clock = 64;
  /// MPI makes progress only while it is called, and wakes no process: between sleeps it is called often.
  static constexpr std::size_t turns_of_sleep = 128;

  void end_if_neighbour_is_gone() const;
  void look_at_clock();
  void yield();

  char const* call_;
  bool patient_ = false, yields_ = false;
  std::size_t turns_ = 0;
  std::chrono::nanoseconds sleep_{20'000};  ///< the next one
  Clock::time_point last_{};
  Clock::duration waited_{0};
};

namespace detail {

/// As MPI_Wait. \return MPI's status
int wait_for(MPI_Request& request, DeadlineWait& waiting, MPI_Status* result = MPI_STATUS_IGNORE);

using StartOperation = int(void const* what, MPI_Request* request);

/// The common code of `complete`; `start(what, request)` starts the operation.
void complete(char const* call, MPI_Comm comm, StartOperation* start, void const* what, MPI_Status* result);

/// Starts an operation and waits until it is complete. \param start  start(MPI_Request*) calls MPI
template <class Start>
void complete(char const* call, MPI_Comm comm, Start const& start, MPI_Status* result = MPI_STATUS_IGNORE) {
  StartOperation* const run = [](void const* what, MPI_Request* request) {
    return (*static_cast<Start const*>(what))(request);
  };
  complete(call, comm, run, &start, result);
}

/// Waits until all processes of the group are about to make a call that MPI offers in a blocking form only.
void meet_before(char const* call, MPI_Comm comm);

}  // namespace detail

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/deadline_wait.ipp"
#endif
