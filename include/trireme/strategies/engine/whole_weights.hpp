/// WholeWeights: the weights of an engine that holds all of them, as every process does.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trireme/backend/execution/views.hpp"
#include "trireme/strategies/engine/initial_parameters.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// One arena in the space's memory, bitwise the same on every process.
template <class T, class SpaceType, class Group>
class WholeWeights {
 public:
  using Parameters = Arena<T, SpaceType>;
  /// The weights at one moment, in the space's memory.
  using Snapshot = Parameters;

  /// Collective: the chief's initial weights are broadcast.
  template <class Model>
  WholeWeights(Model const& model, SpaceType const& space, std::shared_ptr<Group const> group)
      : group_(std::move(group)), space_(space), parameters_(parameter_arena<Parameters>(space, model)) {
    std::vector<T> initial = initial_parameters(model);
    set_parameters(initial);
  }

  /// The instance that the engine computes on, in whose memory the weights are.
  SpaceType const& space() const { return space_; }

  /// Moves the arena to `values`, which other processes read within steps.
  void place(T* values) {
    Parameters const placed(values, size());
    copy_view(placed, parameters_);
    parameters_ = placed;
  }

  Snapshot snapshot() const { return clone_view(space_, "trireme::snapshot", parameters_); }
  void restore(Snapshot const& snapshot) { copy_view(parameters_, snapshot); }

  /// The complete snapshot, on the chief. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    return group_->is_chief() ? to_host(snapshot) : std::vector<T>();
  }
  /// The chief's complete snapshot, on every process. Collective.
  Snapshot scatter(std::vector<T>& values) const {
    values.resize(size());
    group_->broadcast(values);
    return snapshot_of(values);
  }

  /// Elements of the arena.
  std::size_t size() const { return parameters_.extent(0); }
  /// First element of the arena, in the space's memory.
  T* data() const { return parameters_.data(); }
  /// The arena itself, in the space's memory.
  Parameters const& parameters() const { return parameters_; }
  /// A copy of the arena on the host. Not collective.
  std::vector<T> host_parameters() const { return to_host(parameters_); }
  /// Elements [offset, offset + count) of it. Not collective.
  std::vector<T> host_values(std::size_t offset, std::size_t count) const {
    std::vector<T> values(count);
    copy_view(host_view(values), space_view<SpaceType>(data() + offset, count));
    return values;
  }
  /// Overwrites the arena on every process with the chief's values. Collective.
  void set_parameters(std::span<T> values) { set_values(0, values); }
  /// The same for its elements from `offset` on.
  void set_values(std::size_t offset, std::span<T> values) {
    group_->broadcast(values);
    assign(offset, values);
  }
  /// The same with this process's own values. Not collective.
  void assign(std::size_t offset, std::span<T const> values) {
    copy_view(space_view<SpaceType>(data() + offset, values.size()), host_view(values));
  }

 protected:
  Snapshot snapshot_of(std::span<T const> values) const {
    auto const copy = uninitialized_view<Snapshot>(space_, "trireme::snapshot", values.size());
    copy_view(copy, host_view(values));
    return copy;
  }

  std::shared_ptr<Group const> group_;

 private:
  SpaceType space_;
  Parameters parameters_;
};

}  // namespace trireme
