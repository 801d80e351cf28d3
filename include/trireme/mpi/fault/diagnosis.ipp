/// Definitions of trireme/mpi/fault/diagnosis.hpp.
#pragma once

#include "trireme/mpi/fault/diagnosis.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

TRIREME_INLINE ProcessState process_state(std::int64_t process) {
  if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) return ProcessState::gone;
  // "number (name) letter ..."; the name may hold anything.
  std::FILE* const file = std::fopen(formatted("/proc/{}/stat", process).c_str(), "re");
  if (file == nullptr) return ProcessState::runs;
  std::array<char, 256> text{};
  std::size_t const n = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  std::string_view const all(text.data(), n);
  std::size_t const name_end = all.rfind(')');
  char const letter = name_end != all.npos && name_end + 2 < n ? all[name_end + 2] : 'R';
  if (letter == 'Z' || letter == 'X') return ProcessState::gone;
  return letter == 'T' || letter == 't' ? ProcessState::stopped : ProcessState::runs;
}

TRIREME_INLINE std::string who(StatusRecord const& record) {
  return formatted("rank {} (process {} on {})", record.rank, record.process, record.host.data());
}

TRIREME_INLINE std::string position(StatusRecord const& record) {
  std::uint64_t const epoch = record.epoch.load(std::memory_order_relaxed);
  if (epoch == 0) return {};
  return formatted(", in epoch {} after step {}", epoch, record.step.load(std::memory_order_relaxed) - 1);
}

TRIREME_INLINE std::string place(StatusRecord const& record) {
  std::string const call = record.call_name();
  if (record.waiting.load(std::memory_order_relaxed) != 0) return "in " + call;
  return call.empty() ? "outside of the library's calls" : "outside of the library's calls since its " + call;
}

TRIREME_INLINE std::string last_checkpoint(StatusRecord const& record) {
  std::string const path = record.checkpoint();
  return path.empty() ? "; no checkpoint was written" : "; the last good checkpoint is " + path;
}

TRIREME_INLINE std::string diagnose_gone(RankRegistry const& board, StatusRecord const& gone) {
  return formatted("trireme: {} is gone: it was killed, or ended without leaving its Environment{}, {}{}", who(gone),
                   position(gone), place(gone), last_checkpoint(board.own()));
}

TRIREME_INLINE StatusRecord const& first_missed(RankRegistry const& board, StatusRecord const& seen) {
  StatusRecord const* reporter = &board.own();
  for (StatusRecord* const other : board.others())
    if (other->missed.load(std::memory_order_acquire) != 0 && other->missed_at.load() < reporter->missed_at.load())
      reporter = other;
  std::uint32_t const missed = reporter->missed.load(std::memory_order_relaxed) - 1;
  for (StatusRecord* const other : board.others())
    if (other->rank == missed) return *other;
  return seen;  // NOLINT(bugprone-return-const-ref-from-parameter): a record of the board
}

TRIREME_INLINE std::string report_gone(RankRegistry const& board, StatusRecord const& gone) {
  status().missed_at.store(steady_clock_now(), std::memory_order_relaxed);
  status().missed.store(gone.rank + 1, std::memory_order_release);
  return diagnose_gone(board, first_missed(board, gone));
}

TRIREME_INLINE std::string diagnose_wait(RankRegistry const& board, std::string_view call, double waited) {
  StatusRecord const& own = board.own();
  using State = StatusRecord::State;
  // Of several culprits the worst is named, and of those with the same fault the one that has been silent longest.
  enum Fault { none, waits_elsewhere, has_ended, is_outside, is_stopped, is_gone };
  StatusRecord const* culprit = nullptr;
  Fault worst = none;
  for (StatusRecord* const other : board.others()) {
    ProcessState const process = process_state(other->process);
    Fault fault = none;
    if (other->state.load(std::memory_order_relaxed) == State::ended)
      fault = has_ended;
    else if (process == ProcessState::gone)
      fault = is_gone;
    else if (process == ProcessState::stopped)
      fault = is_stopped;
    else if (other->waiting.load(std::memory_order_relaxed) == 0)
      fault = is_outside;
    else if (other->call_name() != call)
      fault = waits_elsewhere;
    bool const older = culprit != nullptr && other->since.load() < culprit->since.load();
    if (fault > worst || (fault == worst && fault != none && older)) {
      worst = fault;
      culprit = other;
    }
  }
  std::string const waits = formatted("rank {} has waited in {} for {:.1f} s{}", own.rank, call, waited, position(own));
  auto const message = [&](std::string const& cause) {
    return formatted("trireme: {}{}", cause, last_checkpoint(own));
  };
  if (culprit == nullptr) {
    std::size_t const known = board.others().size() + 1;
    if (own.ranks == 1) return message(waits);
    if (!board.is_shared()) return message(formatted("{}, and without status records the cause is unknown", waits));
    if (known == own.ranks)
      return message(formatted("{}, and so has every other rank, in a call of the same name", waits));
    return message(formatted("{}, and the cause lies on another node: the other {} ranks of this one wait as well",
                             waits, known - 1));
  }
  double const silent = seconds_since(culprit->since.load());
  switch (worst) {
    case is_gone:
      return message(
          formatted("{} is gone{}, {}, while {}", who(*culprit), position(*culprit), place(*culprit), waits));
    case is_stopped:
      return message(
          formatted("{} is stopped{}, {}, while {}", who(*culprit), position(*culprit), place(*culprit), waits));
    case has_ended:
      return message(formatted("{} has already ended{}, while {}: they do not call the same collectives", who(*culprit),
                               position(*culprit), waits));
    case is_outside:
      return message(formatted("{} is stuck{}, {}, for {:.1f} s, while {}", who(*culprit), position(*culprit),
                               place(*culprit), silent, waits));
    default:
      return message(formatted("{} waits {}{}, for {:.1f} s, while {}: they do not call the same collectives",
                               who(*culprit), place(*culprit), position(*culprit), silent, waits));
  }
}

}  // namespace trireme::detail
