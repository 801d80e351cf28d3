/// A parameter server while the workers go their own pace: it answers their calls.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/parameter_server/claims.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"

namespace trireme {

/// Of a server whose range of the weights is a `Shard` (ParameterShard). The first server keeps the claims.
template <class Shard>
class ServerLoop {
  using Kind = ServerCall::Kind;

 public:
  explicit ServerLoop(std::size_t staleness) : claims_(staleness) {}

  /// Answers so many workers until all have left. A call that cannot be answered yet waits for others.
  void run(Communicator const& group, std::size_t workers, Shard& shard) {
    claims_.start_epoch(shard.updater().iteration());
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
  struct Waiting {
    std::size_t worker;
    ServerCall call;
  };

  /// False if it is too early.
  bool answer(Communicator const& group, Shard& shard, Waiting const& waiting) {
    auto const& [worker, call] = waiting;
    switch (call.kind) {
      case Kind::claim: {
        if (!claims_.can_claim()) return false;
        auto const claim = claims_.claim(worker, call.number);
        send_answer(group, worker, claim ? ClaimAnswer{1, claim->batch, claim->version, claim->number} : ClaimAnswer{});
        return true;
      }
      case Kind::withdraw:
        claims_.withdraw(worker);
        return true;
      case Kind::update:
        if (!claims_.can_update(worker)) return false;
        send_answer(group, worker, claims_.update(worker));
        return true;
      case Kind::close:
        claims_.close();
        return true;
      case Kind::pull:
        if (shard.updater().iteration() < call.number) return false;
        group.send(shard.host_weights(), worker, server_tags::weights);
        return true;
      case Kind::push:
        if (shard.updater().iteration() != call.number) return false;
        shard.receive(group, worker, false);
        shard.update(shard.gradients(), call.positions, call.rows);
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

  Claims claims_;
  std::vector<Waiting> waiting_;
};

}  // namespace trireme
