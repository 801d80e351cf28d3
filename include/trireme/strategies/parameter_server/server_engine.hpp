/// The engine of a process under ParameterServerStrategy: a worker's replica, a server's range, or both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/engine/step.hpp"
#include "trireme/strategies/parameter_server/server_loop.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"
#include "trireme/strategies/parameter_server/server_roles.hpp"
#include "trireme/strategies/parameter_server/server_state.hpp"

namespace trireme {

/// With a staleness of 0 all workers share the rows of each batch, the servers add up the gradients, and every process
/// takes part in every step. Otherwise each worker acquires whole batches and goes its own pace from the first acquire
/// of an epoch until `finish_epoch`: collective operations wait until then, and a server serves there.
template <class ModelType, class SpaceType>
class ServerEngine : public EngineBase<ServerState<ModelType, SpaceType>> {
  using Parts = ServerState<ModelType, SpaceType>;
  using Base = EngineBase<Parts>;

 public:
  using Model = ModelType;
  using Space = SpaceType;
  using T = typename Model::scalar;
  using L = typename Model::label;

  /// Collective: the chief's initial weights become those of all. `colleagues`: the processes of the same role.
  ServerEngine(Model model, Space const& space, std::shared_ptr<Communicator const> group,
               std::shared_ptr<Communicator const> const& colleagues, ServerRoles const& roles, std::size_t staleness,
               Parallelism plan)
      : Base(Parts(std::move(model), space, std::move(group), colleagues, roles, staleness, plan)), loop_(staleness) {}

  /// Ranks of workers, servers and the evaluator.
  ServerRoles const& roles() const { return parts_.roles(); }
  /// The elements of the arena that each server holds.
  auto const& ranges() const { return parts_.servers().ranges(); }
  /// The number of gradients that this process has applied as a server.
  std::uint64_t applied() const { return parts_.shard() ? parts_.shard()->applied().count : 0; }

  DataShard data_shard(Phase phase) const {
    bool const by_evaluator = phase == Phase::test && roles().evaluator;
    return {.index = parts_.group().rank(),
            .count = roles().ranks,
            .first = by_evaluator ? roles().ranks - 1 : 0,
            .last = by_evaluator ? roles().ranks : roles().workers};
  }
  /// True if the rows of a batch may be scattered.
  bool takes_scattered_rows() const { return parts_.worker() && parts_.worker()->replica().takes_scattered_rows(); }

  // The steps of an epoch.

  /// True if each worker acquires whole batches.
  bool acquires_batches() const { return parts_.weights().staleness() > 0; }
  std::optional<std::size_t> acquire(std::size_t next) {
    if (!acquires_batches()) return next;
    if (!parts_.is_worker()) return std::nullopt;
    ProfilingRegion const region("trireme::acquire");
    parts_.weights().set_apart(true);
    AcquireAnswer const acquired = parts_.servers().acquire(next);
    if (acquired.some == 0) return std::nullopt;
    step_number_ = acquired.number;
    pull(acquired.version);
    return acquired.batch;
  }
  void release() {
    if (acquires_batches() && parts_.is_worker()) parts_.servers().release();
  }
  /// Updates of the weights since this process's previous batch.
  std::size_t updates() const { return parts_.updates(); }

  /// One update. Collective, unless the batch was acquired.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    if (parts_.weights().apart())
      step_apart(batch);
    else
      step_together(batch);
  }

  /// Waits for the workers, and serves them until they arrive; then all have the weights, and every gradient that was
  /// pushed has been applied. True if a hook of a batch requested to stop. Collective.
  Uniform<bool> finish_epoch() {
    auto const& group = parts_.group();
    if (acquires_batches()) {
      if (parts_.is_worker()) parts_.servers().leave();
      if (parts_.shard()) loop_.run(group, roles().workers, *parts_.shard());
      parts_.weights().set_apart(false);
      exchange_weights();
      parts_.set_counted(group.broadcast(parts_.iteration(), parts_.servers().rank(0)));
    }
    parts_.check_ledgers();
    return group.allreduce_or(std::exchange(stop_requested_, false));
  }

  /// While the processes go their own pace a request to stop ends the epoch for all; `finish_epoch` agrees on it.
  template <class StopRequests>
  bool resolve(StopRequests const& requests) {
    if (!parts_.weights().apart()) return Base::resolve(requests);
    if (!requests.local_request && !requests.uniform_request) return false;
    if (!stop_requested_) parts_.servers().close();
    return stop_requested_ = true;
  }
  /// \throws ValueError while processes go their own pace: an operation of all of them would hang.
  void require_together(char const* what) const { parts_.weights().require_together(what); }
  /// While the workers go their own pace the chief alone writes what they save.
  bool saves_here() const { return !parts_.weights().apart() || parts_.group().is_chief(); }
  Uniform<bool> agree(bool request) const {
    require_together("agree");
    return Base::agree(request);
  }
  /// While the processes go their own pace the chief's calls run there, and those of the others do nothing.
  template <class F, class... Arguments>
  auto on_chief(F&& f, Arguments&&... arguments) const {
    using Result = std::invoke_result_t<F, ChiefScope const&, Arguments...>;
    if constexpr (std::is_void_v<Result>) {
      if (!parts_.weights().apart()) return Base::on_chief(std::forward<F>(f), std::forward<Arguments>(arguments)...);
      if (parts_.group().is_chief())
        detail::ChiefAccess::run(std::forward<F>(f), std::forward<Arguments>(arguments)...);
    } else {
      require_together("on_chief, for a result,");
      return Base::on_chief(std::forward<F>(f), std::forward<Arguments>(arguments)...);
    }
  }

