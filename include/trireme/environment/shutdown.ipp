/// Definitions of trireme/environment/shutdown.hpp.
#pragma once

#include "trireme/environment/shutdown.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include <mpi.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/shared_error.hpp"

namespace trireme::detail {

TRIREME_INLINE Shutdown::Shutdown(Communicator const& world, Options const& options)
    : communicator_(world.duplicate()),
      options_(options),
      outer_(innermost()),
      outer_run_(run_communicator()),
      outer_handler_(std::get_terminate()) {
  if (outer_ != nullptr && communicator_.size() == size_of(outer_run_))  // the same processes
    options_.finalizes_mpi = options_.finalizes_mpi || outer_->options_.finalizes_mpi;
  if (outer_ == nullptr || communicator_.size() > size_of(outer_run_))
    run_communicator() = options.all ? MPI_COMM_WORLD : communicator_.get();
  innermost() = this;
  if (options.handles_terminate) std::set_terminate(&end_process);
}

TRIREME_INLINE Shutdown::~Shutdown() {
  if (options_.handles_terminate) std::set_terminate(outer_handler_);
  innermost() = outer_;
  run_communicator() = outer_run_;
}

TRIREME_INLINE std::optional<std::size_t> Shutdown::await_others(bool failed) noexcept {
  // Static, since MPI may still write there if the others arrive too late.
  static std::uint64_t lowest;
  lowest = failed ? communicator_.rank() : communicator_.size();
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Iallreduce(MPI_IN_PLACE, &lowest, 1, MPI_UINT64_T, MPI_MIN, communicator_.get(), &request) != MPI_SUCCESS)
    return std::nullopt;
  DeadlineWait waiting("~Environment");
  if (!failed) {
    waiting.be_patient();
    if (wait_for(request, waiting) != MPI_SUCCESS) return std::nullopt;
    return lowest;
  }
  auto const limit = std::chrono::steady_clock::now() + options_.patience;
  for (int done = 0; done == 0;) {
    if (test_request(request, done) != MPI_SUCCESS) return std::nullopt;
    if (done == 0 && std::chrono::steady_clock::now() > limit) return std::nullopt;
  }
  return lowest;
}

TRIREME_INLINE void Shutdown::abort_at_exit(std::size_t rank) {
  static std::size_t failed_rank;
  static std::FILE* file;
  failed_rank = rank;
  file = messages();
  std::atexit([] {
    if (is_forked_child() || mpi_is_finalized()) return;
    MessageScope const scope(file);
    end_all(
        formatted("trireme: rank {}: ended all processes, since an error left the Environment here while the "
                  "others were still running",
                  failed_rank));
  });
}

TRIREME_INLINE Shutdown*& Shutdown::innermost() {
  static Shutdown* current = nullptr;
  return current;
}

TRIREME_INLINE std::size_t Shutdown::size_of(MPI_Comm communicator) {
  int size = 0;
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size", communicator);
  return static_cast<std::size_t>(size);
}

TRIREME_INLINE bool Shutdown::may_call_mpi() {
  int on_main_thread = 0;
  if (!mpi_is_initialized() || mpi_is_finalized()) return false;
  return MPI_Is_thread_main(&on_main_thread) == MPI_SUCCESS && on_main_thread != 0;
}

TRIREME_INLINE std::string Shutdown::where() {
  if (status().epoch.load(std::memory_order_relaxed) == 0) return {};
  return position(status()) + last_checkpoint(status());
}

TRIREME_INLINE void Shutdown::end_child() noexcept {
  std::terminate_handler outer = &end_process;
  for (Shutdown const* one = innermost(); one != nullptr && outer == &end_process; one = one->outer_)
    outer = one->outer_handler_;
  if (outer != nullptr && outer != &end_process) outer();
  std::abort();
}

TRIREME_INLINE void Shutdown::end_process() noexcept {
  if (lives() && is_forked_child()) end_child();
  static std::atomic_flag entered = ATOMIC_FLAG_INIT;
  if (entered.test_and_set()) {  // a second thread fails while the first one reports
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::_Exit(1);
  }
  std::string what = "std::terminate was called without an exception";
  bool uniform = false;
  if (std::exception_ptr const error = std::current_exception()) {
    what = SharedError::from(error).message;
    try {
      std::rethrow_exception(error);
    } catch (Error const& e) {
      uniform = e.uniform();
    } catch (...) {
    }
  }
  end(what, uniform);
}

TRIREME_INLINE void Shutdown::end(std::string const& what, bool uniform) noexcept {
  Shutdown* const shutdown = innermost();
  RankRegistry const* const board = RankRegistry::current();
  auto const claim = [board](std::string const& message) { return board == nullptr || board->claim(message); };
  std::string const with_rank = formatted("trireme: rank {}: {}{}", shutdown->rank(), what, where());
  if (!may_call_mpi()) {
    std::cout.flush();
    std::fflush(nullptr);
    end_without_mpi(with_rank);
  }
  if (uniform) {
    if (std::optional<std::size_t> const lowest = shutdown->await_others(true)) {
      std::string const message = "trireme: " + what + where();
      if (*lowest == shutdown->rank() && claim(message)) report(message);
      status().state.store(StatusRecord::State::ended, std::memory_order_release);
      if (!shutdown->options_.finalizes_mpi) abort_all();  // other processes of MPI_COMM_WORLD would not join in
      // Requests that are still pending can make MPI_Finalize wait forever.
      std::thread([patience = shutdown->patience()] {
        std::this_thread::sleep_for(patience);
        std::_Exit(1);
      }).detach();
      std::cout.flush();
      std::fflush(nullptr);
      MPI_Finalize();
      std::_Exit(1);
    }
  }
  end_all(with_rank);
}

}  // namespace trireme::detail
