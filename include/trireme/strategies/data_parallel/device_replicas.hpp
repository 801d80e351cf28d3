/// DeviceReplicas: the engines of one process's devices, with the weights and optimizer state of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/mpi/group_threads.hpp"
#include "trireme/mpi/single_process.hpp"

namespace trireme {

/// The weights of all devices. What they have alike, such as weights for a file, is the first one's.
template <class Devices>
class MirroredWeights {
  using DeviceEngine = typename Devices::DeviceEngine;
  using T = typename DeviceEngine::T;

 public:
  /// The weights of each device at one moment, in its memory.
  using Snapshot = typename Devices::Snapshot;

  /// Weights of these engines, which have to outlive this object.
  explicit MirroredWeights(Devices& devices) : devices_(&devices) {}

  /// Execution space of the first device.
  auto const& space() const { return chief().space(); }

  Snapshot snapshot() const {
    Snapshot all(devices_->size());
    devices_->on_all([&](auto& replica, std::size_t device) { all[device] = replica.weights().snapshot(); });
    return all;
  }
  void restore(Snapshot const& snapshot) const {
    devices_->on_all([&](auto& replica, std::size_t device) { replica.weights().restore(snapshot[device]); });
  }
  std::vector<T> gather(Snapshot const& snapshot) const { return chief().gather(snapshot[0]); }
  Snapshot scatter(std::vector<T> const& values) const {
    Snapshot all(devices_->size());
    devices_->on_all([&](auto& replica, std::size_t device) {
      std::vector<T> own = values;
      all[device] = replica.weights().scatter(own);
    });
    return all;
  }

  /// The arena of the first device, in its memory.
  auto const& parameters() const { return chief().parameters(); }
  std::vector<T> host_parameters() const { return chief().host_parameters(); }
  std::vector<T> host_values(std::size_t offset, std::size_t count) const { return chief().host_values(offset, count); }
  void set_parameters(std::span<T> values) const { set_values(0, values); }
  void set_values(std::size_t offset, std::span<T> values) const {
    devices_->on_all([&](auto& replica, std::size_t) { replica.weights().set_values(offset, values); });
  }

 private:
  auto const& chief() const { return std::as_const(devices_->chief()).weights(); }

  Devices* devices_;
};

/// The optimizers of all devices, which take the same steps.
template <class Devices>
class MirroredOptimizer {
 public:
  /// Optimizers of these engines, which have to outlive this object.
  explicit MirroredOptimizer(Devices& devices) : devices_(&devices) {}

  std::uint64_t iteration() const { return chief().iteration(); }
  bool has_schedule() const { return chief().has_schedule(); }
  double learning_rate() const { return chief().learning_rate(); }
  void set_iteration(std::uint64_t iteration) const {
    devices_->for_each([&](auto& replica) { replica.optimizer().set_iteration(iteration); });
  }
  void set_learning_rate(double rate) const {
    devices_->for_each([&](auto& replica) { replica.optimizer().set_learning_rate(rate); });
  }

 private:
  decltype(auto) chief() const { return std::as_const(devices_->chief()).optimizer(); }

  Devices* devices_;
};

/// Parts of MirroredEngine: an engine for each device, over the ThreadGroup of the threads that drive them.
template <class DeviceEngineType>
class DeviceReplicas {
 public:
  using DeviceEngine = DeviceEngineType;
  using Model = typename DeviceEngine::Model;
  using Group = SingleProcess;
  using Space = typename DeviceEngine::Space;
  using T = typename Model::scalar;
  using Snapshot = std::vector<typename DeviceEngine::Snapshot>;

  /// \param replicas  of each device, which run in turn.
  template <class... Options>
  DeviceReplicas(Model model, std::vector<Space> const& devices, std::shared_ptr<SingleProcess const> group,
                 std::size_t replicas, Parallelism plan, Options const&... options)
      : model_(checked(std::move(model), devices.size())),
        group_(std::move(group)),
        threads_(std::make_unique<GroupThreads>(devices.size())),
        replicas_(devices.size()) {
    threads_->run([&](std::size_t device) {
      replicas_[device] =
          std::make_unique<DeviceEngine>(model_, devices[device], threads_->group(device), replicas, plan, options...);
    });
  }
  /// Adapts the engine of each device.
  template <class Other>
  explicit DeviceReplicas(DeviceReplicas<Other>&& other)
      : model_(std::move(other.model_)),
        group_(std::move(other.group_)),
        threads_(std::move(other.threads_)),
        replicas_(other.replicas_.size()) {
    threads_->run([&](std::size_t device) {
      replicas_[device] = std::make_unique<DeviceEngine>(std::move(*other.replicas_[device]));
    });
  }

