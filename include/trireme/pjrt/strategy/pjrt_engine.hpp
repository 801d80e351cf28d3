/// PjrtEngine: a model whose steps are compiled programs, with weights and optimizer state on a PJRT client's devices.
///
/// `build` of PjrtStrategy, TPUStrategy and MultiWorkerPjrtStrategy returns it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/models/head.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/pjrt/strategy/pjrt_exchange.hpp"
#include "trireme/pjrt/strategy/pjrt_replicas.hpp"
#include "trireme/pjrt/strategy/pjrt_step.hpp"
#include "trireme/pjrt/strategy/pjrt_sums.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/engine/step.hpp"

namespace trireme {

/// Engine of the PJRT strategies. The program sums the gradients of replicas. With several processes, MPI sums theirs
/// between a program that computes gradients and one that applies them.
template <class ModelType, class GroupType>
class PjrtEngine : public EngineBase<PjrtReplicas<ModelType, GroupType>> {
  using Parts = PjrtReplicas<ModelType, GroupType>;
  using Base = EngineBase<Parts>;
  using Arguments = lowering::ModelArguments<ModelType>;
  using Inputs = pjrt::StepInputs<ModelType>;
  using Work = pjrt::BatchWork;

 public:
  using Space = Kokkos::DefaultHostExecutionSpace;
  using Model = ModelType;
  using T = typename Model::scalar;
  using L = typename Model::label;

  /// Collective: the chief's initial weights are broadcast. `cache`: a folder for compiled programs, or empty.
  PjrtEngine(Model model, std::shared_ptr<GroupType const> group, std::shared_ptr<pjrt::Client const> client,
             std::size_t replicas, std::size_t shards, std::string const& cache)
      : Base(Parts(std::move(model), std::move(group), std::move(client), replicas, shards, cache)),
        inputs_(parts_.model()),
        sums_(replicas, shards) {
    for (auto const& info : parts_.description().parameters) penalized_ = penalized_ || info.regularizer.active();
    reset_metrics(Phase::train);
    reset_metrics(Phase::test);
  }

  /// The data shard of this process: its part of each global batch.
  DataShard data_shard(Phase) const {
    return {parts_.group().rank(), parts_.group().size(), parts_.group().size() * parts_.replicas()};
  }

  /// True: scattered rows are copied together into memory that the device reads.
  bool takes_scattered_rows() const { return true; }

  /// One optimizer step on the global batch; `batch` is this process's part (possibly empty). Collective; the step may
  /// still be in flight when this returns, and `batch` may be overwritten then.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    auto const positions = global_positions(parts_.model(), parts_.group(), batch);
    auto const numbers = [&](double* to) {
      Inputs::write_numbers(to, positions, batch.global_rows, parts_.model(), parts_.optimizer().iteration(),
                            parts_.optimizer().learning_rate());
    };
    if (parts_.group().size() == 1) {
      train_alone(batch, numbers);
    } else {
      exchange_gradients(batch, numbers);
      apply_gradients(numbers);
    }
    parts_.optimizer().set_iteration(parts_.optimizer().iteration() + 1);
    sums_.penalized_rows() += static_cast<double>(batch.global_rows);
  }

