/// LocalSGD: processes take several optimizer steps on their own rows before they bring their weights together.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/adaptor.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"
#include "trireme/strategies/data_parallel/synchronization.hpp"
#include "trireme/strategies/engine/optimizer_update.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

namespace kernels {

/// change = values - anchor.
template <class T>
struct Change {
  T const *values, *anchor;
  T* change;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { change[i] = values[i] - anchor[i]; }
};

/// The sum of changes over the processes becomes their mean, with the sign of a gradient.
template <class T>
struct ChangeAsGradient {
  T* change;
  T processes;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { change[i] = -change[i] / processes; }
};

/// values += change / processes.
template <class T>
struct AddMeanChange {
  T const* change;
  T* values;
  T processes;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { values[i] += change[i] / processes; }
};

}  // namespace kernels

/// The Synchronization of LocalSGD. `Changes` is the synchronization of gradients that the strategy had: it adds up the
/// changes of the weights since the processes met last, so that these travel as gradients did, compressed or not.
template <class Changes, class T, class Space, class Group, std::size_t Every, class Outer>
class PeriodicSynchronization {
 public:
  static constexpr bool local_steps = true;

  /// Synchronization of a group, with the outer optimizer's state; `options` go to `Changes`.
  template <class... Options>
  PeriodicSynchronization(Group const& group, Space const& space, ModelDescription const& model, Outer const& outer,
                          Options const&... options)
      : group_(&group),
        changes_(group, space, model, options...),
        outer_(space, outer, without_penalties(model)),
        anchor_(make_view<Arena<T, Space>>(space, "trireme::anchor", model.reduced_elements())) {}

  /// The strategy's own synchronization, which adds up changes.
  Changes& changes() { return changes_; }
  auto* shared() { return changes_.shared(); }
  /// The weights that the processes had alike last, from which those of each have changed.
  Arena<T, Space> const& anchor() const { return anchor_; }
  std::size_t memory_bytes() const { return anchor_.extent(0) * sizeof(T) * (1 + outer_.slots().size()); }
  std::string placement() const { return formatted("every {} steps, {}", Every, changes_.placement()); }

  /// Keeps the weights that the processes have alike, also those that were written to a `weights_view`. Not where
  /// weights are each process's own by then: within a period, also in the place of a step that an exception has ended
  /// after the optimizer had moved weights, or with a restored snapshot from within one.
  void before_step(LocalWeights<T, Space> const& weights) {
    if (std::exchange(weights.changing, true)) return;
    kernels::copy(weights.context, weights.size, static_cast<T const*>(weights.values), anchor_.data());
  }
  /// Counts a step; after the last one of a period the weights come together. Collective then.
  void after_update(LocalWeights<T, Space> const& weights) {
    if (++steps_ >= Every) synchronize(weights);
  }
  /// Steps of this process since the weights came together.
  std::size_t steps() const { return steps_; }
  /// Brings the weights together if a step has begun since on any process, or a snapshot from within a period was
  /// restored. Collective.
  void at_epoch_end(LocalWeights<T, Space> const& weights) {
    steps_ = 0;
    std::uint64_t const none = group_->size();
    std::uint64_t const begun = weights.changing ? group_->rank() : none;
    std::uint64_t const first = group_->allreduce_min(begun).value(), last = group_->allreduce_max(begun).value();
    if (first == none) return;
    if (last == none) {
      // Some processes alone have taken the anchor, as errors leave them that ended a step on these and not on others.
      // Weights of the others may have been written since.
      std::vector<T> common = to_host(anchor_);
      group_->broadcast(common, first);
      copy_view(anchor_, host_view(common));
    }
    synchronize(weights);
  }

  /// Collective.
  template <class Archive>
  void state(Archive& archive) {
    archive("steps", steps_);
    auto iteration = outer_.iteration();
    archive("iteration", iteration);
    outer_.set_iteration(iteration);
    std::vector<T> anchor = on_all(archive, "common", anchor_);
    if (archive.loads()) loaded_anchor_ = std::move(anchor);
    for (std::size_t slot = 0; slot < outer_.slots().size(); ++slot) {
      auto const& view = outer_.slots()[slot];
      std::vector<T> const values = on_all(archive, formatted("slot{}", slot), view);
      if (archive.loads()) copy_view(view, host_view(values));
    }
    if constexpr (requires { changes_.state(archive); }) archive("changes", changes_);
  }
  /// Called when all of a checkpoint has been set, its weights too, which set the anchor.
  void resumed() {
    if (loaded_anchor_.empty()) return;
    copy_view(anchor_, host_view(loaded_anchor_));
    loaded_anchor_.clear();
  }

 private:
  /// Those of the model are part of each process's steps.
  static ModelDescription without_penalties(ModelDescription model) {
    for (auto& parameter : model.parameters) parameter.regularizer = {};
    return model;
  }

