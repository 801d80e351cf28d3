/// Logged values that are compared among the processes before callbacks decide by them.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "trireme/callbacks/callback.hpp"
#include "trireme/callbacks/hooks.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

struct BackupAndRestore;
struct CSVLogger;
struct History;
struct ProgressBar;
struct TensorBoard;
struct TerminateOnNaN;
template <FixedString>
struct EarlyStopping;
template <FixedString>
struct ModelCheckpoint;
template <FixedString>
struct ReduceLROnPlateau;
template <class>
struct LearningRateScheduler;

namespace detail {

template <class T, class... Others>
inline constexpr bool is_one_of = (... || std::is_same_v<T, Others>);

/// True of callbacks that may log values of one process alone. The library's log none, or what all processes have.
template <class Callback>
inline constexpr bool may_log_alone =
    !is_one_of<Callback, BackupAndRestore, CSVLogger, History, ProgressBar, TensorBoard, TerminateOnNaN>;
template <FixedString Monitor>
inline constexpr bool may_log_alone<EarlyStopping<Monitor>> = false;
template <FixedString Monitor>
inline constexpr bool may_log_alone<ModelCheckpoint<Monitor>> = false;
template <FixedString Monitor>
inline constexpr bool may_log_alone<ReduceLROnPlateau<Monitor>> = false;
template <class Schedule>
inline constexpr bool may_log_alone<LearningRateScheduler<Schedule>> = false;

/// True of callbacks that decide by a logged value, as they declare.
template <class Callback>
concept Monitors = requires { Callback::monitor; };

/// True if the callback may log values of one process alone in one of these hooks.
template <class Callback, class Run, class... Hooks>
inline constexpr bool may_log_in =
    may_log_alone<std::remove_const_t<Callback>> && (... || calls_hook<Hooks, Callback, Run>);

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

}  // namespace detail

}  // namespace trireme
