// A strategy of one's own: no rank waits for more than one other. Each steps on the gradients of its own rows, then
// takes the mean of its weights and those of its partner of this round; at the end of an epoch all take the mean.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trireme/trireme.hpp>

template <class T, class Space>
class GossipSynchronization {
  static_assert(trireme::is_host_space<Space>, "gossip: weights are exchanged where the host reads them");
  using Weights = trireme::LocalWeights<T, Space>;

 public:
  static constexpr bool local_steps = true;

  GossipSynchronization(trireme::Communicator const& world, Space const&, trireme::ModelDescription const&)
      : world_(&world) {}

  /// Neighbours meet in pairs, with the one and the other side in turn; who is left over waits a round.
  void after_update(Weights const& weights) {
    std::size_t const rank = world_->rank();
    std::size_t const partner = (rank + weights.step) % 2 == 0 ? rank + 1 : rank - 1;
    if (partner >= world_->size()) return;  // rank 0 has none before it: 0 - 1 is the largest number
    weights.context.fence("gossip: the step is complete");
    std::span<T> const own(weights.values, weights.size);
    theirs_.resize(own.size());
    auto sending = world_->isend(std::span<T const>(own), partner);
    world_->receive(theirs_, partner);
    sending.wait();
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = (own[i] + theirs_[i]) / 2;
  }

  void at_epoch_end(Weights const& weights) {
    weights.context.fence("gossip: the epoch's steps are complete");
    std::span<T> const own(weights.values, weights.size);
    world_->allreduce_sum(own);
    for (T& weight : own) weight /= static_cast<T>(world_->size());
  }

  std::string placement() const { return "with partners"; }

 private:
  trireme::Communicator const* world_;
  std::vector<T> theirs_;
};

template <class SpaceType = Kokkos::DefaultHostExecutionSpace>
class GossipStrategy {
 public:
  using Space = SpaceType;
  template <class Model>
  using Engine =
      trireme::DataParallel<Model, Space, trireme::Communicator, GossipSynchronization<typename Model::scalar, Space>>;

  explicit GossipStrategy(trireme::Communicator const& world)
      : world_(std::make_shared<trireme::Communicator>(world.duplicate())) {}
  trireme::Communicator const& group() const { return *world_; }
  template <class Model>
  Engine<Model> build(Model model, trireme::Parallelism parallelism) const {
    return Engine<Model>(std::move(model), Space(), world_, 1, parallelism);
  }

 private:
  std::shared_ptr<trireme::Communicator const> world_;
};
