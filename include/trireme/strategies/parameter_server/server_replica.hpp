/// A worker of a parameter server: the whole model, without the optimizer's state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trireme/backend/execution/views.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/host_mirror.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/strategies/data_parallel/replica.hpp"
#include "trireme/strategies/parameter_server/parameter_shard.hpp"
#include "trireme/strategies/parameter_server/server_client.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"

namespace trireme {

/// A worker of a parameter server: the whole model, without the optimizer's state.
template <class ModelType, class SpaceType>
class ServerReplica : public Replica<ModelType, SpaceType, Communicator> {
  using Base = Replica<ModelType, SpaceType, Communicator>;

 public:
  using typename Base::L;
  using typename Base::Model;
  using typename Base::Space;
  using typename Base::T;
  using Positions = PerOutput<Model::outputs>;

  /// \param workers  the processes that share a batch's rows if all work on the same one.
  ServerReplica(Model model, Space const& space, std::shared_ptr<Communicator const> workers, Parallelism plan,
                std::size_t servers)
      : Base(std::move(model), space, std::move(workers), 1, plan, false), pushed_(servers), mirrors_(servers) {}

  /// Puts the summands of these rows to the mean gradient over so many positions into `gradients()`, complete on
  /// return. `number`: of the step, for random keys. `shared`: true if other workers have the batch's other rows.
  void differentiate(Batch<T, L> const& batch, Positions const& positions, std::uint64_t number, bool shared) {
    Base::differentiate(this->begin_step(batch, positions, number), nullptr, shared ? &processes_ : nullptr);
    partitions_.context().fence("trireme: gradient complete before it is sent");
  }
  T* gradients() { return partitions_.gradients(); }

  /// Starts sending a server its range of the gradient.
  Request push(ServerClient const& servers, std::size_t server) {
    ElementRange const range = servers.range(server);
    HostMirror<T, Space>& mirror = mirrors_[server];
    mirror.bind(gradients() + range.begin, range.size());
    mirror.pull(partitions_.context().space());
    pushed_[server].add(mirror.values());
    return servers.group().isend(mirror.values(), servers.rank(server), server_tags::gradients);
  }
  /// Starts receiving a server's range of the weights.
  Request pull(ServerClient const& servers, std::size_t server) {
    ElementRange const range = servers.range(server);
    return servers.group().ireceive(mirrors_[server].bind(parameters_.data() + range.begin, range.size()),
                                    servers.rank(server), server_tags::weights);
  }
  /// Copies the received weights of all servers into the arena. Call it after `pull` of each.
  void take_pulled() {
    for (auto const& mirror : mirrors_) mirror.push_all(partitions_.context().space());
  }

  /// Overwrites the arena's elements from `offset` on. Not collective.
  void assign(std::size_t offset, std::span<T const> values) {
    copy_view(space_view<Space>(parameters_.data() + offset, values.size()), host_view(values));
  }

  /// Sums of this process's batches.
  std::vector<double> totals(Phase phase) const { return partitions_.totals().sum(phase); }
  /// The running sums of the epoch's training, of each partition.
  std::vector<double> sums() const { return partitions_.totals().all(Phase::train); }
  void set_sums(std::span<double> sums) { partitions_.totals().set(Phase::train, sums); }
  /// The penalty of all weights.
  double penalty() { return this->mean_penalty(Phase::test, 1); }

  /// Counts and hashes of the gradients sent to each server.
  std::vector<GradientLedger> const& pushed() const { return pushed_; }

 private:
  using Base::parameters_;
  using Base::partitions_;
  using Base::processes_;

  std::vector<GradientLedger> pushed_;
  std::vector<HostMirror<T, Space>> mirrors_;
};

}  // namespace trireme
