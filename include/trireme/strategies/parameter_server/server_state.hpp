/// ServerState: the weights of processes under a ParameterServerStrategy, all of them in workers, ranges in servers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/engine/arena_map.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/parameter_server/parameter_shard.hpp"
#include "trireme/strategies/parameter_server/server_client.hpp"
#include "trireme/strategies/parameter_server/server_replica.hpp"
#include "trireme/strategies/parameter_server/server_roles.hpp"

namespace trireme {

/// All members except the steps (ServerEngine). A single process is both worker and server: its shard lies in the
/// weights of its replica.
template <class ModelType, class SpaceType>
class ServerState : public EngineBase<ModelType, Communicator> {
  using Base = EngineBase<ModelType, Communicator>;

 public:
  using Space = SpaceType;
  using typename Base::L;
  using typename Base::Model;
  using typename Base::T;
  using Metrics = std::array<double, Model::log_names.size()>;

  ServerRoles const& roles() const { return roles_; }
  /// The elements of the arena that each server holds.
  std::vector<ElementRange> const& ranges() const { return servers_.ranges(); }

  /// The number of gradients that this process has applied as a server.
  std::uint64_t applied() const { return shard_ ? shard_->applied().count : 0; }

  /// Throws while processes go their own pace: an operation of all of them would hang.
  void require_together(char const* what) const {
    if (apart_)
      throw ValueError(
          formatted("{} was called in a hook of a batch, while the workers of a ParameterServerStrategy with a "
                    "staleness of {} go their own pace; do it at the end of an epoch, or take a staleness of 0",
                    what, staleness_));
  }

  void reset_metrics(Phase phase) {
    if (replica_) replica_->reset_metrics(phase);
    if (shard_ && phase == Phase::train) shard_->updater().set_trained_penalty(0);
  }

  /// Exact over all processes, and collective; while the processes go their own pace, of a worker's own batches only,
  /// with the penalty of its own weights.
  Uniform<Metrics> metrics(Phase phase) {
    std::vector<double> totals = replica_ ? replica_->totals(phase) : std::vector<double>(Model::totals_width, 0.0);
    totals.push_back(0);
    if (apart_) {
      totals.back() = replica_->penalty() * totals[1];
    } else {
      // In a test the penalty is that of the weights, whatever their number of samples.
      if (shard_) totals.back() = phase == Phase::train ? shard_->updater().trained_penalty() : shard_->penalty();
      group_->allreduce_sum(totals);
      if (phase == Phase::test) totals.back() *= totals[1];
    }
    auto values = model_.results(totals.data());
    if (totals[1] > 0) values[0] += totals.back() / totals[1];
    return detail::UniformAccess::make(values);
  }

  // The optimizer, whose rate is the same everywhere and counts the updates applied.

  std::uint64_t iteration() const { return shard_ ? shard_->updater().iteration() : replica_->iteration(); }
  bool has_schedule() const { return model_.optimizer().learning_rate.is_schedule(); }
  double learning_rate() const { return shard_ ? shard_->updater().learning_rate() : replica_->learning_rate(); }
  void set_learning_rate(double rate) {
    require_together("set_learning_rate");
    if (replica_) replica_->set_learning_rate(rate);
    if (shard_) shard_->updater().set_learning_rate(rate);
  }
  void set_iteration(std::uint64_t iteration) {
    set_counted(iteration);
    updates_seen_ = iteration;
  }
  std::size_t updates() const { return updates_; }

  /// The weights that this process holds at one moment, in the space's memory.
  struct Snapshot {
    Arena<T, Space> replica, shard;
  };
  Snapshot snapshot() const {
    return {
        replica_ ? clone_view(replica_->space(), "trireme::snapshot", replica_->parameters()) : Arena<T, Space>{},
        shard_ && !replica_ ? clone_view(shard_->space(), "trireme::snapshot", shard_->weights()) : Arena<T, Space>{}};
  }
  void restore(Snapshot const& snapshot) {
    require_together("restore");
    if (replica_) copy_view(replica_->parameters(), snapshot.replica);
    if (shard_ && !replica_) copy_view(shard_->weights(), snapshot.shard);
  }

  /// The complete snapshot on the chief, and the chief's complete snapshot on all processes. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    return group_->is_chief() ? to_host(snapshot.replica) : std::vector<T>();
  }
  Snapshot scatter(std::vector<T>& values) const {
    values.resize(model_.description().arena_elements());
    group_->broadcast(values);
    Snapshot result = snapshot();
    if (result.replica.extent(0) > 0) copy_view(result.replica, host_view(values));
    if (result.shard.extent(0) > 0)
      copy_view(result.shard, host_view(values.data() + shard_->range().begin, shard_->range().size()));
    return result;
  }

