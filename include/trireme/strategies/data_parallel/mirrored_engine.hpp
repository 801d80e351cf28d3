/// MirroredEngine: the engine of one process with several devices, each with a replica of the model.
#pragma once

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
#include "trireme/core/error.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/mpi/group_threads.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/engine/member_archive.hpp"

namespace trireme {

/// Owner of an engine for each device, over the ThreadGroup of the threads that drive them. A call runs on all devices,
/// each on its rows; what all have alike, such as weights for a file, is the first one's.
///
/// \tparam DeviceEngineType  the engine of a device, such as DataParallel<Model, Space, ThreadGroup>.
template <class DeviceEngineType>
class MirroredEngine : public EngineBase<typename DeviceEngineType::Model, SingleProcess> {
  using Base = EngineBase<typename DeviceEngineType::Model, SingleProcess>;

 public:
  using DeviceEngine = DeviceEngineType;
  using Space = typename DeviceEngine::Space;
  using typename Base::L;
  using typename Base::Model;
  using typename Base::T;
  /// The weights of each device at one moment, in its memory.
  using Snapshot = std::vector<typename DeviceEngine::Snapshot>;
  /// With another engine on each device, which is constructed from this one's.
  template <template <class> class Adapt>
  using Adapted = MirroredEngine<Adapt<DeviceEngine>>;

  /// \param replicas  of each device, which run in turn.
  template <class... Options>
  MirroredEngine(Model model, std::vector<Space> const& devices, std::shared_ptr<SingleProcess const> group,
                 std::size_t replicas, Parallelism plan, Options const&... options)
      : Base(checked(std::move(model), devices.size()), std::move(group)),
        threads_(std::make_unique<GroupThreads>(devices.size())),
        replicas_(devices.size()) {
    threads_->run([&](std::size_t device) {
      replicas_[device] =
          std::make_unique<DeviceEngine>(model_, devices[device], threads_->group(device), replicas, plan, options...);
    });
  }
  /// Adapts the engine of each device.
  template <class Other>
  explicit MirroredEngine(MirroredEngine<Other>&& other)
      : Base(std::move(static_cast<Base&>(other))),
        threads_(std::move(other.threads_)),
        replicas_(other.replicas_.size()) {
    threads_->run([&](std::size_t device) {
      replicas_[device] = std::make_unique<DeviceEngine>(std::move(*other.replicas_[device]));
    });
  }

  std::size_t devices() const { return replicas_.size(); }
  /// The engine of one device.
  DeviceEngine const& replica(std::size_t device) const { return *replicas_[device]; }
  DeviceEngine& replica(std::size_t device) { return *replicas_[device]; }
  /// The first device.
  Space const& space() const { return chief().space(); }

  /// Each batch whole: the process divides it among its devices.
  DataShard data_shard(Phase phase) const { return {0, 1, chief().data_shard(phase).replicas}; }
  static constexpr bool takes_scattered_rows() { return false; }

  /// One optimizer step on all devices together; may still be under way on them when it returns. Where one fails, its
  /// error is thrown, and the devices may have weights that differ.
  void train_step(Batch<T, L> const& batch) {
    on_all([&](DeviceEngine& replica, std::size_t device) { replica.train_step(rows_of(batch, device)); });
  }
  void test_step(Batch<T, L> const& batch) {
    on_all([&](DeviceEngine& replica, std::size_t device) { replica.test_step(rows_of(batch, device)); });
  }
  void predict_step(Batch<T, L> const& batch, T* out) {
    on_all([&](DeviceEngine& replica, std::size_t device) {
      auto const rows = rows_of(batch, device);
      replica.predict_step(rows, out + (rows.first_row - batch.first_row) * model_.output_size());
    });
  }
  /// y (rows, output) for x (rows, input), both in the memory of the first device, which computes it alone.
  void infer(std::size_t rows, T const* x, T* y) { chief().infer(rows, x, y); }

