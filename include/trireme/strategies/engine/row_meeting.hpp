/// Where the lanes of one process meet to add up rows: first those of a replica or of the process, in order, then, for
/// the whole batch, the processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "trireme/backend/execution/plan.hpp"
#include "trireme/backend/execution/row_scope.hpp"
#include "trireme/backend/threads/thread_meeting.hpp"
#include "trireme/strategies/engine/process_sum.hpp"

namespace trireme {

class RowMeeting {
 public:
  explicit RowMeeting(LanePlan const& plan) : plan_(plan), given_(plan.lanes) {}

  /// Before the lanes of a step start. \param processes null: no others.
  void begin(ProcessSum const* processes) {
    processes_ = processes && processes->is_needed() ? processes : nullptr;
    main_ = std::this_thread::get_id();
  }

  /// All lanes call this at once, each on its own thread.
  void sum(std::size_t lane, ThreadMeeting& barrier, std::span<double> values, RowScope scope) {
    std::size_t const per_replica = plan_.lanes / plan_.replicas;
    bool const global = scope == RowScope::global;
    if (global ? plan_.lanes == 1 && !processes_ : per_replica == 1) return;
    given_[lane] = values.data();
    barrier();
    thread_local std::vector<double> own;
    if (global) {
      // Only the main thread may call MPI; without processes any one will do.
      if (processes_ ? std::this_thread::get_id() == main_ : lane == 0) {
        if (processes_)
          processes_->sum_lanes(given_, values.size(), total_);
        else
          add({0, plan_.lanes}, values.size(), total_);
      }
    } else {
      std::size_t const first = lane / per_replica * per_replica;
      add({first, first + per_replica}, values.size(), own);
    }
    barrier();
    std::copy_n((global ? total_ : own).begin(), values.size(), values.begin());
  }

  /// The same where one lane at a time is run by the whole space.
  void sum(std::span<double> values, RowScope scope) const {
    if (scope == RowScope::global && processes_) processes_->sum(values);
  }

 private:
  /// Lane after lane, in order.
  void add(RowRange const& lanes, std::size_t count, std::vector<double>& sums) const {
    sums.assign(count, 0.0);
    for (std::size_t lane = lanes.begin; lane < lanes.end; ++lane)
      for (std::size_t i = 0; i < count; ++i) sums[i] += given_[lane][i];
  }

  LanePlan plan_;
  std::vector<double const*> given_;
  std::vector<double> total_;
  ProcessSum const* processes_ = nullptr;
  std::thread::id main_;
};

/// A lane's way to the meeting, under the plan by rows.
class LaneExchange final : public RowExchange {
 public:
  LaneExchange(RowMeeting& meeting, std::size_t lane, ThreadMeeting& barrier)
      : meeting_(meeting), lane_(lane), barrier_(barrier) {}
  void sum(double* values, std::size_t count, RowScope scope) override {
    meeting_.sum(lane_, barrier_, {values, count}, scope);
  }

 private:
  RowMeeting& meeting_;
  std::size_t lane_;
  ThreadMeeting& barrier_;
};

/// The same under the plan by products.
class SpaceExchange final : public RowExchange {
 public:
  explicit SpaceExchange(RowMeeting const& meeting) : meeting_(meeting) {}
  void sum(double* values, std::size_t count, RowScope scope) override { meeting_.sum({values, count}, scope); }

 private:
  RowMeeting const& meeting_;
};

}  // namespace trireme