  // Tests and predictions.

  void test_step(Batch<T, L> const& batch) {
    if (parts_.worker()) parts_.worker()->replica().test(batch);
  }
  void predict_step(Batch<T, L> const& batch, T* out) {
    if (parts_.worker()) parts_.worker()->replica().predict(batch, out);
  }
  /// y (rows, output) for x (rows, input), both in the space's memory; complete on return, not collective.
  void infer(std::size_t rows, T const* x, T* y) { parts_.weights().whole().infer(rows, x, y); }

  LayerPlacement layer_placement() const { return parts_.layer_placement(); }
  /// Text on how far results agree after a run has moved to other processes.
  std::string moved_agreement() const {
    if (acquires_batches()) return "depend on the order of updates, as in every run with a staleness";
    return Base::moved_agreement();
  }
  template <class Archive>
  void state(Archive& archive) {
    parts_.state(archive);
  }

 private:
  using Base::parts_;

  void step_together(Batch<T, L> const& batch) {
    auto const& group = parts_.group();
    auto const& servers = parts_.servers();
    auto& worker = parts_.worker();
    auto& shard = parts_.shard();
    auto const positions = global_positions(parts_.model(), group, batch);
    if (parts_.is_worker()) worker->differentiate(batch, positions, parts_.iteration(), true);
    if (roles().ranks == 1) {
      shard->update(worker->gradients(), batch.global_rows);
    } else {
      if (parts_.is_worker())
        for (std::size_t server = 0; server < servers.count(); ++server) requests_.push(worker->push(servers, server));
      if (shard) {
        for (std::size_t rank = 0; rank < roles().workers; ++rank) shard->receive(group, rank, rank > 0);
        shard->update(shard->gradients(), batch.global_rows);
      }
      exchange_weights();
    }
    if (worker) worker->replica().optimizer().set_iteration(worker->replica().optimizer().iteration() + 1);
    parts_.count_updates();
  }

  /// Sends the servers' weights to every process that holds all weights.
  void exchange_weights() {
    if (roles().ranks == 1) return;
    auto& worker = parts_.worker();
    requests_.wait_all();  // gradients under way may lie where weights are received
    if (worker)
      for (std::size_t server = 0; server < parts_.servers().count(); ++server)
        requests_.push(worker->pull(parts_.servers(), server));
    if (parts_.shard()) {
      auto const weights = parts_.shard()->message_weights();
      for (std::size_t rank = 0; rank < roles().ranks; ++rank)
        if (roles().is_replica(rank)) requests_.push(parts_.group().isend(weights, rank, server_tags::weights));
    }
    requests_.wait_all();
    if (worker) worker->take_pulled();
  }

  /// Receives the weights after so many updates or more.
  void pull(std::uint64_t version) {
    auto& worker = *parts_.worker();
    for (std::size_t server = 0; server < parts_.servers().count(); ++server) {
      requests_.push(worker.pull(parts_.servers(), server));
      parts_.servers().pull(server, version);
    }
    requests_.wait_all();
    worker.take_pulled();
    worker.replica().optimizer().set_iteration(version);
  }

  /// A step on the acquired batch: pushes its gradient when its update has a number. Returns when the servers have
  /// received it, so that this worker's next work delays no other process.
  void step_apart(Batch<T, L> const& batch) {
    auto& worker = *parts_.worker();
    auto const& servers = parts_.servers();
    auto const positions = own_positions(parts_.model(), batch, batch.global_rows);
    worker.differentiate(batch, positions, step_number_, false);
    std::uint64_t const number = servers.number_update();
    for (std::size_t server = 0; server < servers.count(); ++server) {
      servers.push(server, number, batch.global_rows);
      requests_.push(worker.push(servers, server));
    }
    requests_.wait_all();
    worker.replica().optimizer().set_iteration(number + 1);
    parts_.count_updates();
  }

  Requests requests_;
  ServerLoop<typename Parts::Shard> loop_;
  std::uint64_t step_number_ = 0;  ///< of the batch acquired, for random keys
  bool stop_requested_ = false;    ///< a hook of this process has ended the epoch for all
};

}  // namespace trireme
