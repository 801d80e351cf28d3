/// Abort message: the last line of a process that aborts all others, written so that the launcher still forwards it.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>

#include "trireme/mpi/fault/messages.hpp"

namespace trireme::detail {

/// Flushes stdout, and then writes the line to `messages`.
void report(std::string const& line);

/// Writes a line without a lock and without memory of its own, where a thread or a signal handler ends the process.
void report_at_once(std::string_view line) noexcept;

/// True if the launcher has not read all that was written to this pipe; false for a file or a terminal, and where the
/// system does not report it.
bool has_unread([[maybe_unused]] int pipe);

/// Waits until the launcher has emptied this process's pipes, ten seconds at most, and half a second more for it to
/// forward what it read. MPICH's launcher drops what it has not forwarded when a process aborts: without this wait one
/// message in five was lost.
void let_launcher_read();

/// The processes that end together: those of the largest living Environment.
MPI_Comm& run_communicator();

/// Ends all processes of `run_communicator` with exit code 1, after the launcher has read the abort message.
[[noreturn]] void abort_all();

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/abort_message.ipp"
#endif
