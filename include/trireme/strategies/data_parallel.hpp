/// Data parallelism: every process holds the whole model and trains on its share of each global batch.
///
/// What `place` of OneDeviceStrategy, MirroredStrategy and MultiWorkerMirroredStrategy returns. They differ in the
/// group of processes (`Group`: SingleProcess or Communicator) and in the number of replicas within one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <Kokkos_Core.hpp>

#include "trireme/backend/profiling.hpp"
#include "trireme/backend/views.hpp"
#include "trireme/callbacks/logs.hpp"
#include "trireme/collectives/gradient_buckets.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/checksum.hpp"
#include "trireme/strategies/device_batch.hpp"
#include "trireme/strategies/lanes.hpp"
#include "trireme/strategies/model_plan.hpp"
#include "trireme/strategies/optimizer_update.hpp"
#include "trireme/strategies/plan.hpp"

namespace trireme {

template <class ModelType, class SpaceType, class Group>
class DataParallel {
 public:
  using Model = ModelType;
  using Space = SpaceType;
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Parameters = Arena<T, Space>;
  /// The weights at one moment, where they lie.
  using Snapshot = Parameters;

  /// Collective: the chief's initial weights are broadcast.
  DataParallel(Model model, Space const& space, std::shared_ptr<Group const> group, std::size_t replicas, Plan plan,
               std::size_t bucket_bytes = 0, Exchange exchange = Exchange::automatic)
      : model_(std::move(model)),
        group_(std::move(group)),
        lanes_(space, model_,
               plan_model(model_.description(), plan, replicas, static_cast<std::size_t>(space.concurrency()),
                          sizeof(T), is_host_space<Space>)),
        updater_(model_.optimizer(), model_.description()),
        buckets_(*group_, space, model_.description(), bucket_bytes, exchange),
        batch_(model_.input_size(), model_.target_size()),
        processes_(*group_),
        parameters_(make_view<Parameters>("trireme::parameters", model_.description().arena_elements())),
        penalty_(make_view<Penalty>("trireme::penalty", 1)) {
    if (auto* const shared = buckets_.shared()) lanes_.place_gradients(shared->arena());
    std::vector<T> initial(parameters_.extent(0));
    model_.initialize(initial);
    set_parameters(initial);
  }

  Model const& model() const { return model_; }
  Group const& group() const { return *group_; }
  /// Which part of each global batch this process draws.
  Share share() const { return {group_->rank(), group_->size(), group_->size() * lanes_.plan().replicas}; }

  /// Whether the rows of a batch may lie apart: each thread then puts its own together.
  bool takes_scattered_rows() const { return lanes_.plan().rows; }

  /// How gradients of several processes come together.
  GradientBuckets<T, Space, Group>& buckets() { return buckets_; }

  /// One optimizer step on the global batch, of which `batch` is this process's part (possibly empty). Collective; may
  /// still be under way on the device when it returns.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    auto const slice = batch_.upload(lanes_.context().space(), batch);
    double const positions = global_positions(batch);
    StepKeys const keys{.seed = model_.seed(),
                        .step = updater_.iteration(),
                        .first_row = batch.first_row,
                        .global_rows = batch.global_rows};
    double const scale = positions > 0 ? 1.0 / positions : 0.0;
    if (updates_in_region()) {
      auto const step = updater_.next_step(parameters_.data(), lanes_.gradients());
      std::size_t const trained = model_.description().elements;
      lanes_.train(model_, slice, scale, parameters_.data(), keys, nullptr, &processes_,
                   [&](ThreadContext const& context, std::size_t begin, std::size_t end) {
                     if (begin < trained)
                       context.for_each("trireme::optimizer_step", std::min(end, trained) - begin, step.from(begin));
                   });
      updater_.move_states(lanes_.context(), parameters_.data(), lanes_.gradients(), batch.global_rows);
      return;
    }
    buckets_.begin(lanes_.gradients());
    lanes_.train(model_, slice, scale, parameters_.data(), keys, buckets_.listener(), &processes_);
    if (auto* const shared = buckets_.shared(); shared && updater_.changes_only_parameters()) {
      shared->for_each_sum(kernels::StepOfSums{updater_.next_step(parameters_.data(), lanes_.gradients())});
      return;
    }
    buckets_.finish();
    updater_.apply(lanes_.context(), parameters_.data(), lanes_.gradients(), positions, penalty_.data());
    updater_.move_states(lanes_.context(), parameters_.data(), lanes_.gradients(), batch.global_rows);
  }

