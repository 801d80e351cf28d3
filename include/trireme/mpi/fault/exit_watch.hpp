/// ExitWatch: exits of a process within its Environment that run no destructor: exit, quick_exit, _exit and _Exit.
///
/// The launcher takes exit code 0 for success, even while the other processes wait. exit and quick_exit call registered
/// handlers. _exit and _Exit call none, so with glibc this header replaces them: outside of an Environment, in a child
/// process and with a code other than 0 they do what the system's do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include <unistd.h>
#if defined(__GLIBC__) && defined(__linux__)
#include <sys/syscall.h>
#endif

#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

class ExitWatch {
 public:
  /// Starts the watch, for the process that calls this.
  static void begin() {
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

  /// The exit code of a process that ends with `code`. May be called by a signal handler: it takes no lock and
  /// allocates nothing.
  static int code_of(int code) noexcept {
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

 private:
  struct State {
    pid_t process = 0;
    bool registered = false;
    std::size_t length = 0;
    std::array<char, 384> text{};
  };
  static State& state() {
    static State value;
    return value;
  }

  /// Null unless this process is within its Environment and has not failed yet. A child process is not.
  static RankRegistry const* running_board() {
    RankRegistry const* const board = RankRegistry::current();
    if (board == nullptr || state().process != ::getpid()) return nullptr;
    return board->own().state.load(std::memory_order_relaxed) == StatusRecord::State::running ? board : nullptr;
  }

  /// Exit handler. Does nothing if MPI is finalized.
  static void at_exit() {
    RankRegistry const* const board = running_board();
    if (board == nullptr || mpi_is_finalized()) return;
    StatusRecord const& own = board->own();
    end_without_mpi(formatted("trireme: {} has called exit within its Environment{}, {}{}", who(own), position(own),
                              place(own), last_checkpoint(own)));
  }
};

}  // namespace trireme::detail

#if defined(__GLIBC__) && defined(__linux__)
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
[[gnu::used]] inline void _exit(int code) {
  ::syscall(SYS_exit_group, trireme::detail::ExitWatch::code_of(code));
  __builtin_unreachable();
}
[[gnu::used]] inline void _Exit(int code) noexcept {
  ::syscall(SYS_exit_group, trireme::detail::ExitWatch::code_of(code));
  __builtin_unreachable();
}
}
// NOLINTEND(bugprone-reserved-identifier)
#endif
