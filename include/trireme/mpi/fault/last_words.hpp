/// The last line of a process that has all others aborted, written so that the launcher still passes it on.
#pragma once

#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

// Not <sys/ioctl.h>, whose macros for terminals break the headers of other libraries.
#if defined(__GLIBC__)
#include <asm/ioctls.h>
extern "C" int ioctl(int, unsigned long, ...) noexcept;
#endif

namespace trireme::detail {

/// Writes what is buffered, and then the line to stderr.
inline void report(std::string const& line) {
  std::cout.flush();
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(nullptr);
}

/// Whether the launcher still has to read what was written to this pipe; false for a file or a terminal, and where the
/// system does not tell.
inline bool has_unread([[maybe_unused]] int pipe) {
#if defined(__GLIBC__)
  struct stat kind {};
  int bytes = 0;
  return fstat(pipe, &kind) == 0 && S_ISFIFO(kind.st_mode) && ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0;
#else
  return false;
#endif
}

/// MPICH's launcher drops what it has not passed on when a process aborts: one message in five was lost. So this waits
/// until it has emptied our pipes, ten seconds at most, and gives it half a second to pass on what it read.
inline void let_launcher_read() {
  using namespace std::chrono_literals;
  auto const deadline = std::chrono::steady_clock::now() + 10s;
  while ((has_unread(STDOUT_FILENO) || has_unread(STDERR_FILENO)) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(500ms);
}

/// Ends all processes of MPI_COMM_WORLD with exit code 1, after the launcher has read the last words.
[[noreturn]] inline void abort_all() {
  let_launcher_read();
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

}  // namespace trireme::detail
