/// Definitions of trireme/callbacks/signal_watch.hpp.
#pragma once

#include "trireme/callbacks/signal_watch.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

TRIREME_INLINE SignalWatch::SignalWatch(int signal) : signal_(signal) {
  std::lock_guard const lock(mutex());
  SignalSlot& slot = signal_slots[index()];
  if (slot.watches == 0) {
    struct sigaction action{};
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

TRIREME_INLINE SignalWatch::~SignalWatch() {
  std::lock_guard const lock(mutex());
  SignalSlot& slot = signal_slots[index()];
  if (--slot.watches == 0) ::sigaction(signal_, &slot.before, nullptr);
}

TRIREME_INLINE void SignalWatch::handle(int signal, siginfo_t* info, void* context) {
  SignalSlot& slot = signal_slots[static_cast<std::size_t>(signal)];
  ++slot.count;
  if ((slot.before.sa_flags & SA_SIGINFO) != 0)
    slot.before.sa_sigaction(signal, info, context);
  else if (slot.before.sa_handler != SIG_DFL && slot.before.sa_handler != SIG_IGN)
    slot.before.sa_handler(signal);
}

TRIREME_INLINE std::mutex& SignalWatch::mutex() {
  static std::mutex one;
  return one;
}

}  // namespace trireme::detail