  /// The tasks of the processes, as readable text. Not collective.
  std::string placement() const {
    return formatted("{} workers, {} servers{}, staleness {}", roles_.workers, roles_.servers,
                     roles_.evaluator ? ", an evaluator" : "", staleness_);
  }

  /// The servers that hold a layer's parameters and states.
  LayerPlacement layer_placement() const {
    if (roles_.ranks == 1) return {};
    std::vector<std::vector<HeldRange>> ranks(roles_.ranks);
    for (std::size_t server = 0; server < roles_.servers; ++server)
      ranks[roles_.server_rank(server)] = {{ranges()[server].begin, ranges()[server].end, 0}};
    return {"Served by", layer_holders(model_.description(), ArenaMap(std::move(ranks)))};
  }

  /// The state of a run besides weights and optimizer state: the epoch's running sums of each process. Collective.
  template <class Archive>
  void state(Archive& archive) {
    require_together("saving the run");
    std::string replica = replica_ ? replica_->placement() : "";
    group_->broadcast(replica);
    archive.placed("was placed otherwise", "placement", formatted("{}, each of {}", placement(), replica));
    std::vector<double> sums, penalty;
    if (replica_) sums = replica_->sums();
    if (shard_) penalty.push_back(shard_->updater().trained_penalty());
    archive.summands("sums", *group_, sums, Model::totals_width);
    archive.summands("penalties", *group_, penalty, 1);
    if (!archive.loads()) return;
    if (replica_) replica_->set_sums(sums);
    if (shard_) shard_->updater().set_trained_penalty(penalty[0]);
  }

  std::string moved_agreement() const {
    if (staleness_ > 0) return "depend on the order of updates, as in every run with a staleness";
    return Base::moved_agreement();
  }

  /// A copy of the arena on the host. Not collective. \throws ValueError on a server.
  std::vector<T> host_parameters() const { return whole().host_parameters(); }
  /// Elements [offset, offset + count) of it. Not collective. \throws ValueError on a server.
  std::vector<T> host_values(std::size_t offset, std::size_t count) const { return whole().host_values(offset, count); }
  /// Overwrites the arena with the chief's values. Collective.
  void set_parameters(std::span<T> values) { set_values(0, values); }
  /// The same for its elements from `offset` on.
  void set_values(std::size_t offset, std::span<T> values) {
    require_together("setting weights");
    group_->broadcast(values);
    if (replica_) replica_->assign(offset, values);
    if (shard_ && !replica_) shard_->assign(offset, values);
  }

  std::size_t slots() const { return model_.optimizer().slots(); }
  void set_slot(std::size_t slot, std::span<T> values) {
    group_->broadcast(values);
    if (shard_) shard_->assign_slot(slot, values);
  }

  /// Sends the complete state to the chief. Collective; but while the workers go their own pace only the chief receives
  /// it, as the servers have it then.
  template <class State>
  void gather_state(State& state) const {
    if (!has_schedule()) state.learning_rate = static_cast<T>(learning_rate());
    state.iteration = static_cast<std::int64_t>(iteration());
    if (apart_) {
      if (!group_->is_chief()) return;
      servers_.fetch();
    }
    if (group_->is_chief()) {
      state.parameters = replica_->host_parameters();
      state.slots.assign(slots(), std::vector<T>(model_.description().elements));
      if (shard_)
        for (std::size_t slot = 0; slot < slots(); ++slot) state.slots[slot] = shard_->host_slot(slot);
      else
        receive_states(state);
    } else if (shard_) {
      shard_->send_state(*group_, 0);
    }
  }

  /// The memory of this process; the optimizer's state is on the servers.
  MemoryUse memory_use(std::size_t rows) const {
    ModelCost cost = model_.cost();
    if (shard_) cost.arena_bytes = shard_->trained() * sizeof(T);
    return {cost, shard_ ? slots() : 0, roles_.ranks, rows, replica_ ? replica_->workspace_bytes(rows) : 0};
  }

  /// Throws if some process's weights are not bitwise those of the servers. Collective.
  void verify_replicas() {
    if (roles_.ranks == 1) return;
    std::vector<T> const weights = replica_ ? replica_->host_parameters() : std::vector<T>{};
    std::size_t wrong = roles_.ranks;
    for (std::size_t server = 0; server < roles_.servers; ++server) {
      bool const own = shard_ && roles_.server_index(group_->rank()) == server;
      auto const hash = group_->broadcast(own ? hash_of(shard_->host_weights()) : 0, servers_.rank(server));
      ElementRange const range = servers_.range(server);
      if (replica_ && hash != hash_of(std::span(weights).subspan(range.begin, range.size()))) wrong = group_->rank();
    }
    std::size_t const lowest = group_->allreduce_min(wrong).value();
    if (lowest == roles_.ranks) return;
    raise_uniform(
        Error(formatted("the weights of rank {} are not those of the servers after step {}", lowest, iteration())));
  }

