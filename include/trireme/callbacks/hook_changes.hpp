/// HookChanges: what hooks have changed in a run, for its comparison among the processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/core/config.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme::detail {

/// The learning rates, weights and logged values that hooks have set on this process.
class HookChanges {
 public:
  /// Notes that a hook has set the learning rate after so many steps.
  void note_rate(std::uint64_t step, double rate);

  /// Notes that a hook has restored a snapshot of a moment after so many steps; `history` is that before it.
  void note_restore(std::uint64_t step, std::uint64_t snapshot_step, std::uint64_t snapshot_history,
                    std::uint64_t history);

  /// Notes the values of an epoch that makes room for the next one.
  void note_logs(Logs const& logs);

  /// Lists changes of weights and learning rates.
  void list(Config& c) const;
  /// Lists the values that are logged now, and a checksum of earlier ones.
  void list_logs(Config& c, Logs const& logs) const;

  /// Number of restored snapshots.
  std::size_t restores() const { return restores_; }
  /// Hash of the snapshots that hooks have restored, and of the steps.
  std::uint64_t restores_hash() const { return restores_hash_; }

 private:
  std::size_t restores_ = 0, rates_set_ = 0;
  std::uint64_t last_rate_step_ = 0;
  std::uint64_t last_restored_step_ = 0;  ///< at which the snapshot that was restored last was made
  std::uint64_t restores_hash_ = 0;
  std::uint64_t rates_hash_ = 0;  ///< of the learning rates, and of their steps
  std::uint64_t logs_hash_ = 0;   ///< of the values of earlier epochs
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/hook_changes.ipp"
#endif
