/// Definitions of trireme/callbacks/signal_watch.hpp.
#pragma once

#include "trireme/callbacks/signal_watch.hpp"

#include <array>
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
  // A watch lives before the first signal can be handled.
  if (slot.watches++ == 0 && !install(signal, slot)) {
    slot.watches = 0;
    raise_uniform(ValueError(formatted("signal {} cannot be handled: {}", signal, std::strerror(errno))));
  }
  begun_ = slot.count;
}

TRIREME_INLINE SignalWatch::~SignalWatch() {
  std::lock_guard const lock(mutex());
  SignalSlot& slot = signal_slots[index()];
  if (slot.watches == 1) {
    struct sigaction current{};
    ::sigaction(signal_, nullptr, &current);
    if (is_handle(current))
      ::sigaction(signal_, &slot.replaced, nullptr);
    else
      slot.left = true;
  }
  --slot.watches;
}

TRIREME_INLINE bool SignalWatch::install(int signal, SignalSlot& slot) {
  struct sigaction found{};
  if (::sigaction(signal, nullptr, &found) != 0) return false;
  if (is_handle(found)) {  // given back by a handler that replaced it
    slot.replaced = slot.before;
    slot.left = false;
    return true;
  }
  slot.replaced = found;
  if (!slot.left) slot.before = found;  // there before the first signal can be handled
  struct sigaction action{};
  action.sa_sigaction = &SignalWatch::handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(signal, &action, nullptr) == 0;
}

TRIREME_INLINE void SignalWatch::handle(int signal, siginfo_t* info, void* context) {
  // Initial-exec: reading it allocates nothing, which a handler may not do.
  [[gnu::tls_model("initial-exec")]] static thread_local std::array<bool, NSIG> within{};
  auto const index = static_cast<std::size_t>(signal);
  SignalSlot& slot = signal_slots[index];
  // A handler that we call may call us.
  bool const first = slot.watches > 0 && !within[index];
  struct sigaction const& found = first ? slot.replaced : slot.before;
  ++slot.count;
  if (first) within[index] = true;
  if ((found.sa_flags & SA_SIGINFO) != 0)
    found.sa_sigaction(signal, info, context);
  else if (found.sa_handler != SIG_DFL && found.sa_handler != SIG_IGN)
    found.sa_handler(signal);
  else if (found.sa_handler == SIG_DFL && slot.watches == 0)
    act_by_default(signal);
  if (first) within[index] = false;
}

TRIREME_INLINE void SignalWatch::act_by_default(int signal) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);  // held back until the handler returns
}

TRIREME_INLINE std::mutex& SignalWatch::mutex() {
  static std::mutex one;
  return one;
}

}  // namespace trireme::detail
