/// CompiledModel: weights and optimizer state of a model, as the engine of its strategy holds them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/data_passes.hpp"
#include "trireme/data/sample_rows.hpp"
#include "trireme/detail/array_batch.hpp"
#include "trireme/detail/engine_of.hpp"
#include "trireme/detail/leave_together.hpp"
#include "trireme/detail/owned_engine.hpp"
#include "trireme/detail/weights_call.hpp"
#include "trireme/metrics/logs.hpp"
#include "trireme/models/inference_model.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/phase_totals.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/models/summary.hpp"
#include "trireme/models/weight_transfer.hpp"
#include "trireme/predictor.hpp"
#include "trireme/tensor/flat_elements.hpp"
#include "trireme/tensor/tensor_view.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme {

/// Base of CompiledModel without the strategy's type, so that strategies with engines of one type share this code and
/// that of the training loop. Run::model() of a callback is one.
///
/// One thread at a time uses a model, for `infer`, `weights_view` and the functions `fit`, `evaluate` and `predict`
/// too; unless NDEBUG is defined, two at once are an error (ValueError). `predictor` serves any number of threads.
/// \throws ValueError from every member if the model was moved from.
template <class EngineType, class ModelType>
class PlacedModel {
 public:
  using Model = ModelType;
  using Engine = EngineType;
  using T = typename Model::scalar;
  using L = typename Model::label;

  /// Engine that the strategy built for the model, for callbacks and training loops of your own. \throws ValueError if
  /// the model was moved from
  Engine& engine() {
    owned_.use.require_present();
    return owned_.engine;
  }
  Engine const& engine() const {
    owned_.use.require_present();
    return owned_.engine;
  }
  /// Guard: while the result lives, this thread alone uses the model for `what`.
  /// \throws ValueError if the model was moved from or, unless NDEBUG is defined, another thread uses it.
  [[nodiscard]] auto begin_use(char const* what) const { return owned_.use.begin(what); }
  /// The same for collective calls. \throws ValueError also while processes train its Shared layers at their own pace
  [[nodiscard]] auto begin_together(char const* what) const {
    owned_.shared.require_together(what);
    return begin_use(what);
  }

  /// Layers, extents and paths of the model's weights. Not collective.
  ModelDescription const& description() const { return engine().model().description(); }
  /// Number of all weights: parameters, states and frozen ones. Not collective.
  std::size_t parameter_count() const { return description().parameter_count(); }

  /// Table of layers, output extents, parameters, operations, and stages or ranks where the strategy does not place all
  /// layers alike, with the memory that this process takes for batches of up to `rows` rows of its own, and
  /// how the strategy has placed the model. Not collective.
  std::string summary(std::size_t rows = 32) const {
    std::string placement;
    if constexpr (requires { owned_.engine.placement(); }) placement = engine().placement();
    return trireme::summary(description(), sizeof(T), engine().memory_use(rows), placement,
                            detail::layer_placement_of(engine()));
  }

  /// Paths of all parameters and states: "conv2d/kernel", "conv2d/bias", ...
  std::vector<std::string> weight_names() const { return detail::weight_names(description()); }

  /// Copy of a parameter or state in its extents, as weight_names lists them: `weights("dense/kernel")` of (inputs,
  /// units). Collective if processes hold only parts of the model, as under ShardedStrategy and PipelineStrategy;
  /// otherwise local: one process may read alone, and its error is its own. Under LocalSGD they are this process's own
  /// between two means.
  /// \throws ValueError that lists all paths, if the model has none of this name. Where the call is collective, on all
  /// processes, and also if they read different parameters.
  xt::xarray<T> weights(std::string_view path) const {
    auto const use = begin_use("weights");
    WeightInfo const& p = detail::weight_to_read(owned_.engine, path);
    return to_xarray(owned_.host_values(p).data(), p.shape.to_vector());
  }

  /// Parameter itself in its extents, readable and writable, as a TensorView: assignment to it writes values. Every
  /// process has to write the same values, while no other thread uses the model. The view has to end before the model.
  /// Not collective.
  ///
  /// Compile-time errors: weights that the host cannot access, or that no process holds all of.
  /// \throws ValueError that lists all paths, if the model has none of this name.
  auto weights_view(std::string_view path) {
    static_assert(is_host_space<typename Engine::Space>,
                  "trireme: weights_view needs weights in host memory; use weights and set_weights on a device");
    static_assert(
        requires { owned_.engine.weights().parameters(); },
        "trireme: weights_view needs a strategy whose processes hold all weights; use weights and set_weights");
    auto const use = begin_use("weights_view");
    WeightInfo const& p = detail::weight_named(description(), path);
    return xtensor_view(owned_.engine.weights().parameters().data() + p.offset, p.shape.to_vector());
  }

