/// Definitions of trireme/callbacks/hook_changes.hpp.
#pragma once

#include "trireme/callbacks/hook_changes.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme::detail {

/// The entries by their names: their order makes no difference to what is decided by them.
TRIREME_INLINE std::vector<Logs::Entry> by_name(Logs const& logs) {
  std::vector<Logs::Entry> entries(logs.begin(), logs.end());
  std::ranges::sort(entries, {}, &Logs::Entry::name);
  return entries;
}

TRIREME_INLINE void HookChanges::note_rate(std::uint64_t step, double rate) {
  std::uint64_t const numbers[]{rates_hash_, step, std::bit_cast<std::uint64_t>(rate)};
  rates_hash_ = data::hash_bytes(numbers, sizeof(numbers));
  ++rates_set_;
  last_rate_step_ = step;
}

TRIREME_INLINE void HookChanges::note_restore(std::uint64_t step, std::uint64_t snapshot_step,
                                              std::uint64_t snapshot_history, std::uint64_t history) {
  std::uint64_t const numbers[]{history, step, snapshot_step, snapshot_history};
  restores_hash_ = data::hash_bytes(numbers, sizeof(numbers));
  ++restores_;
  last_restored_step_ = snapshot_step;
}

TRIREME_INLINE void HookChanges::note_logs(Logs const& logs) {
  for (Logs::Entry const& entry : by_name(logs)) {
    logs_hash_ = data::hash_combine(logs_hash_, data::hash_bytes(entry.name.data(), entry.name.size()));
    logs_hash_ = data::hash_combine(logs_hash_, std::bit_cast<std::uint64_t>(entry.value.value()));
  }
}

TRIREME_INLINE void HookChanges::list(Config& c) const {
  c.add("the number of restored snapshots", formatted("{}", restores_));
  c.add("a snapshot restored, the last one of step", formatted("{}", last_restored_step_));
  c.add("the checksum of the moments and snapshots that hooks have restored", formatted("{:016x}", restores_hash_));
  c.add("the number of learning rates that hooks have set", formatted("{}", rates_set_));
  c.add("a learning rate that a hook has set, the last one at step", formatted("{}", last_rate_step_));
  c.add("the checksum of the steps and learning rates that hooks have set", formatted("{:016x}", rates_hash_));
}

TRIREME_INLINE void HookChanges::list_logs(Config& c, Logs const& logs) const {
  std::string names;
  for (Logs::Entry const& entry : by_name(logs)) names += (names.empty() ? "" : ", ") + entry.name;
  c.add("the logged values", names.empty() ? "none" : names);
  for (Logs::Entry const& entry : by_name(logs))
    c.add("the logged value of " + entry.name, formatted("{}", entry.value.value()));
  c.add("the checksum of the values logged in earlier epochs", formatted("{:016x}", logs_hash_));
}

}  // namespace trireme::detail
