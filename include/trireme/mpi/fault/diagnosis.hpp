/// Diagnosis of a run that hangs or has lost a process, from the status records of a node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

enum class ProcessState { runs, stopped, gone };

/// The state of a process of this machine.
ProcessState process_state(std::int64_t process);

std::string who(StatusRecord const& record);

/// ", in epoch 3 after step 41", both as far as they are known; counted as in the progress bar.
std::string position(StatusRecord const& record);

/// "in MPI_Ibcast", or its last call if it is not in one.
std::string place(StatusRecord const& record);

std::string last_checkpoint(StatusRecord const& record);

inline double seconds_since(std::int64_t moment) { return static_cast<double>(steady_clock_now() - moment) * 1e-9; }

/// The sentence about another process that is gone.
std::string diagnose_gone(RankRegistry const& board, StatusRecord const& gone);

/// The process that was seen to be gone first; the launcher kills the others one by one once it detects the first.
StatusRecord const& first_missed(RankRegistry const& board, StatusRecord const& seen);

/// Records at once in this process's status record that another process is gone, since the launcher may be about to
/// kill this one too. \return the sentence about the process that was gone first
std::string report_gone(RankRegistry const& board, StatusRecord const& gone);

/// The sentence of a process whose call has waited for `waited` seconds.
std::string diagnose_wait(RankRegistry const& board, std::string_view call, double waited);

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/diagnosis.ipp"
#endif
