/// How the processes of a run end together, and how all of them end when one fails.
///
/// Before MPI is finalized the processes meet in one reduction. One that fails waits there for a limited time only: if
/// the others come, the end is in order; if they do not, they know nothing of the error and have to be aborted.
#pragma once

#include <mpi.h>

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

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/last_words.hpp"
#include "trireme/mpi/fault/waiting.hpp"
#include "trireme/mpi/shared_error.hpp"

namespace trireme::detail {

/// Where the processes of one Environment meet at the end; owns a communicator that nothing else uses.
class Farewell {
 public:
  Farewell(Communicator const& world, std::chrono::milliseconds patience)
      : communicator_(world.duplicate()),
        patience_(patience),
        outer_(innermost()),
        outer_handler_(std::get_terminate()) {
    innermost() = this;
    std::set_terminate(&end_process);
  }
  ~Farewell() {
    std::set_terminate(outer_handler_);
    innermost() = outer_;
  }
  Farewell(Farewell const&) = delete;
  Farewell& operator=(Farewell const&) = delete;

  std::size_t rank() const { return communicator_.rank(); }
  std::chrono::milliseconds patience() const { return patience_; }

  /// Waits for the other processes: until the deadline if this one ends in order, and beyond it while others of the
  /// node still get on. \return the lowest rank that ends with an error, or the number of ranks if none does; nothing
  /// if this one has failed and the others did not come in time.
  std::optional<std::size_t> meet(bool failed) noexcept {
    // Static, since MPI may still write there if the others come too late.
    static std::uint64_t lowest;
    lowest = failed ? communicator_.rank() : communicator_.size();
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Iallreduce(MPI_IN_PLACE, &lowest, 1, MPI_UINT64_T, MPI_MIN, communicator_.get(), &request) != MPI_SUCCESS)
      return std::nullopt;
    Waiting waiting("~Environment");
    if (!failed) {
      waiting.be_patient();
      if (wait_for(request, waiting) != MPI_SUCCESS) return std::nullopt;
      return lowest;
    }
    auto const limit = std::chrono::steady_clock::now() + patience_;
    for (int done = 0; done == 0;) {
      if (test_request(request, done) != MPI_SUCCESS) return std::nullopt;
      if (done == 0 && std::chrono::steady_clock::now() > limit) return std::nullopt;
    }
    return lowest;
  }

  /// True unless an Environment that began later still lives.
  bool is_innermost() const { return innermost() == this; }

  /// Ends this process with exit code 1 and one line. \param uniform  whether the others end so too, or in order: then
  /// they are waited for, and else aborted
  [[noreturn]] static void end(std::string const& what, bool uniform) noexcept;

  /// Has all processes aborted when this one exits: later than now, so that who catches the error can still report it.
  static void abort_at_exit(std::size_t rank) {
    static std::size_t failed_rank;
    failed_rank = rank;
    std::atexit([] {
      if (mpi_is_finalized()) return;
      end_all(
          formatted("trireme: rank {}: ended all processes, since an error left the Environment here while the "
                    "others were still running",
                    failed_rank));
    });
  }

 private:
  static Farewell*& innermost() {
    static Farewell* current = nullptr;
    return current;
  }

  static bool may_call_mpi() {
    int on_main_thread = 0;
    if (!mpi_is_initialized() || mpi_is_finalized()) return false;
    return MPI_Is_thread_main(&on_main_thread) == MPI_SUCCESS && on_main_thread != 0;
  }

  /// Behind an error that ends a fit: where that was, and what is left of it.
  static std::string where() {
    if (status().epoch.load(std::memory_order_relaxed) == 0) return {};
    return position(status()) + last_checkpoint(status());
  }

  /// The std::terminate handler. One line says what went wrong, and every process ends with 1.
  [[noreturn]] static void end_process() noexcept;

  Communicator communicator_;
  std::chrono::milliseconds patience_;
  Farewell* outer_;
  std::terminate_handler outer_handler_;
};

inline void Farewell::end_process() noexcept {
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

inline void Farewell::end(std::string const& what, bool uniform) noexcept {
  Farewell* const farewell = innermost();
  StatusBoard const* const board = StatusBoard::current();
  auto const claim = [board](std::string const& message) { return board == nullptr || board->claim(message); };
  std::string const with_rank = formatted("trireme: rank {}: {}{}", farewell->rank(), what, where());
  if (!may_call_mpi()) {
    std::cout.flush();
    std::fflush(nullptr);
    end_without_mpi(with_rank);
  }
  if (uniform) {
    if (std::optional<std::size_t> const lowest = farewell->meet(true)) {
      std::string const message = "trireme: " + what + where();
      if (*lowest == farewell->rank() && claim(message)) report(message);
      status().state.store(StatusRecord::State::ended, std::memory_order_release);
      // Requests that are still pending can make MPI_Finalize wait for ever.
      std::thread([patience = farewell->patience()] {
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