  /// Sets the parameter on every process to the chief's values, converted to the model's scalar. Collective.
  /// \throws ShapeError on all processes if the extents differ on one; ValueError on all that lists all paths, if the
  /// model has none of this name, or that names both parameters, if processes set different ones.
  template <TensorLike Values>
  void set_weights(std::string_view path, Values&& values) {
    auto const use = begin_together("set_weights");
    auto const tensor = host_tensor(std::forward<Values>(values));
    WeightInfo const& p = detail::weight_to_set(owned_.engine, path, tensor.extents);
    std::vector<T> chief(p.size);
    std::transform(tensor.data, tensor.data + p.size, chief.begin(), [](auto value) { return static_cast<T>(value); });
    owned_.shared.settle("set_weights");
    owned_.engine.weights().set_values(p.offset, chief);
    owned_.weights_changed();
  }

  /// Writes weights and optimizer state as Keras's `.weights.h5`, or as `.npz`; the file is whole or absent.
  /// Collective.
  /// \throws FileError on all processes if the name ends otherwise, or the file cannot be written; ValueError on all if
  /// processes name different files.
  void save_weights(std::string const& path) const {
    auto const use = begin_together("save_weights");
    detail::require_same_save(owned_.engine, path);
    owned_.shared.settle("save_weights");
    save_state(owned_.engine, path);
  }
  /// Reads weights, and the optimizer state if the file has as many of its variables as the model's and names no other
  /// optimizer; a warning says where it has others, which are left out, or where it has a layer's weights under the
  /// name of another layer. Only the chief reads the file, for all processes. Collective.
  /// \throws FileError on all processes if the file cannot be read, or has other weights, or a learning rate or number
  /// of steps that is negative or not finite; ValueError on all if processes name different files; nothing is changed
  /// then.
  void load_weights(std::string const& path) {
    auto const use = begin_together("load_weights");
    detail::require_same_load(owned_.engine, path);
    owned_.shared.settle("load_weights");
    load_state(owned_.engine, path);
    owned_.data_passes.loaded();
    owned_.weights_changed();
  }
  /// Copies the weights of the file that match, by place or by name, as the options say; keeps the optimizer's state.
  /// Collective. Source: Keras `load_weights(by_name, skip_mismatch)`.
  /// \throws FileError on all processes that names the layer without a match; ValueError on all if path or options
  /// differ between processes; nothing is changed then.
  TransferredWeights load_weights(std::string const& path, LoadOptions const& options) {
    auto const use = begin_together("load_weights");
    detail::require_same_load(owned_.engine, path, options);
    owned_.shared.settle("load_weights");
    auto transferred = load_matching(owned_.engine, path, options);
    owned_.weights_changed();
    return transferred;
  }
  /// Copies the weights of another model, on the same processes, whose layers have the same names, as the options say.
  /// Collective.
  /// \throws ValueError on all processes that names the layer without a match, or if options or the other model's
  /// layers differ between processes; nothing is changed then.
  template <class OtherEngine, class OtherModel>
  TransferredWeights copy_weights(PlacedModel<OtherEngine, OtherModel> const& other, CopyOptions const& options = {}) {
    auto const use = begin_together("copy_weights"), use_of_other = other.begin_together("copy_weights");
    detail::require_same_copy(owned_.engine, other.description(), options);
    owned_.shared.settle("copy_weights"), other.settle("copy_weights");
    auto transferred = copy_matching(owned_.engine, other.engine(), options);
    owned_.weights_changed();
    return transferred;
  }
  /// Copies the current weights of Shared layers to the other models that have them, over what these have trained. All
  /// members that change weights do so themselves; writing to a `weights_view` does not. Collective.
  void publish_shared() {
    auto const use = begin_together("publish_shared");
    owned_.publish();
  }

  /// Trains one step on one global batch, the same arrays on every process: x (samples, input extents...), y (samples,
  /// target extents...), `sample_weight` (samples). Returns loss and metrics of that batch. Collective. Source: Keras
  /// `train_on_batch`.
  /// \throws ShapeError or ValueError on all processes, if there is no sample, a label or index is outside of its
  /// range, arrays do not fit the model or differ between processes, or a hook calls it within an epoch of this model's
  /// `fit`. An error that is thrown on some processes alone ends all processes as in `fit`.
  template <data::SampleArrays X, data::SampleArrays Y>
  Logs train_on_batch(X&& x, Y&& y, std::vector<double> const& sample_weight = {}) {
    static_assert(detail::require_trainable<Model>());
    return detail::leave_together(*this, "train_on_batch", [&] {
      detail::ArrayBatch<T, L> const arrays(owned_.engine, std::forward<X>(x), std::forward<Y>(y), sample_weight);
      owned_.totals.require_free(Phase::train, "train_on_batch");
      settle("train_on_batch");
      PhaseTotals::Scope const summing(owned_.totals, Phase::train, "train_on_batch");
      owned_.engine.reset_metrics(Phase::train);
      train_step(arrays.batch());
      publish_trained();
      Logs logs;
      auto const values = owned_.engine.metrics(Phase::train);
      for (std::size_t i = 0; i < Model::log_names.size(); ++i)
        logs.set(Model::log_names[i], values.map([i](auto const& all) { return all[i]; }));
      return logs;
    });
  }

