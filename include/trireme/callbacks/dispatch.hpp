/// Dispatch: calls one hook of all callbacks.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/callbacks/callback.hpp"
#include "trireme/callbacks/control.hpp"

namespace trireme {

/// Requests to stop that the callbacks returned from one hook.
template <bool NeedsVote>
struct StopRequests {
  /// True if some callback may request to stop on this process alone, so that `local_request` has to be agreed on.
  static constexpr bool needs_vote = NeedsVote;

  bool local_request = false;    ///< some callback of this process requests to stop
  bool uniform_request = false;  ///< some callback decided to stop, the same on every process
};

/// True if the hook's results have to be agreed on: the same for every process, since it follows from the types.
template <class Hook, class Run, class... Callbacks>
inline constexpr bool needs_vote = (... || hook_needs_vote<Hook, std::remove_reference_t<Callbacks>, Run>);

/// True if some callback may save or resume the run; otherwise no code for it is compiled.
template <class Run, class... Callbacks>
inline constexpr bool saves_run = (... || (calls_hook<hooks::SavePoint, std::remove_reference_t<Callbacks>, Run> ||
                                           calls_hook<hooks::TrainResume, std::remove_reference_t<Callbacks>, Run>));

namespace detail {

template <class Hook, class Callback, class Run, class Answer>
void notify_one(Callback& callback, Run& run, Answer& answer) {
  if constexpr (calls_hook<Hook, Callback, Run>) {
    using Result = HookResult<Hook, Callback, Run>;
    if constexpr (std::is_void_v<Result>) {
      Hook::call(callback, run);
    } else if constexpr (std::is_same_v<Result, Control>) {
      if (Hook::call(callback, run) == Control::stop) answer.local_request = true;
    } else {
      if (Hook::call(callback, run).value() == Control::stop) answer.uniform_request = true;
    }
  }
}

/// Nothing to do before a callback's turn.
struct NothingBefore {
  template <std::size_t>
  void turn_of() const {}
};

template <class Hook, class Run, class Answer, class Before, class... Callbacks, std::size_t... I>
void notify_each(std::tuple<Callbacks...>& callbacks, Run& run, Answer& answer, Before const& before,
                 std::index_sequence<I...>) {
  ((before.template turn_of<I>(), notify_one<Hook>(std::get<I>(callbacks), run, answer)), ...);
}

/// Calls the hook of each callback as `notify` does, and `before.turn_of<I>()` before that of number I.
template <class Hook, class Run, class Before, class... Callbacks>
auto notify_in_turn(std::tuple<Callbacks...>& callbacks, Run& run, Before const& before) {
  StopRequests<needs_vote<Hook, Run, Callbacks...>> requests;
  if constexpr ((calls_hook<Hook, std::remove_reference_t<Callbacks>, Run> || ...))
    notify_each<Hook>(callbacks, run, requests, before, std::index_sequence_for<Callbacks...>{});
  return requests;
}

}  // namespace detail

/// Calls the hook of each callback that has it, in the user's order; a request to stop skips none of them.
template <class Hook, class Run, class... Callbacks>
auto notify(std::tuple<Callbacks...>& callbacks, Run& run) {
  return detail::notify_in_turn<Hook>(callbacks, run, detail::NothingBefore{});
}

}  // namespace trireme
