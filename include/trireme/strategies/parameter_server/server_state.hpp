/// ServerState: the parts of a process under a ParameterServerStrategy: its weights, optimizer state and metric totals.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/gpu_awareness.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/mpi/text_of_ranks.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/engine/arena_map.hpp"
#include "trireme/strategies/engine/optimizer_progress.hpp"
#include "trireme/strategies/parameter_server/served_weights.hpp"

namespace trireme {

/// Parts of ServerEngine, which has the steps. Workers and servers count the updates applied, and have one rate.
template <class ModelType, class SpaceType>
class ServerState {
 public:
  using Model = ModelType;
  using Space = SpaceType;
  using Group = Communicator;
  using T = typename Model::scalar;
  using Weights = ServedWeights<Model, Space>;
  using Shard = typename Weights::Shard;
  using Snapshot = typename Weights::Snapshot;
  using Metrics = std::array<double, Model::log_names.size()>;

  /// Collective: the chief's initial weights become those of all. `colleagues`: the processes of the same role.
  ServerState(Model model, Space const& space, std::shared_ptr<Communicator const> group,
              std::shared_ptr<Communicator const> const& colleagues, ServerRoles const& roles, std::size_t staleness,
              Parallelism plan)
      : model_(std::move(model)),
        group_(std::move(group)),
        weights_(model_, space, group_, colleagues, roles, staleness, plan) {}

  Model const& model() const { return model_; }
  Communicator const& group() const { return *group_; }
  Weights& weights() { return weights_; }
  Weights const& weights() const { return weights_; }
  /// The optimizer's state lies in the shards; its counter and rate are here.
  ServerState& optimizer() { return *this; }
  ServerState const& optimizer() const { return *this; }

  /// Ranks of workers, servers and the evaluator.
  ServerRoles const& roles() const { return weights_.roles(); }
  /// Calls to the servers.
  ServerClient const& servers() const { return weights_.servers(); }
  /// Replica of a worker, or of the evaluator; empty elsewhere.
  auto& worker() { return weights_.worker(); }
  auto const& worker() const { return weights_.worker(); }
  /// Weights of a server; empty elsewhere.
  auto& shard() { return weights_.shard(); }
  auto const& shard() const { return weights_.shard(); }
  /// True if this process is a worker.
  bool is_worker() const { return roles().is_worker(group_->rank()); }

  void reset_metrics(Phase phase) {
    if (worker()) worker()->replica().reset_metrics(phase);
    if (shard() && phase == Phase::train) shard()->updater().set_trained_penalty();
  }

  /// Exact over all processes, and collective; while the processes go their own pace, of a worker's own batches only,
  /// with the penalty of its own weights.
  Uniform<Metrics> metrics(Phase phase) {
    std::vector<double> totals(Model::totals_width, 0.0);
    if (worker()) totals = worker()->replica().partitions().totals().sum(phase);
    totals.push_back(0);
    if (weights_.apart()) {
      totals.back() = worker()->replica().penalty();
    } else {
      if (shard()) totals.back() = shard()->mean_penalty(phase);
      group_->allreduce_sum(totals);
    }
    auto values = model_.results(totals.data());
    values[0] += totals.back();
    return detail::UniformAccess::make(values);
  }

  // The optimizer, whose rate is the same everywhere and counts the updates applied.

  std::uint64_t iteration() const { return progress().iteration(); }
  bool has_schedule() const { return progress().has_schedule(); }
  double learning_rate() const { return progress().learning_rate(); }
  void set_learning_rate(double rate) {
    weights_.require_together("set_learning_rate");
    if (worker()) worker()->replica().optimizer().set_learning_rate(rate);
    if (shard()) shard()->updater().set_learning_rate(rate);
  }
  void set_iteration(std::uint64_t iteration) {
    set_counted(iteration);
    updates_seen_ = iteration;
  }
  /// Sets the counter after updates that this process has not seen.
  void set_counted(std::uint64_t iteration) {
    if (worker()) worker()->replica().optimizer().set_iteration(iteration);
    if (shard()) shard()->updater().set_iteration(iteration);
  }
  /// Counts the updates since the previous call, which is made once a step.
  void count_updates() { updates_ = static_cast<std::size_t>(iteration() - std::exchange(updates_seen_, iteration())); }
  /// Updates that the latest call of `count_updates` counted.
  std::size_t updates() const { return updates_; }

  std::size_t slots() const { return model_.optimizer().slots(); }
  void set_slot(std::size_t slot, std::span<T> values) {
    group_->broadcast(values);
    if (shard()) shard()->assign_slot(slot, values);
  }

  /// Sends the complete state to the chief. Collective; but while the workers go their own pace only the chief receives
  /// it, as the servers have it then.
  template <class State>
  void gather_state(State& state) const {
    progress().store(state);
    if (weights_.apart()) {
      if (!group_->is_chief()) return;
      servers().fetch();
    }
    if (group_->is_chief()) {
      state.parameters = weights_.host_parameters();
      state.slots.assign(slots(), std::vector<T>(model_.description().elements));
      if (shard())
        for (std::size_t slot = 0; slot < slots(); ++slot) state.slots[slot] = shard()->host_slot(slot);
      else
        receive_states(state);
    } else if (shard()) {
      shard()->send_state(*group_, 0);
    }
  }

