/// ServedWeights: the weights of processes under a ParameterServerStrategy, all of them in workers, ranges in servers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/parameter_server/parameter_shard.hpp"
#include "trireme/strategies/parameter_server/server_client.hpp"
#include "trireme/strategies/parameter_server/server_replica.hpp"
#include "trireme/strategies/parameter_server/server_roles.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// A worker's replica, a server's shard, or both. A single process is both worker and server: its shard lies in the
/// weights of its replica.
template <class Model, class Space>
class ServedWeights {
  using T = typename Model::scalar;

 public:
  using Shard = ParameterShard<Model, Space>;
  /// The weights that this process holds at one moment, in the space's memory.
  struct Snapshot {
    Arena<T, Space> replica, shard;
  };

  /// Collective: the chief's initial weights become those of all. `colleagues`: the processes of the same role.
  ServedWeights(Model const& model, Space const& space, std::shared_ptr<Communicator const> group,
                std::shared_ptr<Communicator const> const& colleagues, ServerRoles const& roles, std::size_t staleness,
                Parallelism plan)
      : elements_(model.description().arena_elements()),
        group_(std::move(group)),
        roles_(roles),
        servers_(group_, roles, cut_arena(model.description(), roles.servers, aligned_count<T>(1))),
        staleness_(roles.ranks == 1 ? 0 : staleness) {
    std::size_t const rank = group_->rank();
    if (roles.is_replica(rank)) worker_.emplace(model, space, colleagues, plan, roles.servers);
    if (roles.is_server(rank))
      shard_.emplace(model, space, servers_.range(roles.server_index(rank)), colleagues,
                     worker_ ? worker_->replica().weights().parameters() : typename Shard::Weights{});
    std::vector<T> initial(elements_);
    if (group_->is_chief()) initial = worker_->replica().weights().host_parameters();
    set_parameters(initial);
  }

  /// Ranks of workers, servers and the evaluator.
  ServerRoles const& roles() const { return roles_; }
  /// Calls to the servers.
  ServerClient const& servers() const { return servers_; }
  /// Bound of staleness; 0 where workers step together.
  std::size_t staleness() const { return staleness_; }
  /// Of a worker, or of the evaluator.
  auto& worker() { return worker_; }
  auto const& worker() const { return worker_; }
  /// Of a server.
  auto& shard() { return shard_; }
  auto const& shard() const { return shard_; }

  /// True from this worker's first batch of an epoch until the epoch is finished.
  bool apart() const { return apart_; }
  /// Notes whether this worker has acquired batches that are not drained yet.
  void set_apart(bool apart) { apart_ = apart; }
  /// Throws while processes go their own pace: an operation of all of them would hang.
  void require_together(char const* what) const {
    if (apart_)
      throw ValueError(
          formatted("{} was called in a hook of a batch, while the workers of a ParameterServerStrategy with a "
                    "staleness of {} go their own pace; do it at the end of an epoch, or take a staleness of 0",
                    what, staleness_));
  }

  Snapshot snapshot() const {
    Snapshot all;
    if (worker_) all.replica = worker_->replica().weights().snapshot();
    if (shard_ && !worker_) all.shard = clone_view(shard_->space(), "trireme::snapshot", shard_->weights());
    return all;
  }
  void restore(Snapshot const& snapshot) {
    require_together("restore");
    if (worker_) worker_->replica().weights().restore(snapshot.replica);
    if (shard_ && !worker_) copy_view(shard_->weights(), snapshot.shard);
  }

  /// The complete snapshot on the chief, and the chief's complete snapshot on all processes. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    return group_->is_chief() ? to_host(snapshot.replica) : std::vector<T>();
  }
  Snapshot scatter(std::vector<T>& values) const {
    values.resize(elements_);
    group_->broadcast(values);
    Snapshot result = snapshot();
    if (result.replica.extent(0) > 0) copy_view(result.replica, host_view(values));
    if (result.shard.extent(0) > 0)
      copy_view(result.shard, host_view(values.data() + shard_->range().begin, shard_->range().size()));
    return result;
  }

  /// A copy of the arena on the host. Not collective. \throws ValueError on a server.
  std::vector<T> host_parameters() const { return whole().weights().host_parameters(); }
  /// Elements [offset, offset + count) of it. Not collective. \throws ValueError on a server.
  std::vector<T> host_values(std::size_t offset, std::size_t count) const {
    return whole().weights().host_values(offset, count);
  }
  /// The same elements, as the chief has them, on all processes. Collective.
  std::vector<T> chief_values(std::size_t offset, std::size_t count) const {
    require_together("reading weights");
    std::vector<T> values(count);
    if (group_->is_chief()) values = host_values(offset, count);
    group_->broadcast(values);
    return values;
  }
  /// Overwrites the arena with the chief's values. Collective.
  void set_parameters(std::span<T> values) { set_values(0, values); }
  /// The same for its elements from `offset` on.
  void set_values(std::size_t offset, std::span<T> values) {
    require_together("setting weights");
    group_->broadcast(values);
    if (worker_) worker_->replica().weights().assign(offset, values);
    if (shard_ && !worker_) shard_->assign(offset, values);
  }

  /// The replica, of a process that has one. \throws ValueError on a server.
  auto& whole() {
    require_whole();
    return worker_->replica();
  }
  auto const& whole() const {
    require_whole();
    return worker_->replica();
  }

 private:
  void require_whole() const {
    if (!worker_)
      throw ValueError(
          formatted("rank {} is a parameter server, which holds a range of the weights only", group_->rank()));
  }

  std::size_t elements_;  ///< of the whole arena
  std::shared_ptr<Communicator const> group_;
  ServerRoles roles_;
  ServerClient servers_;
  std::size_t staleness_;
  std::optional<ServerReplica<Model, Space>> worker_;
  std::optional<Shard> shard_;
  bool apart_ = false;
};

}  // namespace trireme
