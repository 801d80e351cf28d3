/// InferenceEngine: a process that holds the whole model for inference: its weights, without the state of training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/strategies/data_parallel/adaptor.hpp"
#include "trireme/strategies/engine/engine_base.hpp"
#include "trireme/strategies/engine/whole_weights.hpp"
#include "trireme/strategies/inference/row_blocks.hpp"
#include "trireme/strategies/inference/space_inference.hpp"

namespace trireme {

namespace detail {

template <class Model, class Space>
using Inference = std::conditional_t<is_host_space<Space>, RowBlocks<Model, Space>, SpaceInference<Model, Space>>;

/// Runs f(x, y) on arrays in the space's memory: `x` and `y` themselves if that is the host's, otherwise copies; copies
/// the result back then.
template <class Space, class T, class F>
void with_arrays_in_space(Space const& space, T const* x, std::size_t inputs, T* y, std::size_t outputs, F const& f) {
  if constexpr (is_host_space<Space>) {
    f(x, y);
  } else {
    using Memory = Kokkos::View<T*, typename Space::memory_space>;
    auto const in = uninitialized_view<Memory>(space, "trireme::samples", inputs);
    auto const out = uninitialized_view<Memory>(space, "trireme::prediction", outputs);
    copy_view(in, host_view(x, inputs));
    f(in.data(), out.data());
    copy_view(host_view(y, outputs), out);
  }
}

}  // namespace detail

/// An optimizer's place in an engine without one.
struct NoOptimizer {
  /// Always 0: there are no steps.
  static constexpr std::uint64_t iteration() { return 0; }
  static constexpr bool has_schedule() { return true; }
};

/// The parts of a process that holds the whole model for inference.
template <class ModelType, class SpaceType, class GroupType>
class InferenceReplica {
 public:
  using Model = ModelType;
  using Group = GroupType;
  using T = typename Model::scalar;
  using Weights = WholeWeights<T, SpaceType, Group>;
  using Snapshot = typename Weights::Snapshot;

  /// Collective: the chief's initial weights are broadcast.
  InferenceReplica(Model model, SpaceType const& space, std::shared_ptr<Group const> group)
      : model_(std::move(model)),
        group_(std::move(group)),
        weights_(model_, space, group_),
        inference_(std::make_unique<detail::Inference<Model, SpaceType>>(model_, space)) {}

  Model const& model() const { return model_; }
  Group const& group() const { return *group_; }
  Weights& weights() { return weights_; }
  Weights const& weights() const { return weights_; }
  static constexpr NoOptimizer optimizer() { return {}; }

  /// y (rows, output) for x (rows, input), both in the space's memory; complete on return, not collective.
  void infer(std::size_t rows, T const* x, T* y) const { inference_->predict(model_, rows, x, y, weights_.data()); }

  static constexpr std::size_t slots() { return 0; }
  template <class State>
  void gather_state(State& state) const {
    if (group_->is_chief()) state.parameters = weights_.host_parameters();
  }

  /// Memory of this process for batches of up to `rows` rows, without gradients and optimizer.
  MemoryUse memory_use(std::size_t rows) const { return {model_.cost(), 0, 1, rows, inference_->workspace_bytes()}; }

 private:
  Model model_;
  std::shared_ptr<Group const> group_;
  Weights weights_;
  std::unique_ptr<detail::Inference<Model, SpaceType> const> inference_;
};

/// The engine of strategies whose processes hold whole models, for a model without optimizer and loss: no gradients, no
/// optimizer state. Samples are divided among the processes as in a test.
template <class ModelType, class SpaceType, class Group>
class InferenceEngine : public EngineBase<InferenceReplica<ModelType, SpaceType, Group>> {
  using Parts = InferenceReplica<ModelType, SpaceType, Group>;
  using Base = EngineBase<Parts>;

 public:
  using Model = ModelType;
  using Space = SpaceType;
  using T = typename Model::scalar;
  using L = typename Model::label;

  /// Constructed like a strategy's other engines. Collective: the chief's initial weights are broadcast.
  template <class... Options>
  InferenceEngine(Model model, Space const& space, std::shared_ptr<Group const> group, std::size_t replicas,
                  Parallelism, Options const&...)
      : Base(Parts(std::move(model), space, std::move(group))), replicas_(replicas) {}

  DataShard data_shard(Phase) const {
    return {parts_.group().rank(), parts_.group().size(), parts_.group().size() * replicas_};
  }

  /// Predictions for this process's rows, (rows, output) in host memory. Not collective.
  void predict_step(Batch<T, L> const& batch, T* out) {
    Model const& model = parts_.model();
    detail::with_arrays_in_space(parts_.weights().space(), batch.x.block(), batch.rows * model.input_size(), out,
                                 batch.rows * model.output_size(),
                                 [&](T const* x, T* y) { parts_.infer(batch.rows, x, y); });
  }

  /// y (rows, output) for x (rows, input), both in the space's memory; complete on return, not collective.
  void infer(std::size_t rows, T const* x, T* y) { parts_.infer(rows, x, y); }

 private:
  using Base::parts_;

  std::size_t replicas_;
};

namespace detail {

template <class Strategy>
consteval bool require_inference() {
  static_assert(builds_engines<BuildingStrategy<Strategy>>,
                "trireme: a model without optimizer and loss needs a strategy whose processes hold whole models: "
                "OneDeviceStrategy, MirroredStrategy or MultiWorkerMirroredStrategy");
  return true;
}

/// Of a strategy that builds engines.
template <class Strategy, class Model>
struct InferenceEngineBy {
  using type = InferenceEngine<Model, typename Strategy::Space,
                               std::remove_cvref_t<decltype(std::declval<Strategy const&>().group())>>;
};
template <class Strategy, class Model>
  requires requires { typename Strategy::template EngineOf<Model, InferenceEngine>; }
struct InferenceEngineBy<Strategy, Model> {
  using type = typename Strategy::template EngineOf<Model, InferenceEngine>;
};
template <class Strategy, class Model>
using InferenceEngineOf = typename InferenceEngineBy<BuildingStrategy<Strategy>, Model>::type;

}  // namespace detail
}  // namespace trireme
