/// SignalWatch: whether this process has received a signal since the watch began.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <mutex>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// A signal that this process may watch: how often it came, and what handled it before.
struct SignalSlot {
  std::atomic<unsigned> count{0};
  std::size_t watches = 0;
  struct sigaction before{};
};
static_assert(std::atomic<unsigned>::is_always_lock_free);  // as all that a handler uses must be
inline std::array<SignalSlot, NSIG> signal_slots{};

/// A watch of one signal. While it lives the signal ends nothing: it is counted, and a handler that the program has set
/// before is called too. The last watch of a signal gives it back to that handler. Any thread may hold one.
class SignalWatch {
 public:
  /// \throws ValueError if the system lets no program handle the signal
  explicit SignalWatch(int signal);
  ~SignalWatch();
  SignalWatch(SignalWatch const&) = delete;
  SignalWatch& operator=(SignalWatch const&) = delete;

  bool received() const { return signal_slots[index()].count != begun_; }

  /// True if a handler of the signal may return: after that of a fault the fault would come again, without end.
  static constexpr bool may_return(int signal) {
    return signal > 0 && signal < NSIG && signal != SIGSEGV && signal != SIGBUS && signal != SIGFPE &&
           signal != SIGILL && signal != SIGABRT && signal != SIGTRAP && signal != SIGKILL && signal != SIGSTOP;
  }

 private:
  static void handle(int signal, siginfo_t* info, void* context);
  static std::mutex& mutex();
  std::size_t index() const { return static_cast<std::size_t>(signal_); }

  int signal_;
  unsigned begun_ = 0;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/signal_watch.ipp"
#endif
