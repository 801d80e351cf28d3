/// The Callback concept: at least one hook, and each of its hooks callable with the run.
///
/// There is no base class. An absent hook costs no instruction; a hook with a wrong signature does not compile.
///
/// A callback that monitors a value declares it with `static constexpr std::string_view monitor`; one that adds values
/// to the logs, with `static constexpr std::array<std::string_view, N> logs`. With `using logs_alike = void` it says
/// that it logs nothing, or the same on all processes: then nothing is compared before callbacks that monitor. One
/// whose results depend on its past has `template <class Archive> void state(Archive& archive)`, which names each such
/// member once: `archive("wait", wait)`. A resumed run restores these members, on each process its own (Archive lists
/// the kinds of values). One that writes files lists them in `std::vector<OutputFile> output_files(Run const& run)
/// const`, and `fit` tries them before training.
#pragma once

#include <type_traits>
#include <utility>

#include "trireme/callbacks/control.hpp"
#include "trireme/callbacks/hooks.hpp"
#include "trireme/core/declares_member.hpp"

namespace trireme {

namespace detail {

template <class Hook, class Callback, class Run>
concept HookCallable = requires(Callback& callback, Run& run) { Hook::call(callback, run); };

template <class Hook, class Callback, class Run>
using HookResult = decltype(Hook::call(std::declval<Callback&>(), std::declval<Run&>()));

template <class Result>
inline constexpr bool is_hook_result =
    std::is_void_v<Result> || std::is_same_v<Result, Control> || std::is_same_v<Result, Uniform<Control>>;

}  // namespace detail

/// True if Callback has a member of the hook's name. For a final class this cannot be determined.
template <class Hook, class Callback>
inline constexpr bool declares_hook = detail::declares_member<Hook, Callback, false>;

namespace detail {

/// False if Callback has no member of the hook's name, which takes no look at the Run: most have few of the hooks.
template <class Hook, class Callback>
concept MayHaveHook = !std::is_class_v<Callback> || declares_member<Hook, Callback, true>;

template <class Hook, class Callback, class Run>
consteval bool calls_declared_hook() {
  if constexpr (!HookCallable<Hook, Callback, Run>) {
    Hook::template require_signature<!declares_hook<Hook, Callback>>();
    return false;
  } else {
    using Result = HookResult<Hook, Callback, Run>;
    if constexpr (std::is_same_v<Result, NoHook>) return false;
    Hook::template require_signature<std::is_same_v<Result, NoHook> || is_hook_result<Result>>();
    return is_hook_result<Result>;
  }
}

}  // namespace detail

/// True if Callback has the hook and it can be called; a declared hook that cannot be called does not compile.
template <class Hook, class Callback, class Run>
inline constexpr bool calls_hook = false;
template <class Hook, class Callback, class Run>
  requires detail::MayHaveHook<Hook, Callback>
inline constexpr bool calls_hook<Hook, Callback, Run> = detail::calls_declared_hook<Hook, Callback, Run>();

namespace detail {

template <class Hook, class Callback, class Run>
consteval bool has_declared_hook() {
  if constexpr (HookCallable<Hook, Callback, Run>) {
    return !std::is_same_v<HookResult<Hook, Callback, Run>, NoHook>;
  } else {
    return declares_hook<Hook, Callback>;
  }
}
/// True if there is a hook to call, or one that was meant to be called.
template <class Hook, class Callback, class Run>
concept HasHook = MayHaveHook<Hook, Callback> && has_declared_hook<Hook, Callback, Run>();

/// True if only the callback's const keeps the hook from being called.
template <class Hook, class Callback, class Run>
consteval bool is_hook_of_a_variable() {
  if constexpr (declares_hook<Hook, Callback>)
    return !HookCallable<Hook, Callback, Run> && HookCallable<Hook, std::remove_const_t<Callback>, Run>;
  else
    return false;
}

template <class Callback, class Run, class... Hooks>
consteval bool must_be_variable(HookList<Hooks...>) {
  if constexpr (std::is_const_v<Callback>)
    return (... || is_hook_of_a_variable<Hooks, Callback, Run>());
  else
    return false;
}

template <class Callback, class Run, class... Hooks>
consteval bool has_any_hook(HookList<Hooks...>) {
  return (... || HasHook<Hooks, Callback, Run>);
}

}  // namespace detail

/// Compile-time check that Callback has at least one hook, and is not const if a hook changes it; `fit` calls it for
/// each of its callbacks.
template <class Callback, class Run>
consteval bool require_callback() {
  static_assert(
      !detail::must_be_variable<std::remove_reference_t<Callback>, Run>(hooks::All{}),
      "trireme: a callback whose hooks change it must not be const: fit works on the callback itself, not on a "
      "copy");
  static_assert(detail::has_any_hook<std::remove_reference_t<Callback>, Run>(hooks::All{}),
                "trireme: a callback needs at least one hook, such as on_epoch_end(run)");
  return true;
}

/// True if the hook returns the request of one process, on which all have to agree.
template <class Hook, class Callback, class Run>
inline constexpr bool hook_needs_vote = false;
template <class Hook, class Callback, class Run>
  requires calls_hook<Hook, Callback, Run>
inline constexpr bool hook_needs_vote<Hook, Callback, Run> =
    std::is_same_v<detail::HookResult<Hook, Callback, Run>, Control>;

}  // namespace trireme
