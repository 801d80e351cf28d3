/// A parameter server while the workers go their own pace: it answers their calls.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"
#include "trireme/strategies/parameter_server/staleness_scheduler.hpp"

namespace trireme {

/// `Shard`: the server's range of the weights (ParameterShard). The first server schedules batches.
template <class Shard>
class ServerLoop {
  using Kind = ServerCall::Kind;

 public:
  /// Loop of a server, under this bound of staleness.
  explicit ServerLoop(std::size_t staleness) : scheduler_(staleness) {}

  /// Answers so many workers until all have left. Calls that cannot be answered yet are deferred.
  void run(Communicator const& group, std::size_t workers, Shard& shard) {
    scheduler_.start_epoch(shard.updater().iteration());
    std::size_t left = 0;
    while (left < workers || !waiting_.empty()) {
      std::size_t const worker = group.await(server_tags::call);
      ServerCall call;
      group.receive(std::span(&call, 1), worker, server_tags::call);
      if (call.kind == Kind::leave)
        ++left;
      else
        waiting_.push_back({worker, call});
      for (auto waiting = waiting_.begin(); waiting != waiting_.end();)
        waiting = answer(group, shard, *waiting) ? (waiting_.erase(waiting), waiting_.begin()) : waiting + 1;
    }
  }

 private:
  struct DeadlineWait {
    std::size_t worker;
    ServerCall call;
  };

  /// Answers a call; false if it is too early.
  bool answer(Communicator const& group, Shard& shard, DeadlineWait const& waiting) {
    auto const& [worker, call] = waiting;
    switch (call.kind) {
      case Kind::acquire: {
        if (!scheduler_.can_acquire()) return false;
        auto const acquired = scheduler_.acquire(worker, call.number);
        send_answer(
            group, worker,
            acquired ? AcquireAnswer{1, acquired->batch, acquired->version, acquired->number} : AcquireAnswer{});
        return true;
      }
      case Kind::release:
        scheduler_.release(worker);
        return true;
      case Kind::update:
        if (!scheduler_.can_update(worker)) return false;
        send_answer(group, worker, scheduler_.update(worker));
        return true;
      case Kind::close:
        scheduler_.close();
        return true;
      case Kind::pull:
        if (shard.updater().iteration() < call.number) return false;
        group.send(shard.message_weights(), worker, server_tags::weights);
        return true;
      case Kind::push:
        if (shard.updater().iteration() != call.number) return false;
        shard.receive(group, worker, false);
        shard.update(shard.gradients(), call.rows);
        return true;
      case Kind::fetch:
        shard.send_state(group, worker);
        return true;
      case Kind::leave:
        break;
    }
    return true;
  }

  template <class Answer>
  static void send_answer(Communicator const& group, std::size_t worker, Answer const& answer) {
    group.send(std::span(&answer, 1), worker, server_tags::answer);
  }

  StalenessScheduler scheduler_;
  std::vector<DeadlineWait> waiting_;
};

}  // namespace trireme
