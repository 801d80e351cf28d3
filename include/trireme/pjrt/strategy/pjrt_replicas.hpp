/// PjrtReplicas: replicas of a model on the devices of a PJRT client, with weights and the optimizer's state on each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/pjrt/strategy/pjrt_arrays.hpp"
#include "trireme/pjrt/strategy/pjrt_model_programs.hpp"
#include "trireme/strategies/engine/optimizer_progress.hpp"
#include "trireme/strategies/engine/require_same.hpp"

namespace trireme {

/// Parts of PjrtEngine: the replicas of one process, which are devices of its client, or rows of devices, and hold the
/// same values. The host reads and sets them here; the engine trains them.
template <class ModelType, class GroupType>
class PjrtReplicas {
 public:
  using Model = ModelType;
  using Group = GroupType;
  using T = typename Model::scalar;
  /// The weights at one moment, on the devices, which may outlive the model.
  using Snapshot = std::shared_ptr<pjrt::ArenaArrays<T> const>;

  /// Collective: the chief's initial weights are broadcast. `cache`: a folder for compiled programs, or empty.
  PjrtReplicas(Model model, std::shared_ptr<Group const> group, std::shared_ptr<pjrt::Client const> client,
               std::size_t replicas, std::size_t shards, std::string const& cache)
      : model_(std::move(model)),
        group_(std::move(group)),
        client_(std::move(client)),
        replicas_(replicas),
        programs_(client_, replicas, lowering::ModelPrograms<Model>(model_, 1, replicas).division(shards), cache,
                  [group = group_](std::span<double> values) { group->allreduce_sum(values); }),
        optimizer_(model_.optimizer()) {
    detail::require_same(*group_, replicas, [](std::size_t rank) {
      return formatted("rank {} has another number of replicas than rank 0", rank);
    });
    detail::require_same(*group_, shards, [](std::size_t rank) {
      return formatted("rank {} has another number of devices for each replica than rank 0", rank);
    });
    std::vector<T> values(description().arena_elements());
    model_.initialize(values);
    set_parameters(values);
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      std::fill(values.begin(), values.end(), static_cast<T>(model_.optimizer().initial(slot)));
      slots_.push_back(on_devices(values, false));
    }
  }

  Model const& model() const { return model_; }
  /// Table of the model's layers and weights.
  ModelDescription const& description() const { return model_.description(); }
  Group const& group() const { return *group_; }
  /// Client of this process's devices.
  pjrt::Client const& client() const { return *client_; }
  /// Replicas of this process.
  std::size_t replicas() const { return replicas_; }
  /// Devices of a replica, which divide some of the weights, and of all replicas.
  std::size_t shards() const { return programs_.division().shards; }
  /// Devices of all replicas.
  std::size_t devices() const { return replicas_ * shards(); }
  /// Weights that a device holds, in elements.
  std::size_t weights_on_device() const { return weights_.elements_on_device(); }
  /// Programs of the model, compiled where they are needed.
  auto& programs() { return programs_; }
  auto const& programs() const { return programs_; }
  /// The weights are here, since reading and setting them takes programs, devices and group.
  PjrtReplicas& weights() { return *this; }
  PjrtReplicas const& weights() const { return *this; }
  /// Steps and rate; the slots are here, beside the weights.
  auto& optimizer() { return optimizer_; }
  auto const& optimizer() const { return optimizer_; }

  /// Sets or takes the weights, a program's first arguments or results. \return the index after them
  template <class Program>
  std::size_t give_weights(Program& run, std::size_t device) const {
    return weights_.give(run, device, 0);
  }
  /// The same with the slots behind them.
  template <class Program>
  std::size_t give_state(Program& run, std::size_t device) const {
    std::size_t index = give_weights(run, device);
    for (auto const& slot : slots_) index = slot.give(run, device, index);
    return index;
  }
  /// Takes weights and slots, a program's first results. \return the index after them
  template <class Program>
  std::size_t take_state(Program& run, std::size_t device) {
    std::size_t index = weights_.take(run, device, 0);
    for (auto& slot : slots_) index = slot.take(run, device, index);
    return index;
  }

  Snapshot snapshot() const { return std::make_shared<pjrt::ArenaArrays<T> const>(copied(weights_)); }
  void restore(Snapshot const& snapshot) { weights_ = copied(*snapshot); }

