/// Definitions of trireme/mpi/fault/watchdog.hpp.
#pragma once

#include "trireme/mpi/fault/watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "trireme/core/linkage.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

TRIREME_INLINE Watchdog::Watchdog(RankRegistry const& board, std::chrono::milliseconds deadline,
                                  std::chrono::milliseconds refresh)
    : board_(board),
      deadline_(deadline),
      period_(std::clamp<std::chrono::milliseconds>(deadline / 50, std::chrono::milliseconds(10),
                                                    std::chrono::milliseconds(100))),
      refresh_(refresh) {
  // Signals are for the program's own threads, but for those of the thread's own faults: a handler of the program gets
  // them, which may repair them.
  sigset_t others, before;
  sigfillset(&others);
  for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&others, fault);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TRIREME_INLINE Watchdog::~Watchdog() {
  {
    std::lock_guard const lock(mutex_);
    stop_ = true;
  }
  sleep_.notify_one();
  thread_.join();
}

TRIREME_INLINE bool Watchdog::wait() {
  if (next_ != nullptr) switch (Heartbeat::wait(*next_, period_)) {
      case Heartbeat::Sign::gone:
        if (next_->state.load(std::memory_order_acquire) == State::running) end(report_gone(board_, *next_));
        [[fallthrough]];
      case Heartbeat::Sign::ended:
        watch_next();
        break;
      case Heartbeat::Sign::beats:
        break;
    }
  std::unique_lock lock(mutex_);
  if (next_ == nullptr) sleep_.wait_for(lock, period_, [this] { return stop_; });
  return !stop_;
}

TRIREME_INLINE void Watchdog::watch_next() {
  bool const failed = next_->state.load(std::memory_order_acquire) == State::failed;
  next_ = failed ? nullptr : board_.next_after(*next_);
  current_neighbour.store(next_, std::memory_order_relaxed);
}

TRIREME_INLINE void Watchdog::run() {
  Clock::time_point last = Clock::now(), refreshed = last;
  Clock::duration waits{0}, failed{0};  // time in the current call, and since another process has failed
  std::uint64_t seen = 0;
  StatusRecord& own = status();
  while (wait()) {
    // Time in which this process was stopped does not count.
    auto const now = Clock::now();
    auto const passed = std::min<Clock::duration>(now - last, 2 * period_);
    last = now;
    std::int64_t const moment = steady_clock_now();
    std::uint64_t const activity = own.activity.load(std::memory_order_relaxed);
    if (activity != seen) own.since.store(moment, std::memory_order_relaxed);
    bool const in_call = own.waiting.load(std::memory_order_relaxed) != 0;
    waits = activity == seen && in_call ? waits + passed : Clock::duration{0};
    seen = activity;
    own.alive.store(moment, std::memory_order_relaxed);
    if (now - refreshed >= refresh_) {
      board_.refresh();
      refreshed = now;
    }

    // The main thread checks the deadline itself, unless it hangs within MPI.
    if (waits > deadline_ + std::max<Clock::duration>(deadline_ / 4, grace))
      end(diagnose_wait(board_, own.call_name(), std::chrono::duration<double>(waits).count()));
    failed = somebody_failed() ? failed + passed : Clock::duration{0};
    if (failed > grace) end(std::nullopt);
  }
}

TRIREME_INLINE bool Watchdog::somebody_failed() const {
  return std::ranges::any_of(board_.others(), [](StatusRecord const* other) {
    return other->state.load(std::memory_order_relaxed) == State::failed;
  });
}

TRIREME_INLINE void Watchdog::end(std::optional<std::string> const& message) const {
  if (message) end_without_mpi(*message);
  std::_Exit(1);
}

}  // namespace trireme::detail
