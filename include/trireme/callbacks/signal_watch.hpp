/// SignalWatch: whether this process has received a signal since the watch began.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <optional>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// A signal that this process may watch.
///
/// Handlers of a signal form a chain: code that sets one keeps the one found, calls it, and perhaps sets it again. If
/// other code has set a handler on top of ours, ours has to stay when its last watch ends, and the next watch sets
/// another one on top of both. Each of ours is a level, with a function of its own, so that the function says what it
/// replaced, wherever in the chain it lies and whoever sets it again.
struct SignalSlot {
  static constexpr std::size_t most_levels = 4;

  std::atomic<unsigned> count{0};  ///< how often the signal came
  std::atomic<std::size_t> watches{0};
  /// Handler that each level replaced, calls, and gives the signal back to. Handlers read it without a lock: it is set
  /// before its level is, and kept while other code may call that.
  std::array<struct sigaction, most_levels> replaced{};
  std::size_t levels = 0;  ///< those set, and those that lie below handlers of other code
};
// As all that a handler uses must be:
static_assert(std::atomic<unsigned>::is_always_lock_free && std::atomic<std::size_t>::is_always_lock_free);
inline std::array<SignalSlot, NSIG> signal_slots{};

/// A watch of one signal. While it lives the signal ends nothing: it is counted, and a handler that the program has set
/// before is called too. The last watch of a signal gives it back to that handler, unless another one was set
/// meanwhile: that one stays, and may call ours, which calls the one before. Any thread may hold a watch.
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
  using Handler = void (*)(int signal, siginfo_t* info, void* context);

  /// The handler that a level sets.
  template <std::size_t Level>
  static void handle(int signal, siginfo_t* info, void* context);
  static void handle_at(std::size_t level, int signal, siginfo_t* info, void* context);
  static Handler handler_of(std::size_t level);
  /// Acts as the signal does by default: makes it end the program, say, once its handler has returned.
  static void act_by_default(int signal);
  /// Makes a handler of ours that of the signal. \return false, with errno, if the system does not let it
  static bool install(int signal, SignalSlot& slot);
  /// The level that a watch takes which has found this handler of other code.
  static std::size_t level_above(struct sigaction const& found, SignalSlot const& slot);
  /// The level whose handler this is, if it is one of ours.
  static std::optional<std::size_t> level_of(struct sigaction const& action);
  static bool is_same(struct sigaction const& a, struct sigaction const& b);
  static std::mutex& mutex();
  std::size_t index() const { return static_cast<std::size_t>(signal_); }

  int signal_;
  unsigned begun_ = 0;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/signal_watch.ipp"
#endif