  /// All weights of a snapshot, on the chief. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    return group_->is_chief() ? snapshot->to_host(0, description()) : std::vector<T>();
  }
  /// The snapshot with the chief's weights. Collective.
  Snapshot scatter(std::vector<T>& values) const {
    values.resize(description().arena_elements());
    group_->broadcast(values);
    return std::make_shared<pjrt::ArenaArrays<T> const>(on_devices(values));
  }

  /// Does not compile, since there is no arena to view.
  template <class M = Model>
  auto parameters() const {
    static_assert(sizeof(M) == 0,
                  "trireme: weights on a PJRT device cannot be viewed; read and set them by weights and set_weights");
    return Kokkos::View<T*, Kokkos::HostSpace>();
  }
  /// A copy of the weights on the host, laid out as an arena. Not collective.
  std::vector<T> host_parameters() const { return weights_.to_host(0, description()); }
  /// Elements [offset, offset + count) of that arena. Not collective.
  std::vector<T> host_values(std::size_t offset, std::size_t count) const {
    auto const all = host_parameters();
    auto const begin = all.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  /// Overwrites the weights on every process with the chief's values. Collective.
  void set_parameters(std::span<T> values) {
    group_->broadcast(values);
    weights_ = on_devices(values);
  }
  /// The same for elements of that arena from `offset` on.
  void set_values(std::size_t offset, std::span<T> values) {
    auto all = host_parameters();
    std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(offset));
    set_parameters(all);
  }

  std::size_t slots() const { return model_.optimizer().slots(); }
  void set_slot(std::size_t slot, std::span<T> values) {
    group_->broadcast(values);
    slots_[slot] = on_devices(values, false);
  }

  /// Sends the complete state to the chief: fills `state` there (parameters, slots, iteration, learning_rate).
  /// Collective; sends nothing here, since every process holds the complete state.
  template <class State>
  void gather_state(State& state) const {
    optimizer_.store(state);
    if (!group_->is_chief()) return;
    state.parameters = host_parameters();
    for (auto const& slot : slots_) state.slots.push_back(slot.to_host(0, description()));
  }

  /// Estimate of the memory. The compiler does not report its workspace, so this counts the activations of the batch
  /// and their gradients.
  MemoryUse memory_use(std::size_t rows) const {
    return {model_.cost(), slots(), group_->size(), rows, 2 * rows * model_.cost().activation_bytes};
  }

  /// Checks that the weights of replicas and processes are the same to the bit, any NaN as another; they differ after a
  /// faulty reduction. Collective. \throws Error if they differ
  void verify_replicas() const {
    if (devices() == 1 && group_->size() == 1) return;
    auto const hash = [&](std::size_t replica) { return data::hash_numbers(weights_.to_host(replica, description())); };
    std::uint64_t const first = hash(0);
    bool differ = false;
    for (std::size_t r = 1; r < replicas_; ++r) differ = differ || hash(r) != first;
    for (std::size_t r = 0; r < replicas_ && shards() > 1; ++r) differ = differ || !weights_.copies_agree(r);
    if (group_->allreduce_or(differ).value())
      raise_uniform(Error(formatted("the weights of some replicas differ after step {}", optimizer_.iteration())));
    if (group_->size() == 1) return;
    detail::require_same(*group_, first, [&](std::size_t rank) {
      return formatted("the weights of rank {} differ from those of rank 0 after step {}", rank,
                       optimizer_.iteration());
    });
  }

  /// Placement as readable text, on which the bits of a result depend: a run is resumed under the same placement. Not
  /// collective.
  std::string placement() const {
    return formatted("{} processes with {} replicas each{} as programs for {}", group_->size(), replicas_,
                     shards() > 1 ? formatted(" of {} devices", shards()) : std::string(), client_->platform());
  }

 private:
  pjrt::ArenaArrays<T> on_devices(std::span<T const> arena, bool all_weights = true) const {
    return {*client_, replicas_, programs_.division(), description(), arena, all_weights};
  }
  pjrt::ArenaArrays<T> copied(pjrt::ArenaArrays<T> const& arrays) const {
    pjrt::Executable& copy = programs_.copy(model_);
    for (std::size_t d = 0; d < devices(); ++d) arrays.give(copy, d, 0);
    copy.run();
    pjrt::ArenaArrays<T> copies(copy, arrays);
    for (std::size_t d = 0; d < devices(); ++d) copy.take_event(d).await();
    return copies;
  }

  Model model_;
  std::shared_ptr<Group const> group_;
  std::shared_ptr<pjrt::Client const> client_;
  std::size_t replicas_;
  mutable pjrt::ModelPrograms<Model> programs_;  // compiled when they are first needed
  pjrt::ArenaArrays<T> weights_;
  std::vector<pjrt::ArenaArrays<T>> slots_;
  OptimizerProgress<typename Model::Optimizer> optimizer_;
};

}  // namespace trireme
