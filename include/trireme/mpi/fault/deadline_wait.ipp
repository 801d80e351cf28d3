/// Definitions of trireme/mpi/fault/deadline_wait.hpp.
#pragma once

#include "trireme/mpi/fault/deadline_wait.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <mpi.h>

#include "trireme/backend/threads/backoff.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

TRIREME_INLINE std::atomic<std::chrono::milliseconds>& deadline() {
  static std::atomic<std::chrono::milliseconds> value{default_deadline};
  return value;
}

TRIREME_INLINE void end_all(std::string const& message) {
  RankRegistry const* const board = RankRegistry::current();
  if (board == nullptr || board->claim(message)) {
    report(message);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
  status().state.store(StatusRecord::State::failed, std::memory_order_release);
  abort_all();
}

TRIREME_INLINE void end_without_mpi(std::string const& message) {
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

TRIREME_INLINE bool somebody_works(std::chrono::milliseconds deadline) {
  RankRegistry const* const board = RankRegistry::current();
  if (board == nullptr) return false;
  double const seconds = std::chrono::duration<double>(deadline).count();
  return std::ranges::any_of(board->others(), [seconds](StatusRecord const* other) {
    return other->waiting.load(std::memory_order_relaxed) == 0 && seconds_since(other->since.load()) < seconds;
  });
}

TRIREME_INLINE void end_if_gone(StatusRecord const& gone) {
  RankRegistry const* const board = RankRegistry::current();
  if (board != nullptr && gone.state.load(std::memory_order_acquire) == StatusRecord::State::running)
    end_all(report_gone(*board, gone));
}

TRIREME_INLINE void end_at_deadline(char const* call, double waited) {
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

/// Back-off of the yields in this thread's waits.
TRIREME_INLINE Backoff& yields() {
  static thread_local Backoff own;
  return own;
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE DeadlineWait::DeadlineWait(char const* call) : call_(call) {
  detail::require_mpi(call);
  detail::status().begin_call(call);
}

TRIREME_INLINE DeadlineWait::~DeadlineWait() {
  if (yields_) detail::yields().add(true);
  detail::status().end_call();
}

TRIREME_INLINE void DeadlineWait::turn() {
  if (++turns_ < patient_turns) return;
  if (turns_ == patient_turns) yields_ = detail::yields().tries();
  end_if_neighbour_is_gone();
  if (yields_) {
    yield();
    if (turns_ % turns_of_clock == 0) look_at_clock();
  } else if (turns_ % turns_of_sleep == 0) {
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min<std::chrono::nanoseconds>(sleep_ + sleep_ / 4, std::chrono::milliseconds(1));
    look_at_clock();
  }
}

TRIREME_INLINE void DeadlineWait::yield() {
  auto const begin = Clock::now();
  std::this_thread::yield();  // perhaps to the process that it waits for
  // Otherwise to one that never rests and had the core for a time slice. Each yield would give it another one, and as
  // long as this process runs, Linux moves neither of the two to a core that has nothing to do.
  constexpr std::chrono::microseconds below_a_time_slice{500};
  if (Clock::now() - begin < below_a_time_slice) return;
  yields_ = false;
  detail::yields().add(false);
}

TRIREME_INLINE void DeadlineWait::look() {
  end_if_neighbour_is_gone();
  look_at_clock();
}

TRIREME_INLINE void DeadlineWait::end_if_neighbour_is_gone() const {
  detail::StatusRecord* const neighbour = detail::current_neighbour.load(std::memory_order_relaxed);
  if (neighbour != nullptr && detail::Heartbeat::is_marked(*neighbour)) detail::end_if_gone(*neighbour);
}

TRIREME_INLINE void DeadlineWait::look_at_clock() {
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

}  // namespace trireme

namespace trireme::detail {

TRIREME_INLINE int wait_for(MPI_Request& request, DeadlineWait& waiting, MPI_Status* result) {
  for (int done = 0;;) {
    int const status = test_request(request, done, result);
    if (status != MPI_SUCCESS || done != 0) return status;
    waiting.turn();
  }
}

TRIREME_INLINE void complete(char const* call, MPI_Comm comm, StartOperation* start, void const* what,
                             MPI_Status* result) {
  DeadlineWait waiting(call);
  MPI_Request request = MPI_REQUEST_NULL;
  check(start(what, &request), call, comm);
  check(wait_for(request, waiting, result), call, comm);
}

TRIREME_INLINE void meet_before(char const* call, MPI_Comm comm) {
  complete(call, comm, [comm](MPI_Request* request) { return MPI_Ibarrier(comm, request); });
}

}  // namespace trireme::detail
