/// Requests: nonblocking communication under way, singly and in groups that progress together.
#pragma once

#include <mpi.h>

#include <cstddef>
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
  Request& operator=(Request&& other) noexcept;
  ~Request() { finish(); }

  /// True if the operation has not been found complete yet. Local.
  bool pending() const { return first_ != MPI_REQUEST_NULL || !others_.empty(); }

  /// Returns when the operation is complete. \throws CommunicationError
  void wait() { check(complete(), call_, rank_); }

  /// True if the operation is complete; also lets MPI progress. \throws CommunicationError
  bool test();

 private:
  friend class Communicator;
  Request(char const* call, std::size_t rank) : call_(call), rank_(rank) { detail::require_mpi(call); }

  /// Place of the MPI request of the next piece; an operation has more than one only beyond INT_MAX elements.
  MPI_Request* next();

  int complete();

  void finish() noexcept;

  MPI_Request first_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> others_;
  char const* call_ = "MPI_Wait";
  std::size_t rank_ = 0;
};

/// Group of requests to wait for together, for example the buckets of one step. Reuses its memory.
class Requests {
 public:
  /// Adds a request to the group.
  void push(Request request) { requests_.push_back(std::move(request)); }
  /// Number of requests.
  std::size_t size() const { return requests_.size(); }

  /// Lets MPI work on every request and returns true if all are complete. To be called between pieces of other work,
  /// since most MPIs progress a collective only while they are called. \throws CommunicationError
  bool progress();

  /// Returns when all are complete, and removes them. \throws CommunicationError
  void wait_all();

 private:
  std::vector<Request> requests_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/mpi/request.ipp"
#endif