 protected:
  using Base::group_;
  using Base::model_;
  using ReplicaEngine = ServerReplica<ModelType, SpaceType>;
  using Shard = ParameterShard<ModelType, SpaceType>;

  /// Collective: the chief's initial weights become those of all. `colleagues`: the processes of the same role.
  ServerState(Model model, Space const& space, std::shared_ptr<Communicator const> group,
              std::shared_ptr<Communicator const> const& colleagues, ServerRoles const& roles, std::size_t staleness,
              Parallelism plan)
      : Base(std::move(model), std::move(group)),
        roles_(roles),
        servers_(group_, roles, cut_arena(model_.description(), roles.servers, aligned_count<T>(1))),
        staleness_(roles.ranks == 1 ? 0 : staleness) {
    std::size_t const rank = group_->rank();
    if (roles.is_replica(rank)) replica_.emplace(model_, space, colleagues, plan, roles.servers);
    if (roles.is_server(rank))
      shard_.emplace(model_, space, servers_.range(roles.server_index(rank)), colleagues,
                     replica_ ? replica_->parameters() : typename Shard::Weights{});
    std::vector<T> initial(model_.description().arena_elements());
    if (group_->is_chief()) initial = replica_->host_parameters();
    set_parameters(initial);
  }

  bool is_worker() const { return roles_.is_worker(group_->rank()); }

  /// The replica, of a process that has one. \throws ValueError on a server.
  ReplicaEngine& whole() { return const_cast<ReplicaEngine&>(std::as_const(*this).whole()); }
  ReplicaEngine const& whole() const {
    if (replica_) return *replica_;
    throw ValueError(
        formatted("rank {} is a parameter server, which holds a range of the weights only", group_->rank()));
  }

  void set_counted(std::uint64_t iteration) {
    if (replica_) replica_->set_iteration(iteration);
    if (shard_) shard_->updater().set_iteration(iteration);
  }
  /// Counts the updates since the previous call, which is made once a step.
  void count_updates() { updates_ = static_cast<std::size_t>(iteration() - std::exchange(updates_seen_, iteration())); }

  /// Throws unless each server has applied what was pushed to it. Collective.
  void check_ledgers() {
    if (roles_.ranks == 1) return;
    std::vector<GradientLedger> ledgers(2 * roles_.servers);  // pushed, then applied
    if (replica_) std::copy(replica_->pushed().begin(), replica_->pushed().end(), ledgers.begin());
    if (shard_) ledgers[roles_.servers + roles_.server_index(group_->rank())] = shard_->applied();
    static_assert(sizeof(GradientLedger) == 2 * sizeof(std::uint64_t));
    group_->allreduce_sum(std::span(&ledgers[0].count, 2 * ledgers.size()));
    for (std::size_t server = 0; server < roles_.servers; ++server) {
      auto const &pushed = ledgers[server], &applied = ledgers[roles_.servers + server];
      if (pushed.count != applied.count || pushed.sum != applied.sum)
        raise_uniform(Error(formatted("the server on rank {} has applied {} gradients where {} were pushed to it{}",
                                      servers_.rank(server), applied.count, pushed.count,
                                      pushed.count == applied.count ? ", and not the same ones" : "")));
    }
  }

  ServerRoles roles_;
  ServerClient servers_;
  std::size_t staleness_;
  std::optional<ReplicaEngine> replica_;
  std::optional<Shard> shard_;
  bool apart_ = false;  ///< this worker has acquired batches that are not drained yet

 private:
  static std::uint64_t hash_of(std::span<T const> values) {
    return data::hash_bytes(values.data(), values.size_bytes());
  }

  template <class State>
  void receive_states(State& state) const {
    for (std::size_t server = 0; server < servers_.count(); ++server) {
      auto const iteration = Shard::receive_state(*group_, servers_.rank(server), servers_.range(server),
                                                  model_.description().elements, state);
      if (server == 0) state.iteration = static_cast<std::int64_t>(iteration);
    }
  }

  std::uint64_t updates_seen_ = 0;  ///< after the previous batch
  std::size_t updates_ = 0;         ///< since then
};

}  // namespace trireme