  /// The state of a run besides weights and optimizer state: the epoch's running sums of each process. Collective.
  template <class Archive>
  void state(Archive& archive) {
    weights_.require_together("saving the run");
    std::string const replicas = detail::text_of_ranks(*group_, worker() ? worker()->replica().placement() : "");
    archive.placed("was placed otherwise", "placement", *group_, formatted("{}, each of {}", placement(), replicas));
    std::vector<double> sums, penalty;
    if (worker()) sums = worker()->replica().partitions().totals().all(Phase::train);
    double rows = 0;  // the same on all servers
    if (shard()) {
      std::vector<double> const trained = shard()->updater().trained_penalty();
      penalty.push_back(trained[0]);
      rows = trained[1];
    }
    rows = group_->allreduce_max(rows).value();
    archive.summands("sums", *group_, sums, Model::totals_width);
    archive.summands("penalties", *group_, penalty, 1);
    archive("penalized_rows", rows);
    if (!archive.loads()) return;
    if (worker()) worker()->replica().partitions().totals().set(Phase::train, sums);
    if (shard()) shard()->updater().set_trained_penalty({penalty[0], rows});
  }

  /// The tasks of the processes, as readable text. Not collective.
  std::string placement() const {
    return formatted("{} workers, {} servers{}, staleness {}{}", roles().workers, roles().servers,
                     roles().evaluator ? ", an evaluator" : "", weights_.staleness(),
                     roles().ranks > 1 ? message_path<Space>() : "");
  }

  /// The servers that hold a layer's parameters and states.
  LayerPlacement layer_placement() const {
    if (roles().ranks == 1) return {};
    std::vector<std::vector<HeldRange>> ranks(roles().ranks);
    for (std::size_t server = 0; server < roles().servers; ++server)
      ranks[roles().server_rank(server)] = {{servers().range(server).begin, servers().range(server).end, 0}};
    return {"Served by", layer_holders(model_.description(), ArenaMap(std::move(ranks)))};
  }

  /// The memory of this process; the optimizer's state is on the servers.
  MemoryUse memory_use(std::size_t rows) const {
    ModelCost cost = model_.cost();
    if (shard()) cost.arena_bytes = shard()->trained() * sizeof(T);
    return {cost, shard() ? slots() : 0, roles().ranks, rows, worker() ? worker()->replica().workspace_bytes(rows) : 0};
  }

  /// Throws if some process's weights are not bitwise those of the servers. Collective.
  void verify_replicas() const {
    if (roles().ranks == 1) return;
    std::vector<T> const weights = worker() ? weights_.host_parameters() : std::vector<T>{};
    std::size_t wrong = roles().ranks;
    for (std::size_t server = 0; server < roles().servers; ++server) {
      bool const own = shard() && roles().server_index(group_->rank()) == server;
      auto const hash = group_->broadcast(own ? hash_of(shard()->host_weights()) : 0, servers().rank(server));
      ElementRange const range = servers().range(server);
      if (worker() && hash != hash_of(std::span(weights).subspan(range.begin, range.size()))) wrong = group_->rank();
    }
    std::size_t const lowest = group_->allreduce_min(wrong).value();
    if (lowest == roles().ranks) return;
    raise_uniform(
        Error(formatted("the weights of rank {} are not those of the servers after step {}", lowest, iteration())));
  }

  /// Throws unless each server has applied what was pushed to it. Collective.
  void check_ledgers() const {
    if (roles().ranks == 1) return;
    std::vector<GradientLedger> ledgers(2 * roles().servers);  // pushed, then applied
    if (worker()) std::copy(worker()->pushed().begin(), worker()->pushed().end(), ledgers.begin());
    if (shard()) ledgers[roles().servers + roles().server_index(group_->rank())] = shard()->applied();
    static_assert(sizeof(GradientLedger) == 2 * sizeof(std::uint64_t));
    group_->allreduce_sum(std::span(&ledgers[0].count, 2 * ledgers.size()));
    for (std::size_t server = 0; server < roles().servers; ++server) {
      auto const &pushed = ledgers[server], &applied = ledgers[roles().servers + server];
      if (pushed.count != applied.count || pushed.sum != applied.sum)
        raise_uniform(Error(formatted("the server on rank {} has applied {} gradients where {} were pushed to it{}",
                                      servers().rank(server), applied.count, pushed.count,
                                      pushed.count == applied.count ? ", and not the same ones" : "")));
    }
  }

 private:
  /// Progress of the shard's optimizer, or of the replica's where this process is no server.
  OptimizerProgress<typename Model::Optimizer> const& progress() const {
    if (shard()) return shard()->updater();
    return worker()->replica().optimizer();
  }

  static std::uint64_t hash_of(std::span<T const> values) {
    return data::hash_bytes(values.data(), values.size_bytes());
  }

  template <class State>
  void receive_states(State& state) const {
    // From all at once: one may wait in an update for another, which is to send first.
    std::vector<std::uint64_t> iterations(servers().count());
    Requests requests;
    for (std::size_t server = 0; server < servers().count(); ++server)
      Shard::receive_state(*group_, servers().rank(server), servers().range(server), model_.description().elements,
                           state, iterations[server], requests);
    requests.wait_all();
    state.iteration = static_cast<std::int64_t>(iterations[0]);
  }

  Model model_;
  std::shared_ptr<Communicator const> group_;
  Weights weights_;
  std::uint64_t updates_seen_ = 0;  ///< after the previous batch
  std::size_t updates_ = 0;         ///< since then
};

}  // namespace trireme
