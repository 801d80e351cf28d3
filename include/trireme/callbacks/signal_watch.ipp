/// Definitions of trireme/callbacks/signal_watch.hpp.
#pragma once

#include "trireme/callbacks/signal_watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

TRIREME_INLINE SignalWatch::SignalWatch(int signal) : signal_(signal) {
  std::lock_guard const lock(mutex());
  SignalSlot& slot = signal_slots[index()];
  if (slot.watches > 0) {
    ++slot.watches;
  } else if (!install(signal, slot)) {
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
    // Below a handler of other code ours stays. If a lower level is found, the handler above it gave the signal back.
    if (auto const level = level_of(current)) {
      ::sigaction(signal_, &slot.replaced[*level], nullptr);
      slot.levels = *level;
    }
  }
  --slot.watches;
}

TRIREME_INLINE bool SignalWatch::install(int signal, SignalSlot& slot) {
  struct sigaction found{};
  if (::sigaction(signal, nullptr, &found) != 0) return false;
  if (auto const level = level_of(found)) {  // set again by code that had replaced it
    slot.levels = *level + 1;
    slot.watches = 1;
    return true;
  }
  std::size_t const level = level_above(found, slot);
  if (!is_same(slot.replaced[level], found)) slot.replaced[level] = found;
  slot.watches = 1;  // before the first signal can be handled, and after what handlers read
  struct sigaction action{};
  action.sa_sigaction = handler_of(level);
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(signal, &action, nullptr) != 0) return false;
  slot.levels = level + 1;
  return true;
}

TRIREME_INLINE std::size_t SignalWatch::level_above(struct sigaction const& found, SignalSlot const& slot) {
  // A handler that is set in each fit needs one level.
  for (std::size_t level = 0; level < slot.levels; ++level)
    if (is_same(slot.replaced[level], found)) return level;
  // Beyond the last level the handler that this one has replaced drops out of the chain.
  return std::min(slot.levels, SignalSlot::most_levels - 1);
}

TRIREME_INLINE bool SignalWatch::is_same(struct sigaction const& a, struct sigaction const& b) {
  bool const with_information = (a.sa_flags & SA_SIGINFO) != 0;
  return a.sa_flags == b.sa_flags &&
         (with_information ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler) &&
         std::memcmp(&a.sa_mask, &b.sa_mask, sizeof(a.sa_mask)) == 0;
}

TRIREME_INLINE SignalWatch::Handler SignalWatch::handler_of(std::size_t level) {
  static constexpr auto handlers = []<std::size_t... Level>(std::index_sequence<Level...>) {
    return std::array<Handler, SignalSlot::most_levels>{&SignalWatch::handle<Level>...};
  }(std::make_index_sequence<SignalSlot::most_levels>{});
  return handlers[level];
}

TRIREME_INLINE std::optional<std::size_t> SignalWatch::level_of(struct sigaction const& action) {
  if ((action.sa_flags & SA_SIGINFO) != 0)
    for (std::size_t level = 0; level < SignalSlot::most_levels; ++level)
      if (action.sa_sigaction == handler_of(level)) return level;
  return std::nullopt;
}

template <std::size_t Level>
void SignalWatch::handle(int signal, siginfo_t* info, void* context) {
  handle_at(Level, signal, info, context);
}

TRIREME_INLINE void SignalWatch::handle_at(std::size_t level, int signal, siginfo_t* info, void* context) {
  // Bits of the levels that call others. Initial-exec: reading it allocates nothing, which a handler may not do.
  [[gnu::tls_model("initial-exec")]] static thread_local std::array<unsigned char, NSIG> within{};
  static_assert(SignalSlot::most_levels <= 8);
  auto const index = static_cast<std::size_t>(signal);
  SignalSlot& slot = signal_slots[index];
  bool const is_watched = slot.watches > 0;  // first, so that the rest is as it was when the watch began
  ++slot.count;
  // A handler set on top of ours a second time has forgotten the one found first, and calls ours without end. A level
  // called by what it calls stands for the one below.
  while ((within[index] >> level & 1) != 0)
    if (level-- == 0) return;
  struct sigaction const& found = slot.replaced[level];
  auto const bit = static_cast<unsigned char>(1 << level);
  within[index] |= bit;
  if ((found.sa_flags & SA_SIGINFO) != 0)
    found.sa_sigaction(signal, info, context);
  else if (found.sa_handler != SIG_DFL && found.sa_handler != SIG_IGN)
    found.sa_handler(signal);
  else if (found.sa_handler == SIG_DFL && !is_watched)
    act_by_default(signal);
  within[index] &= static_cast<unsigned char>(~bit);
}

TRIREME_INLINE void SignalWatch::act_by_default(int signal) {
  if (signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH) return;  // ignored
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