  /// Adds this process's part of a batch to the test metrics. Not collective.
  void test_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::test_step");
    auto& program = parts_.programs().for_batch(Work::test, parts_.model(), batch.rows);
    auto& run = program.executable();
    program.run(
        batch, {.targets = true},
        [&](std::size_t d) {
          std::size_t const index = parts_.give_weights(run, d);
          run.set(d, index, sums_.totals(Phase::test, d));
          return index + 1;
        },
        [&](std::uint32_t* to, RowRange const& rows) { Inputs::write_rows(to, batch, rows); }, nothing);
    for (std::size_t d = 0; d < parts_.devices(); ++d) sums_.totals(Phase::test, d) = run.take(d, 0);
  }

  /// Predictions for this process's rows, (rows, output) in host memory. Not collective.
  void predict_step(Batch<T, L> const& batch, T* out) {
    auto& program = parts_.programs().for_batch(Work::predict, parts_.model(), batch.rows);
    auto& run = program.executable();
    program.run(
        batch, {.targets = false}, [&](std::size_t d) { return parts_.give_weights(run, d); }, nothing, nothing);
    std::size_t const size = parts_.model().output_size();
    predicted_.resize(program.rows() * size);
    for (std::size_t d = 0; d < parts_.devices(); ++d) {
      auto const result = run.take(d, 0);
      if (d % parts_.shards() != 0) continue;  // the same on all devices of a replica
      RowRange const rows = row_range(batch.rows, d / parts_.shards(), parts_.replicas());
      result.to_host(predicted_.data());
      std::copy_n(predicted_.data(), (rows.end - rows.begin) * size, out + rows.begin * size);
    }
  }

  /// y (rows, output) for x (rows, input), both in host memory; not collective.
  void infer(std::size_t rows, T const* x, T* y) { predict_step({.x = x, .rows = rows}, y); }

  void reset_metrics(Phase phase) { sums_.reset(parts_.client(), phase); }

  /// Loss and metrics since the reset, exact over all processes. Collective; waits for the steps in flight.
  Uniform<std::array<double, Model::log_names.size()>> metrics(Phase phase) {
    std::array<double, Model::totals_width> sums{};
    auto const of_replicas = sums_.to_host(phase);
    for (std::size_t i = 0; i < of_replicas.size(); ++i) sums[i % sums.size()] += of_replicas[i];
    parts_.group().allreduce_sum(sums);
    auto values = parts_.model().results(sums.data());
    if (penalized_) values[0] += mean_penalty(phase);
    return detail::UniformAccess::make(values);
  }

  /// Client of this process's devices.
  pjrt::Client const& client() const { return parts_.client(); }
  /// Replicas of this process.
  std::size_t replicas() const { return parts_.replicas(); }
  /// Devices of all replicas.
  std::size_t devices() const { return parts_.devices(); }
  /// Weights that a device holds, in elements.
  std::size_t weights_on_device() const { return parts_.weights_on_device(); }
  /// Number of programs so far, and of those among them that came from the cache.
  std::size_t compiled_programs() const { return parts_.programs().count(); }
  /// Number of programs that came from the cache.
  std::size_t cached_programs() const { return parts_.programs().cached(); }

  /// Waits for the steps in flight, and returns false, since no process ends an epoch by itself. Not collective.
  Uniform<bool> finish_epoch() {
    parts_.programs().wait_all();
    if (exchange_) exchange_->wait_all();
    return detail::UniformAccess::make(false);
  }

  /// State of a run besides weights and the optimizer's state: the epoch's running sums, of each process and replica.
  /// Collective.
  template <class Archive>
  void state(Archive& archive) {
    archive.placed("was placed otherwise", "placement", parts_.group(), parts_.placement());
    std::vector<double> sums = sums_.to_host(Phase::train);
    double penalty = sums_.penalty_to_host();
    archive.summands("sums", parts_.group(), sums, Model::totals_width);
    archive("penalty", penalty);
    archive("penalized_rows", sums_.penalized_rows());
    if (!archive.loads()) return;
    for (std::size_t r = 0; r < parts_.replicas(); ++r)
      sums_.set(parts_.client(), Phase::train, r, sums.data() + r * Model::totals_width, penalty);
  }

 private:
  using Base::parts_;
  static constexpr auto nothing = [](auto const&...) {};

  // ---- a training step, as one program or as two

  template <class Numbers>
  void train_alone(Batch<T, L> const& batch, Numbers const& numbers) {
    auto& program = parts_.programs().for_batch(Work::train, parts_.model(), batch.rows);
    auto& run = program.executable();
    program.run(
        batch, {.targets = true, .numbers = true},
        [&](std::size_t d) {
          std::size_t index = parts_.give_state(run, d);
          run.set(d, index++, sums_.totals(Phase::train, d));
          if (penalized_) run.set(d, index++, sums_.penalty(d));
          return index;
        },
        words_of(batch), numbers);
    for (std::size_t d = 0; d < parts_.devices(); ++d) {
      std::size_t index = parts_.take_state(run, d);
      sums_.totals(Phase::train, d) = run.take(d, index++);
      if (penalized_) sums_.penalty(d) = run.take(d, index++);
    }
  }

  /// Computes the sum of all processes' gradients into the exchange. Collective.
  template <class Numbers>
  void exchange_gradients(Batch<T, L> const& batch, Numbers const& numbers) {
    auto& program = parts_.programs().for_batch(Work::gradients, parts_.model(), batch.rows);
    auto& run = program.executable();
    program.run(
        batch, {.targets = true, .numbers = true},
        [&](std::size_t d) {
          std::size_t const index = parts_.give_weights(run, d);
          run.set(d, index, sums_.totals(Phase::train, d));
          return index + 1;
        },
        words_of(batch), numbers);
    if (!exchange_)
      exchange_.emplace(parts_.replicas(), parts_.shards(), Arguments(parts_.model(), 1, 1).change_size(),
                        Arguments::number_count);
    std::vector<pjrt::Buffer> gradients;
    for (std::size_t d = 0; d < parts_.devices(); ++d) {
      sums_.totals(Phase::train, d) = run.take(d, 0);
      gradients.push_back(run.take(d, 1));
    }
    exchange_->sum(parts_.group(), gradients[0]);
  }

  template <class Numbers>
  void apply_gradients(Numbers const& numbers) {
    pjrt::Executable& run = parts_.programs().apply(parts_.model());
    std::size_t index = 0;
    for (std::size_t d = 0; d < parts_.devices(); ++d) {
      index = parts_.give_state(run, d);
      if (penalized_) run.set(d, index++, sums_.penalty(d));
    }
    for (std::size_t r = 0; r < parts_.replicas(); ++r) exchange_->give(parts_.client(), run, r, index, numbers);
    run.run();
    for (std::size_t d = 0; d < parts_.devices(); ++d) {
      index = parts_.take_state(run, d);
      if (penalized_) sums_.penalty(d) = run.take(d, index);
      exchange_->set_done(d, run.take_event(d));
    }
  }

  // ---- numbers on the host

  /// Writes the words of a training step for a replica's rows.
  auto words_of(Batch<T, L> const& batch) const {
    return [this, &batch](std::uint32_t* to, RowRange const& rows) {
      inputs_.write_words(to, batch, rows, parts_.model(), parts_.optimizer().iteration());
    };
  }

  /// Mean penalty: in training from the sum over the steps, since it changes with each; in a test that of the weights.
  double mean_penalty(Phase phase) const {
    if (phase == Phase::train) return sums_.mean_penalty();
    double sum = 0;
    auto const weights = parts_.host_parameters();
    for (auto const& info : parts_.description().parameters)
      for (std::size_t i = 0; i < info.size; ++i) {
        double const w = static_cast<double>(weights[info.offset + i]);
        sum += info.regularizer.l1 * std::abs(w) + info.regularizer.l2 * w * w;
      }
    return sum;
  }

  Inputs inputs_;
  pjrt::RunningSums<Model::totals_width> sums_;
  bool penalized_ = false;
  std::optional<pjrt::GradientExchange<T>> exchange_;
  std::vector<T> predicted_;
};

}  // namespace trireme
