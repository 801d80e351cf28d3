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
#include "trireme/strategies/parameter_server/server_loop.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"
#include "trireme/strategies/parameter_server/server_roles.hpp"
#include "trireme/strategies/parameter_server/server_state.hpp"

namespace trireme {

/// With a staleness of 0 all workers share the rows of each batch, the servers add up the gradients, and every process
/// takes part in every step. Otherwise each worker acquires whole batches and goes its own pace from the first acquire
/// of an epoch until `finish_epoch`: collective operations wait until then, and a server serves there.
template <class ModelType, class SpaceType>
class ServerEngine : public ServerState<ModelType, SpaceType> {
  using Base = ServerState<ModelType, SpaceType>;
  using typename Base::Shard;

 public:
  using typename Base::L;
  using typename Base::Model;
  using typename Base::Space;
  using typename Base::T;

  /// Collective: the chief's initial weights become those of all. `colleagues`: the processes of the same role.
  ServerEngine(Model model, Space const& space, std::shared_ptr<Communicator const> group,
               std::shared_ptr<Communicator const> const& colleagues, ServerRoles const& roles, std::size_t staleness,
               Parallelism plan)
      : Base(std::move(model), space, std::move(group), colleagues, roles, staleness, plan), loop_(staleness) {}

  DataShard data_shard(Phase phase) const {
    bool const by_evaluator = phase == Phase::test && roles_.evaluator;
    return {.index = group_->rank(),
            .count = roles_.ranks,
            .first = by_evaluator ? roles_.ranks - 1 : 0,
            .last = by_evaluator ? roles_.ranks : roles_.workers};
  }
  bool takes_scattered_rows() const { return replica_ && replica_->takes_scattered_rows(); }

  // The steps of an epoch.

  /// True if each worker acquires whole batches.
  bool acquires_batches() const { return staleness_ > 0; }
  std::optional<std::size_t> acquire(std::size_t next) {
    if (!acquires_batches()) return next;
    if (!this->is_worker()) return std::nullopt;
    ProfilingRegion const region("trireme::acquire");
    apart_ = true;
    AcquireAnswer const acquired = servers_.acquire(next);
    if (acquired.some == 0) return std::nullopt;
    step_number_ = acquired.number;
    pull(acquired.version);
    return acquired.batch;
  }
  void release() {
    if (acquires_batches() && this->is_worker()) servers_.release();
  }

  /// One update. Collective, unless the batch was acquired.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    if (apart_)
      step_apart(batch);
    else
      step_together(batch);
  }

  /// Waits for the workers, and serves them until they arrive; then all have the weights, and every gradient that was
  /// pushed has been applied. True if a hook of a batch requested to stop. Collective.
  Uniform<bool> finish_epoch() {
    if (acquires_batches()) {
      if (this->is_worker()) servers_.leave();
      if (shard_) loop_.run(*group_, roles_.workers, *shard_);
      apart_ = false;
      exchange_weights();
      this->set_counted(group_->broadcast(this->iteration(), servers_.rank(0)));
    }
    this->check_ledgers();
    return group_->allreduce_or(std::exchange(stop_requested_, false));
  }

  /// While the processes go their own pace a request to stop ends the epoch for all; `finish_epoch` agrees on it.
  template <class StopRequests>
  bool resolve(StopRequests const& requests) {
    if (!apart_) return Base::resolve(requests);
    if (!requests.local_request && !requests.uniform_request) return false;
    if (!stop_requested_) servers_.close();
    return stop_requested_ = true;
  }
  Uniform<bool> agree(bool request) const {
    this->require_together("agree");
    return Base::agree(request);
  }
  /// While the processes go their own pace the chief's calls run there, and those of the others do nothing.
  template <class F, class... Arguments>
  auto on_chief(F&& f, Arguments&&... arguments) const {
    using Result = std::invoke_result_t<F, ChiefScope const&, Arguments...>;
    if constexpr (std::is_void_v<Result>) {
      if (!apart_) return Base::on_chief(std::forward<F>(f), std::forward<Arguments>(arguments)...);
      if (group_->is_chief()) detail::ChiefAccess::run(std::forward<F>(f), std::forward<Arguments>(arguments)...);
    } else {
      this->require_together("on_chief, for a result,");
      return Base::on_chief(std::forward<F>(f), std::forward<Arguments>(arguments)...);
    }
  }