  void reset_metrics(Phase phase) {
    on_all([&](DeviceEngine& replica, std::size_t) { replica.reset_metrics(phase); });
  }
  /// Loss and metrics since the reset, exact over all devices.
  auto metrics(Phase phase) {
    return of_first([&](DeviceEngine& replica, std::size_t) { return replica.metrics(phase); });
  }

  std::uint64_t iteration() const { return chief().iteration(); }
  void set_iteration(std::uint64_t iteration) {
    for (auto const& replica : replicas_) replica->set_iteration(iteration);
  }
  bool has_schedule() const { return chief().has_schedule(); }
  double learning_rate() const { return chief().learning_rate(); }
  void set_learning_rate(double rate) {
    for (auto const& replica : replicas_) replica->set_learning_rate(rate);
  }

  Snapshot snapshot() const {
    Snapshot all(devices());
    on_all([&](DeviceEngine const& replica, std::size_t device) { all[device] = replica.snapshot(); });
    return all;
  }
  void restore(Snapshot const& snapshot) {
    on_all([&](DeviceEngine& replica, std::size_t device) { replica.restore(snapshot[device]); });
  }
  std::vector<T> gather(Snapshot const& snapshot) const { return chief().gather(snapshot[0]); }
  Snapshot scatter(std::vector<T> const& values) const {
    Snapshot all(devices());
    on_all([&](DeviceEngine const& replica, std::size_t device) {
      std::vector<T> own = values;
      all[device] = replica.scatter(own);
    });
    return all;
  }

  /// The arena of the first device, in its memory.
  auto const& parameters() const { return chief().parameters(); }
  std::vector<T> host_parameters() const { return chief().host_parameters(); }
  std::vector<T> host_values(std::size_t offset, std::size_t count) const { return chief().host_values(offset, count); }
  void set_parameters(std::span<T> values) { set_values(0, values); }
  void set_values(std::size_t offset, std::span<T> values) {
    on_all([&](DeviceEngine& replica, std::size_t) { replica.set_values(offset, values); });
  }
  std::size_t slots() const { return chief().slots(); }
  void set_slot(std::size_t slot, std::span<T> values) {
    on_all([&](DeviceEngine& replica, std::size_t) { replica.set_slot(slot, values); });
  }
  template <class State>
  void gather_state(State& state) const {
    chief().gather_state(state);
  }

  /// Memory of each device, for its part of batches of up to `rows` rows.
  MemoryUse memory_use(std::size_t rows) const {
    MemoryUse use = chief().memory_use((rows + devices() - 1) / devices());
    use.rows = rows;
    return use;
  }

  /// Waits for all devices.
  auto finish_epoch() {
    return of_first([](DeviceEngine& replica, std::size_t) { return replica.finish_epoch(); });
  }
  /// Throws if the devices' weights are no longer bitwise the same.
  void verify_replicas() const {
    on_all([](DeviceEngine const& replica, std::size_t) { replica.verify_replicas(); });
  }

  std::string placement() const { return chief().placement(); }

  /// State of a run besides the weights and the optimizer's state, as of so many processes.
  template <class Archive>
  void state(Archive& archive) {
    on_all([&](DeviceEngine& replica, std::size_t device) {
      MemberArchive<Archive> own(archive, *threads_->group(device));
      replica.state(own);
    });
  }

 private:
  template <class>
  friend class MirroredEngine;
  using Base::model_;

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

  DeviceEngine& chief() { return *replicas_[0]; }
  DeviceEngine const& chief() const { return *replicas_[0]; }

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

  /// The rows of a device: as even as possible, in the order of the devices.
  Batch<T, L> rows_of(Batch<T, L> const& batch, std::size_t device) const {
    RowRange const rows = row_range(batch.rows, device, devices());
    Batch<T, L> part = batch;
    if (part.x) part.x += rows.begin * model_.input_size();
    if (part.y) part.y += rows.begin * model_.target_size();
    if (part.weight) part.weight += rows.begin;
    part.rows = rows.end - rows.begin;
    part.first_row += rows.begin;
    return part;
  }

  std::unique_ptr<GroupThreads> threads_;
  std::vector<std::unique_ptr<DeviceEngine>> replicas_;
};

}  // namespace trireme