  /// The outer optimizer's step from the weights at which the processes met last, with the mean of their changes as its
  /// gradient; states get the mean. Collective; may still be under way on the device when it returns, as any update.
  void synchronize(LocalWeights<T, Space> const& weights) {
    ProfilingRegion const region("trireme::synchronize");
    auto& context = weights.context;
    T* const change = weights.scratch;
    changes_.begin(change);
    context.for_each("trireme::change", weights.size, kernels::Change<T>{weights.values, anchor_.data(), change});
    changes_.finish();
    T const processes = static_cast<T>(group_->size());
    context.for_each("trireme::change_as_gradient", weights.trained, kernels::ChangeAsGradient<T>{change, processes});
    outer_.apply(context, anchor_.data(), change, 1);
    context.for_each("trireme::mean_states", weights.size - weights.trained,
                     kernels::AddMeanChange<T>{change + weights.trained, anchor_.data() + weights.trained, processes});
    kernels::copy(context, weights.size, static_cast<T const*>(anchor_.data()), weights.values);
    steps_ = 0;
    weights.changing = false;
  }

  /// Values that are the same on all processes: the chief's are saved; when loading, those of the checkpoint.
  template <class Archive, class View>
  std::vector<T> on_all(Archive& archive, std::string_view name, View const& view) {
    std::vector<T> values;
    if (!archive.loads() && group_->is_chief()) values = to_host(view);
    archive.on_chief(name, values);
    if (archive.loads()) {
      values.resize(view.extent(0));
      group_->broadcast(values);
    }
    return values;
  }

  Group const* group_;
  Changes changes_;
  Updater<T, Outer, SpaceContext<Space>> outer_;
  Arena<T, Space> anchor_;          ///< the weights at which the processes met last, with those that were set since
  std::vector<T> loaded_anchor_{};  ///< of a checkpoint, until all of it has been set
  std::size_t steps_ = 0;           ///< since then
};

namespace detail {

/// The synchronization of gradients that a strategy has for a model.
template <class Strategy, class Model>
consteval auto synchronization_of() {
  constexpr bool sums_gradients = requires(Strategy const& s) {
    s.synchronization_options();
    typename Strategy::template Engine<Model>::Synchronization;
  };
  static_assert(sums_gradients,
                "trireme: LocalSGD goes around a strategy that sums the gradients of a step over processes, such as "
                "MultiWorkerMirroredStrategy or a Compressed; an Accumulate goes around the LocalSGD");
  if constexpr (sums_gradients)
    return std::type_identity<typename Strategy::template Engine<Model>::Synchronization>();
  else
    return std::type_identity<void>();
}
template <class Strategy, class Model>
using SynchronizationOf = typename decltype(synchronization_of<Strategy, Model>())::type;

}  // namespace detail

/// `LocalSGD<MultiWorkerMirroredStrategy<>, 8>(world)`: after every 8 steps, and at the end of an epoch, all processes
/// get the mean of their weights. Each steps on its own rows meanwhile, with means over these, and keeps the state of
/// its own optimizer; loss and metrics are exact over all rows.
///
/// An outer optimizer takes the mean change of the weights as a gradient (DiLoCo):
/// `LocalSGD<MultiWorkerMirroredStrategy<>, 500, SGD>(MultiWorkerMirroredStrategy<>(world), SGD{.learning_rate = 0.7,
/// .momentum = 0.9, .nesterov = true})`. Weights that are set between two means are no change that it takes, unless
/// they are written to a `weights_view`; its state stays. A restored snapshot brings back the change that it had.
/// Around a Compressed the changes are compressed; an Accumulate goes around this. Sources: Stich, Local SGD Converges
/// Fast and Communicates Little, 2019; Douillard et al., DiLoCo, 2023.
template <class Strategy, std::size_t Every, class Outer = SGD>
class LocalSGD : public Adaptor<Strategy> {
  static_assert(!joins_devices<detail::BuildingStrategy<Strategy>>,
                "trireme: LocalSGD goes around a strategy of several processes, such as MultiWorkerMirroredStrategy; "
                "the devices of a MirroredStrategy take all steps together");
  static_assert(Every > 0, "trireme: LocalSGD brings weights together after 1 step at least");
  using Group = std::remove_cvref_t<decltype(std::declval<Strategy const&>().group())>;

 public:
  using typename Adaptor<Strategy>::Space;
  template <class Model>
  using Engine = DataParallel<Model, Space, Group,
                              PeriodicSynchronization<detail::SynchronizationOf<Strategy, Model>,
                                                      typename Model::scalar, Space, Group, Every, Outer>>;

  /// Strategy whose processes step alone, and the outer optimizer that takes their mean change.
  LocalSGD(Strategy strategy, Outer outer) : Adaptor<Strategy>(strategy), outer_(std::move(outer)) {}
  using Adaptor<Strategy>::Adaptor;

  void config(Config& c) const {
    Adaptor<Strategy>::config(c);
    list_optimizer(c, outer_);
  }

  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    return std::apply(
        [&](auto const&... options) {
          return detail::building_strategy(this->strategy())
              .template build_as<Engine<Model>>(std::move(model), plan, outer_, options...);
        },
        this->strategy().synchronization_options());
  }

 private:
  static Outer mean() {
    if constexpr (std::same_as<Outer, SGD>)
      return {.learning_rate = 1.0};
    else
      return {};
  }
  Outer outer_ = mean();
};

}  // namespace trireme
