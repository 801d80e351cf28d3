/// MirroredEngine: the engine of one process with several devices, each with a replica of the model.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/strategies/data_parallel/device_replicas.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/engine/member_archive.hpp"

namespace trireme {

/// A call runs on all devices, each on its rows.
///
/// \tparam DeviceEngineType  the engine of a device, such as DataParallel<Model, Space, ThreadGroup>.
template <class DeviceEngineType>
class MirroredEngine : public EngineBase<DeviceReplicas<DeviceEngineType>> {
  using Parts = DeviceReplicas<DeviceEngineType>;
  using Base = EngineBase<Parts>;

 public:
  using DeviceEngine = DeviceEngineType;
  using Model = typename DeviceEngine::Model;
  using Space = typename DeviceEngine::Space;
  using T = typename Model::scalar;
  using L = typename Model::label;
  /// With another engine on each device, which is constructed from this one's.
  template <template <class> class Adapt>
  using Adapted = MirroredEngine<Adapt<DeviceEngine>>;

  /// \param replicas  of each device, which run in turn.
  template <class... Options>
  MirroredEngine(Model model, std::vector<Space> const& devices, std::shared_ptr<SingleProcess const> group,
                 std::size_t replicas, Parallelism plan, Options const&... options)
      : Base(Parts(std::move(model), devices, std::move(group), replicas, plan, options...)) {}
  /// Adapts the engine of each device.
  template <class Other>
  explicit MirroredEngine(MirroredEngine<Other>&& other) : Base(Parts(std::move(other.parts_))) {}

  /// Number of devices.
  std::size_t devices() const { return parts_.size(); }
  /// The engine of one device.
  DeviceEngine const& replica(std::size_t device) const { return parts_[device]; }
  DeviceEngine& replica(std::size_t device) { return parts_[device]; }

  /// Each batch whole: the process divides it among its devices.
  DataShard data_shard(Phase phase) const { return {0, 1, parts_.chief().data_shard(phase).replicas}; }
  /// False: devices copy rows that lie together.
  static constexpr bool takes_scattered_rows() { return false; }

  /// One optimizer step on all devices together; may still be under way on them when it returns. Where one fails, its
  /// error is thrown, and the devices may have weights that differ.
  void train_step(Batch<T, L> const& batch) {
    parts_.on_all([&](DeviceEngine& replica, std::size_t device) { replica.train_step(rows_of(batch, device)); });
  }
  void test_step(Batch<T, L> const& batch) {
    parts_.on_all([&](DeviceEngine& replica, std::size_t device) { replica.test_step(rows_of(batch, device)); });
  }
  void predict_step(Batch<T, L> const& batch, T* out) {
    parts_.on_all([&](DeviceEngine& replica, std::size_t device) {
      auto const rows = rows_of(batch, device);
      replica.predict_step(rows, out + (rows.first_row - batch.first_row) * parts_.model().output_size());
    });
  }
  /// y (rows, output) for x (rows, input), both in the memory of the first device, which computes it alone.
  void infer(std::size_t rows, T const* x, T* y) { parts_.chief().infer(rows, x, y); }

  /// Waits for all devices.
  auto finish_epoch() {
    return parts_.of_first([](DeviceEngine& replica, std::size_t) { return replica.finish_epoch(); });
  }

  /// State of a run besides the weights and the optimizer's state, as of so many processes.
  template <class Archive>
  void state(Archive& archive) {
    parts_.on_all([&](DeviceEngine& replica, std::size_t device) {
      MemberArchive<Archive> own(archive, parts_.threads(device));
      replica.state(own);
    });
  }

 private:
  template <class>
  friend class MirroredEngine;
  using Base::parts_;

  /// The rows of a device: as even as possible, in the order of the devices.
  Batch<T, L> rows_of(Batch<T, L> const& batch, std::size_t device) const {
    RowRange const rows = row_range(batch.rows, device, devices());
    Batch<T, L> part = batch;
    part.x = part.x.from_row(rows.begin, parts_.model().input_size());
    if (part.y) part.y += rows.begin * parts_.model().target_size();
    if (part.weight) part.weight += rows.begin;
    part.rows = rows.size();
    part.first_row += rows.begin;
    part.device = device;
    return part;
  }
};

}  // namespace trireme