  Model const& model() const { return model_; }
  SingleProcess const& group() const { return *group_; }
  auto weights() { return MirroredWeights(*this); }
  auto weights() const { return MirroredWeights(*this); }
  auto optimizer() { return MirroredOptimizer(*this); }
  auto optimizer() const { return MirroredOptimizer(*this); }

  /// Number of devices.
  std::size_t size() const { return replicas_.size(); }
  /// Devices that may keep a copy of the inputs of all samples.
  std::size_t input_copies() const { return is_host_space<Space> ? 0 : size(); }
  /// The engine of one device.
  DeviceEngine const& operator[](std::size_t device) const { return *replicas_[device]; }
  DeviceEngine& operator[](std::size_t device) { return *replicas_[device]; }
  /// Engine of the first device.
  DeviceEngine& chief() { return *replicas_[0]; }
  DeviceEngine const& chief() const { return *replicas_[0]; }
  /// The group of a device's thread.
  ThreadGroup const& threads(std::size_t device) const { return *threads_->group(device); }

  /// f(replica, device) for all devices at once, each on its thread.
  template <class F>
  void on_all(F const& f) {
    threads_->run([&](std::size_t device) { f(*replicas_[device], device); });
  }
  template <class F>
  void on_all(F const& f) const {
    threads_->run([&](std::size_t device) { f(std::as_const(*replicas_[device]), device); });
  }
  /// The same; returns the first one's result.
  template <class F>
  auto of_first(F const& f) {
    std::optional<decltype(f(chief(), std::size_t{0}))> first;
    on_all([&](DeviceEngine& replica, std::size_t device) {
      auto result = f(replica, device);
      if (device == 0) first.emplace(std::move(result));
    });
    return *std::move(first);
  }
  /// f(replica) for one device after the other.
  template <class F>
  void for_each(F const& f) {
    for (auto const& replica : replicas_) f(*replica);
  }

  void reset_metrics(Phase phase) {
    on_all([&](DeviceEngine& replica, std::size_t) { replica.reset_metrics(phase); });
  }
  /// Loss and metrics since the reset, exact over all devices.
  auto metrics(Phase phase) {
    return of_first([&](DeviceEngine& replica, std::size_t) { return replica.metrics(phase); });
  }

  std::size_t slots() const { return chief().slots(); }
  void set_slot(std::size_t slot, std::span<T> values) {
    on_all([&](DeviceEngine& replica, std::size_t) { replica.set_slot(slot, values); });
  }
  template <class State>
  void gather_state(State& state) const {
    chief().gather_state(state);
  }

  void verify_replicas() const {
    on_all([](DeviceEngine const& replica, std::size_t) { replica.verify_replicas(); });
  }
  std::string placement() const
    requires requires(DeviceEngine const& engine) { engine.placement(); }
  {
    return chief().placement();
  }
  /// Memory of each device, for its part of batches of up to `rows` rows.
  MemoryUse memory_use(std::size_t rows) const {
    MemoryUse use = chief().memory_use((rows + size() - 1) / size());
    use.rows = rows;
    return use;
  }

 private:
  template <class>
  friend class DeviceReplicas;

  /// \throws ValueError if the application keeps the parameters, in memory of one device.
  static Model checked(Model model, std::size_t devices) {
    if constexpr (requires { model.parameter_view(); })
      if (devices > 1)
        throw ValueError(formatted(
            "a model whose parameters lie in a View of the application's trains on one device, not on {}: each needs "
            "parameters of its own",
            devices));
    return model;
  }

  Model model_;
  std::shared_ptr<SingleProcess const> group_;
  std::unique_ptr<GroupThreads> threads_;
  std::vector<std::unique_ptr<DeviceEngine>> replicas_;
};

}  // namespace trireme
