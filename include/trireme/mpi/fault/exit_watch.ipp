/// Definitions of trireme/mpi/fault/exit_watch.hpp.
#pragma once

#include "trireme/mpi/fault/exit_watch.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include <unistd.h>
#if defined(__GLIBC__) && defined(__linux__)
#include <sys/syscall.h>
#endif

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

TRIREME_INLINE void ExitWatch::begin() {
  state().process = ::getpid();
  std::string const text = formatted("trireme: {} has ended without leaving its Environment, by _exit or _Exit",
                                     who(RankRegistry::current()->own()));
  state().length = std::min(text.size(), state().text.size());
  std::copy_n(text.begin(), state().length, state().text.begin());
  if (state().registered) return;
  state().registered = true;
  std::atexit(&at_exit);
#if defined(__GLIBC__)
  std::at_quick_exit(&at_exit);
#endif
}

TRIREME_INLINE int ExitWatch::code_of(int code) noexcept {
  RankRegistry const* const board = running_board();
  if (code != 0 || board == nullptr) return code;
  std::string_view const text(state().text.data(), state().length);
  if (board->claim(text)) {
    report_at_once(text);
    status().state.store(StatusRecord::State::failed, std::memory_order_release);
    let_launcher_read();
  }
  return 1;
}

TRIREME_INLINE ExitWatch::State& ExitWatch::state() {
  static State value;
  return value;
}

TRIREME_INLINE RankRegistry const* ExitWatch::running_board() {
  RankRegistry const* const board = RankRegistry::current();
  if (board == nullptr || state().process != ::getpid()) return nullptr;
  return board->own().state.load(std::memory_order_relaxed) == StatusRecord::State::running ? board : nullptr;
}

TRIREME_INLINE void ExitWatch::at_exit() {
  RankRegistry const* const board = running_board();
  if (board == nullptr || mpi_is_finalized()) return;
  StatusRecord const& own = board->own();
  end_without_mpi(formatted("trireme: {} has called exit within its Environment{}, {}{}", who(own), position(own),
                            place(own), last_checkpoint(own)));
}

}  // namespace trireme::detail

#if defined(__GLIBC__) && defined(__linux__)
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
[[gnu::used]] TRIREME_INLINE void _exit(int code) {
  ::syscall(SYS_exit_group, trireme::detail::ExitWatch::code_of(code));
  __builtin_unreachable();
}
[[gnu::used]] TRIREME_INLINE void _Exit(int code) noexcept {
  ::syscall(SYS_exit_group, trireme::detail::ExitWatch::code_of(code));
  __builtin_unreachable();
}
}
// NOLINTEND(bugprone-reserved-identifier)
#endif
