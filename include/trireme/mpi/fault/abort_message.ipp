/// Definitions of trireme/mpi/fault/abort_message.hpp.
#pragma once

#include "trireme/mpi/fault/abort_message.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <mpi.h>

#include "trireme/core/linkage.hpp"

// Not <sys/ioctl.h>, whose macros for terminals break the headers of other libraries.
#if defined(__GLIBC__)
#include <asm/ioctls.h>
extern "C" int ioctl(int, unsigned long, ...) noexcept;
#endif

namespace trireme::detail {

TRIREME_INLINE void report(std::string const& line) {
  std::cout.flush();
  std::fflush(stdout);
  if (messages() != nullptr) std::fprintf(messages(), "%s\n", line.c_str());
  std::fflush(nullptr);
}

TRIREME_INLINE void report_at_once(std::string_view line) noexcept {
  if (messages() == nullptr) return;
  // One call, so that no line of another rank comes between the text and its end.
  std::array<iovec, 2> parts{iovec{const_cast<char*>(line.data()), line.size()}, iovec{const_cast<char*>("\n"), 1}};
  [[maybe_unused]] ssize_t const written = ::writev(::fileno(messages()), parts.data(), static_cast<int>(parts.size()));
}

TRIREME_INLINE bool has_unread([[maybe_unused]] int pipe) {
#if defined(__GLIBC__)
  struct stat kind{};
  int bytes = 0;
  return fstat(pipe, &kind) == 0 && S_ISFIFO(kind.st_mode) && ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0;
#else
  return false;
#endif
}

TRIREME_INLINE void let_launcher_read() {
  using namespace std::chrono_literals;
  auto const deadline = std::chrono::steady_clock::now() + 10s;
  while ((has_unread(STDOUT_FILENO) || has_unread(STDERR_FILENO)) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(500ms);
}

TRIREME_INLINE MPI_Comm& run_communicator() {
  static MPI_Comm communicator = MPI_COMM_WORLD;
  return communicator;
}

TRIREME_INLINE void abort_all() {
  let_launcher_read();
  MPI_Abort(run_communicator(), 1);
  std::_Exit(1);
}

}  // namespace trireme::detail
