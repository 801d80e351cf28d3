/// Requests: nonblocking communication under way, singly and in groups that progress together.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"

namespace trireme {

/// One nonblocking operation. Its data must stay in place until `wait` returns or `test` returns true.
///
/// The destructor waits for a pending operation, since MPI would otherwise write into memory that is gone. While an
/// error unwinds the stack it waits for a minute at most, or the deadline, and then ends all processes, since the
/// others never joined.
class Request {
 public:
  Request() = default;
  Request(Request&& other) noexcept
      : first_(std::exchange(other.first_, MPI_REQUEST_NULL)),
        others_(std::exchange(other.others_, {})),
        call_(other.call_),
        rank_(other.rank_) {}
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      finish();
      first_ = std::exchange(other.first_, MPI_REQUEST_NULL);
      others_ = std::exchange(other.others_, {});
      call_ = other.call_;
      rank_ = other.rank_;
    }
    return *this;
  }
  ~Request() { finish(); }

  bool pending() const { return first_ != MPI_REQUEST_NULL || !others_.empty(); }

  /// Returns when the operation is complete. \throws CommunicationError
  void wait() { check(complete(), call_, rank_); }

  /// True if the operation is complete; also lets MPI progress. \throws CommunicationError
  bool test() {
    int done = 1;
    if (first_ != MPI_REQUEST_NULL) check(detail::test_request(first_, done), call_, rank_);
    while (done != 0 && !others_.empty()) {
      check(detail::test_request(others_.back(), done), call_, rank_);
      if (done != 0) others_.pop_back();
    }
    return done != 0;
  }

 private:
  friend class Communicator;
  Request(char const* call, std::size_t rank) : call_(call), rank_(rank) { detail::require_mpi(call); }

  /// Place of the MPI request of the next piece; an operation has more than one only beyond INT_MAX elements.
  MPI_Request* next() {
    if (first_ == MPI_REQUEST_NULL) return &first_;
    return &others_.emplace_back(MPI_REQUEST_NULL);
  }

  int complete() {
    DeadlineWait waiting(call_);
    int result = detail::wait_for(first_, waiting);
    for (MPI_Request& other : others_) {
      int const status = detail::wait_for(other, waiting);
      if (result == MPI_SUCCESS) result = status;
    }
    others_.clear();
    return result;
  }

  void finish() noexcept;

  MPI_Request first_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> others_;
  char const* call_ = "MPI_Wait";
  std::size_t rank_ = 0;
};

/// Group of requests to wait for together, for example the buckets of one step. Reuses its memory.
class Requests {
 public:
  void push(Request request) { requests_.push_back(std::move(request)); }
  std::size_t size() const { return requests_.size(); }

  /// Lets MPI work on every request and returns true if all are complete. To be called between pieces of other work,
  /// since most MPIs progress a collective only while they are called. \throws CommunicationError
  bool progress() {
    bool complete = true;
    for (Request& request : requests_) complete = request.test() && complete;
    return complete;
  }

  /// Returns when all are complete, and removes them. \throws CommunicationError
  void wait_all() {
    for (Request& request : requests_) request.wait();
    requests_.clear();
  }

 private:
  std::vector<Request> requests_;
};

inline void Request::finish() noexcept {
  if (!pending()) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  if (std::uncaught_exceptions() == 0) {
    complete();
    return;
  }
  std::chrono::milliseconds const most =
      std::min<std::chrono::milliseconds>(std::chrono::minutes(1), detail::deadline().load());
  auto const deadline = std::chrono::steady_clock::now() + most;
  try {
    while (!test()) {
      if (std::chrono::steady_clock::now() < deadline) continue;
      detail::end_all(
          formatted("trireme: rank {}: an error left {} pending that the other processes did not join", rank_, call_));
    }
  } catch (std::exception const&) {
    // The request failed, so nothing is pending; the error that unwinds the stack is the one to report.
  }
}

}  // namespace trireme
