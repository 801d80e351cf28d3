/// ServerReplica: a worker of a parameter server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/host_mirror.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/strategies/data_parallel/replica.hpp"
#include "trireme/strategies/parameter_server/parameter_shard.hpp"
#include "trireme/strategies/parameter_server/server_client.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"

namespace trireme {

/// A worker's replica, and its messages with the servers.
template <class Model, class Space>
class ServerReplica {
 public:
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Positions = PerOutput<Model::outputs>;

  /// \param workers  the processes that share a batch's rows if all work on the same one.
  ServerReplica(Model model, Space const& space, std::shared_ptr<Communicator const> workers, Parallelism plan,
                std::size_t servers)
      : replica_(std::move(model), space, std::move(workers), 1, plan, false), pushed_(servers), mirrors_(servers) {}

  /// The whole model, without the optimizer's state.
  auto& replica() { return replica_; }
  auto const& replica() const { return replica_; }

  /// Puts the summands of these rows to the mean gradient over so many positions into `gradients()`, complete on
  /// return. `number`: of the step, for random keys. `shared`: true if other workers have the batch's other rows.
  void differentiate(Batch<T, L> const& batch, Positions const& positions, std::uint64_t number, bool shared) {
    replica_.differentiate(replica_.begin_step(batch, positions, number), nullptr,
                           shared ? replica_.processes() : nullptr);
    replica_.context().fence("trireme: gradient complete before it is sent");
  }
  /// Memory of the gradient of these rows.
  T* gradients() { return replica_.partitions().gradients(); }

  /// Starts sending a server its range of the gradient.
  Request push(ServerClient const& servers, std::size_t server) {
    ElementRange const range = servers.range(server);
    HostMirror<T, Space>& mirror = mirrors_[server];
    mirror.bind(gradients() + range.begin, range.size());
    mirror.pull(replica_.weights().space());
    pushed_[server].add(gradient_hash(replica_.weights().space(), mirror.array()));
    return servers.group().isend(mirror.values(), servers.rank(server), server_tags::gradients);
  }
  /// Starts receiving a server's range of the weights.
  Request pull(ServerClient const& servers, std::size_t server) {
    ElementRange const range = servers.range(server);
    HostMirror<T, Space>& mirror = mirrors_[server];
    mirror.bind(replica_.weights().data() + range.begin, range.size());
    mirror.prepare(replica_.weights().space());
    return servers.group().ireceive(mirror.values(), servers.rank(server), server_tags::weights);
  }
  /// Copies the received weights of all servers into the arena. Call it after `pull` of each.
  void take_pulled() {
    for (auto const& mirror : mirrors_) mirror.push_all(replica_.weights().space());
  }

  /// Counts and hashes of the gradients sent to each server.
  std::vector<GradientLedger> const& pushed() const { return pushed_; }

 private:
  Replica<Model, Space, Communicator> replica_;
  std::vector<GradientLedger> pushed_;
  std::vector<HostMirror<T, Space>> mirrors_;
};

}  // namespace trireme
