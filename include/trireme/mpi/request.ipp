/// Definitions of trireme/mpi/request.hpp.
#pragma once

#include "trireme/mpi/request.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <mpi.h>

#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"

namespace trireme {

TRIREME_INLINE Request& Request::operator=(Request&& other) noexcept {
  if (this != &other) {
    finish();
    first_ = std::exchange(other.first_, MPI_REQUEST_NULL);
    others_ = std::exchange(other.others_, {});
    call_ = other.call_;
    rank_ = other.rank_;
  }
  return *this;
}

TRIREME_INLINE bool Request::test() {
  int done = 1;
  if (first_ != MPI_REQUEST_NULL) check(detail::test_request(first_, done), call_, rank_);
  while (done != 0 && !others_.empty()) {
    check(detail::test_request(others_.back(), done), call_, rank_);
    if (done != 0) others_.pop_back();
  }
  return done != 0;
}

TRIREME_INLINE MPI_Request* Request::next() {
  if (first_ == MPI_REQUEST_NULL) return &first_;
  return &others_.emplace_back(MPI_REQUEST_NULL);
}

TRIREME_INLINE int Request::complete() {
  DeadlineWait waiting(call_);
  int result = detail::wait_for(first_, waiting);
  for (MPI_Request& other : others_) {
    int const status = detail::wait_for(other, waiting);
    if (result == MPI_SUCCESS) result = status;
  }
  others_.clear();
  return result;
}

TRIREME_INLINE bool Requests::progress() {
  bool complete = true;
  for (Request& request : requests_) complete = request.test() && complete;
  return complete;
}

TRIREME_INLINE void Requests::wait_all() {
  for (Request& request : requests_) request.wait();
  requests_.clear();
}

TRIREME_INLINE void Request::finish() noexcept {
  if (!pending() || detail::is_forked_child()) return;
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
