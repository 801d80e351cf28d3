/// Logged values that are compared among the processes before callbacks decide by them.
#pragma once

#include <array>
#include <cstddef>

#include "trireme/callbacks/callback.hpp"
#include "trireme/callbacks/hooks.hpp"

namespace trireme::detail {

/// True of callbacks that decide by a logged value, as they declare.
template <class Callback>
concept Monitors = requires { Callback::monitor; };

/// True of callbacks that declare to log nothing, or what all processes have.
template <class Callback>
concept LogsAlike = requires { typename Callback::logs_alike; };

/// True if the callback may log values of one process alone in one of these hooks.
template <class Callback, class Run, class... Hooks>
inline constexpr bool may_log_in = !LogsAlike<Callback> && (... || calls_hook<Hooks, Callback, Run>);

/// True if the callback of number I decides in on_epoch_end by values of which some may have been logged since they
/// were compared last: by callbacks before it in the same hook, or in a test.
template <std::size_t I, class Run, class... Callbacks>
consteval bool decides_by_new_logs() {
  constexpr std::array monitors{Monitors<Callbacks>...};
  constexpr std::array at_end{may_log_in<Callbacks, Run, hooks::EpochEnd>...};
  bool logged =
      (... || may_log_in<Callbacks, Run, hooks::TestBegin, hooks::TestBatchBegin, hooks::TestBatchEnd, hooks::TestEnd>);
  for (std::size_t j = 0; j < I; ++j) logged = (logged && !monitors[j]) || at_end[j];
  return monitors[I] && logged;
}

}  // namespace trireme::detail
