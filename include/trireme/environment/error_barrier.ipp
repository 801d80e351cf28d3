/// Definitions of trireme/environment/error_barrier.hpp.
#pragma once

#include "trireme/environment/error_barrier.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <mpi.h>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/environment/shutdown.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"
#include "trireme/mpi/shared_error.hpp"

namespace trireme::detail {

TRIREME_INLINE ErrorBarrier::ErrorBarrier(Communicator const& group)
    : communicator_(group.common_duplicate()),
      number_(communicator_->next_number()),
      members_(group.allgather(status().rank)) {
  std::ranges::sort(members_);
}

TRIREME_INLINE void ErrorBarrier::Scope::note(std::exception_ptr const& error, std::uint64_t begun, CleanUp clean_up) {
  what_ = SharedError::from(error).message;
  begun_ = begun;
  clean_up_ = clean_up;
  fails_ = true;
}

TRIREME_INLINE void ErrorBarrier::await(std::string const& what, std::uint64_t begun, CleanUp clean_up) noexcept {
  await(what);
  if (mpi_is_finalized()) return;
  try {
    std::vector<std::uint64_t> most{begun, ~begun, number_, ~number_};
    communicator_->allreduce_max(most);
    if (most[0] != ~most[1] || most[2] != ~most[3])
      end(formatted("{}; training cannot go on, since errors ended this step in different places of the processes",
                    what));
    if (clean_up.call) clean_up.call(clean_up.engine);
  } catch (...) {
    end(SharedError::from(std::current_exception()).message);
  }
}

TRIREME_INLINE void ErrorBarrier::await(std::string const& what) noexcept {
  if (mpi_is_finalized()) return;
  using Clock = std::chrono::steady_clock;
  DeadlineWait const waiting("a call left by an error");  // for the status record; the clocks are these
  auto const limit = deadline().load(std::memory_order_relaxed);
  auto const patience = sees_all() ? std::min<std::chrono::milliseconds>(Shutdown::current_patience(), limit) : limit;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(communicator_->get(), &request) != MPI_SUCCESS) end(what);
  Clock::duration waited{0}, in_vain{0};
  for (auto last = Clock::now();;) {
    int done = 0;
    if (test_request(request, done) != MPI_SUCCESS) end(what);
    if (done != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // Time in which the whole job was stopped does not count.
    auto const now = Clock::now();
    auto const passed = std::min<Clock::duration>(now - last, std::chrono::seconds(1));
    last = now;
    waited += passed;
    in_vain = others_work() ? Clock::duration{0} : in_vain + passed;
    if (in_vain > patience || waited > limit) end(what);
  }
}

TRIREME_INLINE bool ErrorBarrier::sees_all() const {
  RankRegistry const* const board = RankRegistry::current();
  return board != nullptr &&
         static_cast<std::size_t>(std::ranges::count_if(
             board->others(),
             [this](auto const* other) { return std::ranges::binary_search(members_, other->rank); })) +
                 1 >=
             members_.size();
}

TRIREME_INLINE bool ErrorBarrier::others_work() const {
  RankRegistry const* const board = RankRegistry::current();
  return board != nullptr && std::ranges::any_of(board->others(), [this](StatusRecord const* other) {
           return other->waiting.load(std::memory_order_relaxed) == 0 &&
                  std::ranges::binary_search(members_, other->rank);
         });
}

TRIREME_INLINE void ErrorBarrier::end(std::string const& what) const noexcept {
  if (Shutdown::lives()) Shutdown::end(what, false);
  end_all("trireme: " + what);  // without an Environment
}

}  // namespace trireme::detail
