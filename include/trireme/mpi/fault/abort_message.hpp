/// Abort message: the last line of a process that aborts all others, written so that the launcher still forwards it.
#pragma once

#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

// Not <sys/ioctl.h>, whose macros for terminals break the headers of other libraries.
#if defined(__GLIBC__)
#include <asm/ioctls.h>
extern "C" int ioctl(int, unsigned long, ...) noexcept;
#endif

namespace trireme::detail {

/// Output for messages about this process's run.
inline std::FILE*& messages() {
  static std::FILE* file = stderr;
  return file;
}

/// Scope of an Environment's choice of `messages`.
class MessageScope {
 public:
  explicit MessageScope(std::FILE* file) : outer_(messages()) { messages() = file; }
  ~MessageScope() { messages() = outer_; }
  MessageScope(MessageScope const&) = delete;
  MessageScope& operator=(MessageScope const&) = delete;

 private:
  std::FILE* outer_;
};

/// Flushes stdout, and then writes the line to `messages`.
inline void report(std::string const& line) {
  std::cout.flush();
  std::fflush(stdout);
  if (messages() != nullptr) std::fprintf(messages(), "%s\n", line.c_str());
  std::fflush(nullptr);
}

/// Writes a line without a lock and without memory of its own, where a thread or a signal handler ends the process.
inline void report_at_once(std::string_view line) noexcept {
  if (messages() == nullptr) return;
  int const file = ::fileno(messages());
  [[maybe_unused]] ssize_t written = ::write(file, line.data(), line.size());
  written = ::write(file, "\n", 1);
}

/// True if the launcher has not read all that was written to this pipe; false for a file or a terminal, and where the
/// system does not report it.
inline bool has_unread([[maybe_unused]] int pipe) {
#if defined(__GLIBC__)
  struct stat kind {};
  int bytes = 0;
  return fstat(pipe, &kind) == 0 && S_ISFIFO(kind.st_mode) && ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0;
#else
  return false;
#endif
}

/// Waits until the launcher has emptied this process's pipes, ten seconds at most, and half a second more for it to
/// forward what it read. MPICH's launcher drops what it has not forwarded when a process aborts: without this wait one
/// message in five was lost.
inline void let_launcher_read() {
  using namespace std::chrono_literals;
  auto const deadline = std::chrono::steady_clock::now() + 10s;
  while ((has_unread(STDOUT_FILENO) || has_unread(STDERR_FILENO)) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(500ms);
}

/// The processes that end together: those of the largest living Environment.
inline MPI_Comm& run_communicator() {
  static MPI_Comm communicator = MPI_COMM_WORLD;
  return communicator;
}

/// Ends all processes of `run_communicator` with exit code 1, after the launcher has read the abort message.
[[noreturn]] inline void abort_all() {
  let_launcher_read();
  MPI_Abort(run_communicator(), 1);
  std::_Exit(1);
}

}  // namespace trireme::detail