  /// Adds this process's part of a batch to the test metrics. Not collective.
  void test_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::test_step");
    lanes_.test(model_, batch_.upload(lanes_.context().space(), batch), parameters_.data());
  }

  /// Predictions for this process's rows, (rows, output) in host memory. Not collective.
  void predict_step(Batch<T, L> const& batch, T* out) {
    auto const slice = batch_.upload(lanes_.context().space(), {.x = batch.x, .rows = batch.rows});
    Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(out, batch.rows * model_.output_size());
    if constexpr (is_host_space<Space>) {
      lanes_.predict(model_, slice.rows, slice.x, out, parameters_.data());
    } else {
      Kokkos::View<T*, typename Space::memory_space> const y("trireme::prediction", host.extent(0));
      lanes_.predict(model_, slice.rows, slice.x, y.data(), parameters_.data());
      copy_view(host, y);
    }
    lanes_.context().fence("trireme: predictions complete");
  }

  /// y (rows, output) for x (rows, input), both in the space's memory; not collective.
  void infer(std::size_t rows, T const* x, T* y) { lanes_.predict(model_, rows, x, y, parameters_.data()); }

  void reset_metrics(Phase phase) {
    lanes_.reset(phase);
    if (phase == Phase::train) fill_view(penalty_, 0);
  }

  /// Loss and metrics since the reset, exact over all processes. Collective.
  Uniform<std::array<double, Model::log_names.size()>> metrics(Phase phase) {
    std::vector<double> totals = lanes_.totals(phase);
    group_->sum(totals);
    auto values = model_.results(totals.data());
    if (updater_.penalized() && totals[1] > 0) values[0] += mean_penalty(phase, totals[1]);
    return detail::UniformAccess::make(values);
  }

  /// A wish of this process becomes a decision of all. Collective.
  Uniform<bool> agree(bool wish) const { return group_->any(wish); }

  std::uint64_t iteration() const { return updater_.iteration(); }
  bool has_schedule() const { return updater_.has_schedule(); }
  double learning_rate() const { return updater_.learning_rate(); }
  void set_learning_rate(double rate) { updater_.set_learning_rate(rate); }

  Snapshot snapshot() const {
    Snapshot copy(Kokkos::view_alloc(Kokkos::WithoutInitializing, "trireme::snapshot"), parameters_.extent(0));
    copy_view(copy, parameters_);
    return copy;
  }
  void restore(Snapshot const& snapshot) { copy_view(parameters_, snapshot); }

  /// The arena itself, in the space's memory.
  Parameters const& parameters() const { return parameters_; }
  /// A copy of the arena on the host. Not collective.
  std::vector<T> host_parameters() const { return to_host(parameters_); }
  /// Overwrites the arena on every process with the chief's values. Collective.
  void set_parameters(std::span<T> values) {
    group_->broadcast(values);
    copy_view(parameters_, HostView(values.data(), values.size()));
  }

  /// Sends the complete state to the chief: fills `state` there (parameters, slots, iteration, learning_rate).
  /// Collective; here every process holds everything, so nothing travels.
  template <class State>
  void stream_to(State& state) const {
    state.iteration = static_cast<std::int64_t>(updater_.iteration());
    if (!has_schedule()) state.learning_rate = static_cast<T>(learning_rate());
    if (!group_->is_chief()) return;
    state.parameters = host_parameters();
    for (auto const& slot : updater_.slots()) state.slots.push_back(to_host(slot));
  }

  /// What this process takes for batches of up to `rows` rows of its own, and what it gives to a step's reduction.
  MemoryUse memory_use(std::size_t rows) const {
    return {model_.cost(), slots(), group_->size(), rows, lanes_.workspace_bytes(model_, rows)};
  }

  std::size_t slots() const { return updater_.slots().size(); }
  void set_slot(std::size_t slot, std::span<T> values) {
    group_->broadcast(values);
    copy_view(updater_.slots()[slot], HostView(values.data(), values.size()));
  }
  void set_iteration(std::uint64_t iteration) { updater_.set_iteration(iteration); }

  /// Waits for what is in flight. Not collective.
  void drain() { lanes_.context().fence("trireme: epoch complete"); }

  /// Throws if the processes were given different data where all should have the same. Collective.
  template <class Data>
  void require_same_data(Data const& data) const {
    if (group_->size() == 1) return;
    require_same(data.checksum().hash, [](std::size_t rank) {
      return fmt::format(
          "the data of rank {} differ from those of rank 0; for data that each rank owns, use "
          "from_local_slices",
          rank);
    });
  }

  /// Throws if the processes' weights are no longer the same to the bit: then some reduction went wrong. Collective.
  void verify_replicas() const {
    if (group_->size() == 1) return;
    auto const weights = host_parameters();
    require_same(data::hash_bytes(weights.data(), weights.size() * sizeof(T)), [&](std::size_t rank) {
      return fmt::format("the weights of rank {} differ from those of rank 0 after step {}", rank,
                         updater_.iteration());
    });
  }

 private:
  using Penalty = Kokkos::View<double*, typename Space::memory_space>;
  using HostView = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;

  /// Positions of the global batch that the mean is over; collective only if the loss leaves some out.
  double global_positions(Batch<T, L> const& batch) const {
    if (model_.masks_positions())
      return static_cast<double>(group_->sum(model_.counted_positions(batch.y, batch.rows)).value());
    return static_cast<double>(batch.global_rows * model_.positions_per_row());
  }

  /// Whether the threads that sum the gradients may apply the optimizer to their ranges at once.
  bool updates_in_region() const { return lanes_.plan().rows && group_->size() == 1 && updater_.is_elementwise(); }

  template <class Message>
  void require_same(std::uint64_t sum, Message const& message) const {
    if (group_->min(sum).value() == group_->max(sum).value()) return;
    std::vector<std::uint64_t> const sums = group_->allgather(sum);
    auto const differs = std::find_if(sums.begin(), sums.end(), [&](std::uint64_t s) { return s != sums[0]; });
    Error error(message(static_cast<std::size_t>(differs - sums.begin())));
    error.mark_uniform();
    throw error;
  }

  template <class V>
  static std::vector<V> to_host(Kokkos::View<V*, typename Space::memory_space> const& view) {
    std::vector<V> values(view.extent(0));
    copy_view(Kokkos::View<V*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(values.data(), values.size()), view);
    return values;
  }

  /// While training the penalty changes with every step and is summed up there; in a test it is that of the weights.
  double mean_penalty(Phase phase, double positions) {
    if (phase == Phase::train) return to_host(penalty_)[0] / positions;
    auto const now = make_view<Penalty>("trireme::penalty", 1);
    updater_.add_penalty(lanes_.context(), parameters_.data(), 1.0, now.data());
    return to_host(now)[0];
  }

  Model model_;
  std::shared_ptr<Group const> group_;
  Lanes<Model, Space> lanes_;
  Updater<T, typename Model::Optimizer, SpaceContext<Space>> updater_;
  GradientBuckets<T, Space, Group> buckets_;
  DeviceBatch<T, L, Space> batch_;
  GroupSum<Group> processes_;
  Parameters parameters_;
  Penalty penalty_;
};

}  // namespace trireme
