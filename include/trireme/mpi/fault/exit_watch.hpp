/// Ends of a process within its Environment that no destructor sees: exit, quick_exit, _exit and _Exit.
///
/// The launcher takes exit code 0 for success, whatever the other processes make of it. exit and quick_exit call what
/// was registered with them. _exit and _Exit call nothing, so with glibc this header takes their place: outside of an
/// Environment, in a child process and with another code than 0 they do what the system's do.
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
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/last_words.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/fault/status_board.hpp"
#include "trireme/mpi/fault/status_record.hpp"
#include "trireme/mpi/fault/waiting.hpp"

namespace trireme::detail {

class ExitWatch {
 public:
  /// From now on, for the process that calls this.
  static void begin() {
    state().process = ::getpid();
    std::string const text = formatted("trireme: {} has ended without leaving its Environment, by _exit or _Exit",
                                       who(StatusBoard::current()->own()));
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
    StatusBoard const* const board = running_board();
    if (code != 0 || board == nullptr) return code;
    std::string_view const text(state().text.data(), state().length);
    if (board->claim(text)) {
      [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
      written = ::write(STDERR_FILENO, "\n", 1);
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
  static StatusBoard const* running_board() {
    StatusBoard const* const board = StatusBoard::current();
    if (board == nullptr || state().process != ::getpid()) return nullptr;
    return board->own().state.load(std::memory_order_relaxed) == StatusRecord::State::running ? board : nullptr;
  }

  /// The end may be MPI's own.
  static void at_exit() {
    StatusBoard const* const board = running_board();
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
