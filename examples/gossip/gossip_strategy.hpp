// A strategy of one's own: no rank waits for more than one other. Each steps on the gradients of its own rows, then
// takes the mean of its weights and those of its partner of this round; at the end of an epoch all agree.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <trireme/trireme.hpp>

template <class Model, class Space>
class GossipPart : public trireme::LocalReplica<Model, Space> {
  using Base = trireme::LocalReplica<Model, Space>;

 public:
  using typename Base::L;
  using typename Base::T;

  GossipPart(Model model, Space const& space, std::shared_ptr<trireme::Communicator const> world, trireme::Plan plan)
      : Base(std::move(model), space, std::move(world), plan), theirs_(this->parameters_.extent(0)) {
    static_assert(trireme::is_host_space<Space>, "gossip: weights are exchanged where the host reads them");
  }

  void train_step(trireme::Batch<T, L> const& batch) {
    this->step_on_own_rows(batch);
    average_with_partner();
  }

  trireme::Uniform<bool> drain() {
    this->average_weights();
    return Base::drain();
  }

 private:
  /// Neighbours meet in pairs, with the one and the other side in turn; who is left over waits a round.
  void average_with_partner() {
    std::size_t const rank = this->group_->rank(), round = this->iteration();
    std::size_t const partner = (rank + round) % 2 == 0 ? rank + 1 : rank - 1;
    if (partner >= this->group_->size()) return;  // rank 0 has none before it: 0 - 1 is the largest number
    std::span<T> const own(this->parameters_.data(), this->parameters_.extent(0));
    auto sending = this->group_->isend(std::span<T const>(own), partner);
    this->group_->receive(theirs_, partner);
    sending.wait();
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = (own[i] + theirs_[i]) / 2;
  }

  std::vector<T> theirs_;
};

template <class SpaceType = Kokkos::DefaultExecutionSpace>
class GossipStrategy {
 public:
  using Space = SpaceType;
  template <class Model>
  using Part = GossipPart<Model, Space>;

  explicit GossipStrategy(trireme::Communicator const& world)
      : world_(std::make_shared<trireme::Communicator>(world.duplicate())) {}
  trireme::Communicator const& group() const { return *world_; }
  template <class Model>
  Part<Model> place(Model model, trireme::Plan plan) const {
    return Part<Model>(std::move(model), Space(), world_, plan);
  }

 private:
  std::shared_ptr<trireme::Communicator const> world_;
};
