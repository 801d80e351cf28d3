/// Communication under way: one request, and several that are moved on together.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trireme/collectives/last_words.hpp"
#include "trireme/collectives/mpi_check.hpp"

namespace trireme {

/// One non-blocking operation. Its data must stay where they are until `wait` returns or `test` says true.
///
/// The destructor waits for what is still pending, since MPI would otherwise write into memory that is gone. While an
/// error unwinds the stack it waits for a minute at most, and then ends all processes: the others never joined.
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
  void wait() {
    int const status = MPI_Wait(&first_, MPI_STATUS_IGNORE);
    int const others_status = wait_others();
    check(status, call_, rank_);
    check(others_status, call_, rank_);
  }

  /// True if the operation is complete; also lets MPI progress. \throws CommunicationError
  bool test() {
    int done = 1;
    if (first_ != MPI_REQUEST_NULL) check(MPI_Test(&first_, &done, MPI_STATUS_IGNORE), call_, rank_);
    while (done != 0 && !others_.empty()) {
      check(MPI_Test(&others_.back(), &done, MPI_STATUS_IGNORE), call_, rank_);
      if (done != 0) others_.pop_back();
    }
    return done != 0;
  }

 private:
  friend class Communicator;
  Request(char const* call, std::size_t rank) : call_(call), rank_(rank) {}

  /// Where MPI writes the request of the next piece: an operation is more than one only beyond INT_MAX elements.
  MPI_Request* next() {
    if (first_ == MPI_REQUEST_NULL) return &first_;
    return &others_.emplace_back(MPI_REQUEST_NULL);
  }

  int wait_others() {
    int result = MPI_SUCCESS;
    for (MPI_Request& other : others_) {
      int const status = MPI_Wait(&other, MPI_STATUS_IGNORE);
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

/// Requests that are waited for together, for example the buckets of one step. Reuses its memory.
class Requests {
 public:
  void push(Request request) { requests_.push_back(std::move(request)); }
  std::size_t size() const { return requests_.size(); }

  /// Lets MPI work on every request and says if all are complete; to be called between pieces of other work, since
  /// most MPIs move a collective on only while they are called. \throws CommunicationError
  bool progress() {
    bool complete = true;
    for (Request& request : requests_) complete = request.test() && complete;
    return complete;
  }

  /// Returns when all are complete, and forgets them. \throws CommunicationError
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
    MPI_Wait(&first_, MPI_STATUS_IGNORE);
    wait_others();
    return;
  }
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  try {
    while (!test()) {
      if (std::chrono::steady_clock::now() < deadline) continue;
      detail::report(fmt::format("trireme: rank {}: an error left {} pending that the other processes did not join",
                                 rank_, call_));
      detail::abort_all();
    }
  } catch (std::exception const&) {
    // The request failed, so nothing is pending; the error that unwinds the stack is the one to report.
  }
}

}  // namespace trireme