  /// Computes out (rows, output) for in (rows, input): Views of the model's scalar in the strategy's memory, row-major
  /// without gaps. Complete on return, not collective, and allocates nothing after an earlier call with as many rows.
  /// One thread at a time, since it computes in the model's own workspace; `predictor` serves several. Indices for an
  /// Embedding are not checked.
  ///
  /// Compile-time errors: Views of another scalar, or in memory that the strategy's space cannot access.
  /// \throws ShapeError if sizes or layouts do not fit.
  template <KokkosView In, KokkosView Out>
  void infer(In const& in, Out const& out) {
    static_assert(std::is_same_v<typename In::non_const_value_type, T> && std::is_same_v<typename Out::value_type, T>,
                  "trireme: infer takes Views of the model's scalar type");
    static_assert(Kokkos::SpaceAccessibility<typename Engine::Space, typename In::memory_space>::accessible &&
                      Kokkos::SpaceAccessibility<typename Engine::Space, typename Out::memory_space>::accessible,
                  "trireme: infer takes Views in memory of the strategy's execution space");
    auto const use = begin_use("infer");
    std::size_t const rows = in.extent(0);
    detail::require_sizes(flat_elements(in, "inputs").size(), rows * owned_.engine.model().input_size(), "inputs");
    detail::require_sizes(flat_elements(out, "outputs").size(), rows * owned_.engine.model().output_size(), "outputs");
    owned_.engine.infer(rows, in.data(), out.data());
  }
  /// Takes other arguments, and does not compile: its error shows what takes them.
  template <class... Given>
    requires(sizeof...(Given) != 2 || !(KokkosView<Given> && ...))
  void infer(Given&&...) {
    static_assert(sizeof...(Given) == 2 && (KokkosView<Given> && ...),
                  "trireme: infer takes Views in memory of the strategy's execution space, infer(in, out); arrays and "
                  "ranges go to a predictor: model.predictor().predict(in)");
  }

  /// Predictor for any number of threads, with a copy of the current weights, as `weights` reads them. It stays valid
  /// and unchanged while this model trains on or ends. Collective under ShardedStrategy.
  ///
  /// Compile-time errors: a strategy that divides the model over its processes.
  auto predictor() const {
    static_assert(detail::holds_model<Engine>,
                  "trireme: predictor needs a process that holds the whole model; use predict, which is collective");
    auto const use = begin_use("predictor");
    std::vector<T> const weights = owned_.host_parameters();
    if constexpr (requires { owned_.engine.weights().space(); })
      return Predictor<Model, typename Engine::Space>(owned_.engine.model(), weights, owned_.engine.weights().space());
    else
      return Predictor<Model, typename Engine::Space>(owned_.engine.model(), weights);
  }

  // For the training loop:
  /// Number of the calls that set, load or copy weights, the same on all processes. Local.
  std::uint64_t weight_changes() const { return owned_.weight_changes; }
  /// Barrier of processes that leave a call by an error; null in a model of one process. Local.
  auto* error_barrier() const { return owned_.error_barrier.get(); }
  /// Passes over training data that the calls of `fit` have made. Local.
  DataPasses& data_passes() { return owned_.data_passes; }
  /// Calls that are summing this model's loss and metrics. Local.
  PhaseTotals& totals() { return owned_.totals; }
  /// Takes the weights of Shared layers that another model has trained, before `call`. Collective.
  void settle(char const* call) const { owned_.shared.settle(call); }
  /// One step of training. Collective.
  void train_step(auto const& batch) { owned_.shared.begin_step(), owned_.engine.train_step(batch); }
  /// Publishes the weights of Shared layers that training changed. Collective.
  void publish_trained() { owned_.publish_trained(); }
  /// Publishes those of a resumed run. Collective. \param trained  within an epoch
  void publish_resumed(bool trained) { owned_.publish_resumed(trained); }
  /// Notes that a snapshot was restored. Local.
  void note_restored() { owned_.shared.note_changed(false); }

 protected:
  template <class Strategy>
  PlacedModel(Strategy const& strategy, Model model, Parallelism plan) : owned_(strategy, std::move(model), plan) {}

 private:
  detail::OwnedEngine<Engine> owned_;
};

/// Model with weights and optimizer state under a strategy, the result of `compile`. `fit`, `evaluate` and `predict` go
/// on from its state: a second `fit` does not reset the optimizer. It is moved, not copied.
///
/// Its end is collective where processes share memory for its gradients, as a replaced model's is: they wait for each
/// other, so several models have to end in the same order on every process. The end by an exception waits for none.
template <class StrategyType, class ModelType>
class CompiledModel : public PlacedModel<typename detail::EngineOf<StrategyType, ModelType>::Engine, ModelType> {
 public:
  using Strategy = StrategyType;

  /// Collective, as `Strategy::build` is.
  CompiledModel(Strategy const& strategy, ModelType model, Parallelism plan)
      : CompiledModel::PlacedModel(strategy, std::move(model), plan) {}
};

}  // namespace trireme
