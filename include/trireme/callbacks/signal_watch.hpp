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
  std::atomic<std::size_t> watches{0};
  struct sigaction before{};    ///< what handled it before other handlers were set on top of ours
  struct sigaction replaced{};  ///< what our handler calls while a watch lives, and the last watch restores
  /// True if another handler had replaced ours when a last watch ended, and has not given it back: it may call ours,
  /// which then calls what was there before.
  bool left = false;
};
// As all that a handler uses must be:
static_assert(std::atomic<unsigned>::is_always_lock_free && std::atomic<std::size_t>::is_always_lock_free);
inline std::array<SignalSlot, NSIG> signal_slots{};

/// A watch of one signal. While it lives the signal ends nothing: it is counted, and a handler that the program has set
/// before is called too. The last watch of a signal gives it back to that handler, unless another one was set
/// meanwhile. One that was set while an earlier watch lived may itself call ours, which does not call it again then.
/// Any thread may hold a watch.
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
  /// Makes the signal end the program, or what else it does by default, once its handler has returned.
  static void act_by_default(int signal);
  /// Makes the watch's handler that of the signal. \return false, with errno, if the system does not let it
  static bool install(int signal, SignalSlot& slot);
  static bool is_handle(struct sigaction const& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &SignalWatch::handle;
  }
  static std::mutex& mutex();
  std::size_t index() const { return static_cast<std::size_t>(signal_); }

  int signal_;
  unsigned begun_ = 0;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/signal_watch.ipp"
#endif