  // Tests and predictions.

  void test_step(Batch<T, L> const& batch) {
    if (replica_) replica_->test_step(batch);
  }
  void predict_step(Batch<T, L> const& batch, T* out) {
    if (replica_) replica_->predict_step(batch, out);
  }
  void infer(std::size_t rows, T const* x, T* y) { this->whole().infer(rows, x, y); }

 private:
  using Base::apart_;
  using Base::group_;
  using Base::model_;
  using Base::replica_;
  using Base::roles_;
  using Base::servers_;
  using Base::shard_;
  using Base::staleness_;

  void step_together(Batch<T, L> const& batch) {
    auto const positions = this->global_positions(batch);
    if (this->is_worker()) replica_->differentiate(batch, positions, this->iteration(), true);
    if (roles_.ranks == 1) {
      shard_->update(replica_->gradients(), positions[0], batch.global_rows);
    } else {
      if (this->is_worker())
        for (std::size_t server = 0; server < servers_.count(); ++server)
          requests_.push(replica_->push(servers_, server));
      if (shard_) {
        for (std::size_t worker = 0; worker < roles_.workers; ++worker) shard_->receive(*group_, worker, worker > 0);
        shard_->update(shard_->gradients(), positions[0], batch.global_rows);
      }
      exchange_weights();
    }
    if (replica_) replica_->set_iteration(replica_->iteration() + 1);
    this->count_updates();
  }

  /// Sends the servers' weights to every process that holds all weights.
  void exchange_weights() {
    if (roles_.ranks == 1) return;
    requests_.wait_all();  // gradients under way may lie where weights are received
    if (replica_)
      for (std::size_t server = 0; server < servers_.count(); ++server)
        requests_.push(replica_->pull(servers_, server));
    if (shard_) {
      auto const weights = shard_->host_weights();
      for (std::size_t rank = 0; rank < roles_.ranks; ++rank)
        if (roles_.is_replica(rank)) requests_.push(group_->isend(weights, rank, server_tags::weights));
    }
    requests_.wait_all();
    if (replica_) replica_->take_pulled();
  }

  /// Receives the weights after so many updates or more.
  void pull(std::uint64_t version) {
    for (std::size_t server = 0; server < servers_.count(); ++server) {
      requests_.push(replica_->pull(servers_, server));
      servers_.pull(server, version);
    }
    requests_.wait_all();
    replica_->take_pulled();
    replica_->set_iteration(version);
  }

  /// A step on the acquired batch: pushes its gradient when its update has a number. Returns when the servers have
  /// received it, so that this worker's next work delays no other process.
  void step_apart(Batch<T, L> const& batch) {
    auto const positions =
        model_.masks_positions() ? model_.counted_positions(batch.y, batch.rows) : model_.positions(batch.global_rows);
    replica_->differentiate(batch, positions, step_number_, false);
    std::uint64_t const number = servers_.number_update();
    for (std::size_t server = 0; server < servers_.count(); ++server) {
      servers_.push(server, number, positions[0], batch.global_rows);
      requests_.push(replica_->push(servers_, server));
    }
    requests_.wait_all();
    replica_->set_iteration(number + 1);
    this->count_updates();
  }

  Requests requests_;
  ServerLoop<Shard> loop_;
  std::uint64_t step_number_ = 0;  ///< of the batch acquired, for random keys
  bool stop_requested_ = false;    ///< a hook of this process has ended the epoch for all
};

}  // namespace trireme
