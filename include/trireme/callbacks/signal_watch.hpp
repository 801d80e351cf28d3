/// SignalWatch: whether this process has received a signal since the watch began.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// A signal that this process may watch: how often it came, and what handled it before.
struct SignalSlot {
  std::atomic<unsigned> count{0};
  std::size_t watches = 0;
  struct sigaction before {};
};
static_assert(std::atomic<unsigned>::is_always_lock_free);  // as all that a handler uses must be
inline std::array<SignalSlot, NSIG> signal_slots{};

/// A watch of one signal. While it lives the signal ends nothing: it is counted, and a handler that the program has set
/// before is called too. The last watch of a signal gives it back to that handler. Any thread may hold one.
class SignalWatch {
 public:
  /// \throws ValueError if the system lets nobody handle the signal
  explicit SignalWatch(int signal) : signal_(signal) {
    std::lock_guard const lock(mutex());
    SignalSlot& slot = signal_slots[index()];
    if (slot.watches == 0) {
      struct sigaction action {};
      action.sa_sigaction = &SignalWatch::handle;
      action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
      ::sigemptyset(&action.sa_mask);
      // `before` is there before the first signal can be handled.
      if (::sigaction(signal, nullptr, &slot.before) != 0 || ::sigaction(signal, &action, nullptr) != 0)
        raise_uniform(ValueError(formatted("signal {} cannot be handled: {}", signal, std::strerror(errno))));
    }
    ++slot.watches;
    begun_ = slot.count;
  }
  ~SignalWatch() {
    std::lock_guard const lock(mutex());
    SignalSlot& slot = signal_slots[index()];
    if (--slot.watches == 0) ::sigaction(signal_, &slot.before, nullptr);
  }
  SignalWatch(SignalWatch const&) = delete;
  SignalWatch& operator=(SignalWatch const&) = delete;

  bool received() const { return signal_slots[index()].count != begun_; }

  /// True if a handler of the signal may return: after that of a fault the fault would come again, without end.
  static constexpr bool may_return(int signal) {
    return signal > 0 && signal < NSIG && signal != SIGSEGV && signal != SIGBUS && signal != SIGFPE &&
           signal != SIGILL && signal != SIGABRT && signal != SIGTRAP && signal != SIGKILL && signal != SIGSTOP;
  }

 private:
  static void handle(int signal, siginfo_t* info, void* context) {
    SignalSlot& slot = signal_slots[static_cast<std::size_t>(signal)];
    ++slot.count;
    if ((slot.before.sa_flags & SA_SIGINFO) != 0)
      slot.before.sa_sigaction(signal, info, context);
    else if (slot.before.sa_handler != SIG_DFL && slot.before.sa_handler != SIG_IGN)
      slot.before.sa_handler(signal);
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::size_t index() const { return static_cast<std::size_t>(signal_); }

  int signal_;
  unsigned begun_ = 0;
};

}  // namespace trireme::detail
