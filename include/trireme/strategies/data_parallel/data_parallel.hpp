/// Data parallelism: every process holds the whole model and trains on its share of each global batch.
///
/// What `place` of OneDeviceStrategy, MirroredStrategy and MultiWorkerMirroredStrategy returns. They differ in the
/// group of processes (`Group`: SingleProcess or Communicator) and in the number of replicas within one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "trireme/backend/threads/profiling.hpp"
#include "trireme/strategies/data_parallel/replica.hpp"
#include "trireme/strategies/gradients/gradient_buckets.hpp"

namespace trireme {

namespace detail {

/// False where a model says that none of its layers has a table of which steps touch some rows only.
template <class Model>
inline constexpr bool may_have_tables = true;
template <class Model>
requires requires { Model::has_tables; }
inline constexpr bool may_have_tables<Model> = Model::has_tables;

/// Adds gradients up as they are.
template <class Model, class Space, class Group, class T = typename Model::scalar>
using SummedGradients =
    GradientBuckets<T, Space, Group,
                    std::conditional_t<may_have_tables<Model>, TableGradients<T, Space, Group>, NoTables>>;

}  // namespace detail

/// `Gradients` brings those of all processes together: `begin(arena)` before backward, which tells its `listener()`
/// what is final, and `finish()`, after which the sums are in the arena. GradientBuckets adds them up as they are.
template <class ModelType, class SpaceType, class Group,
          class GradientsType = detail::SummedGradients<ModelType, SpaceType, Group>>
class DataParallel : public Replica<ModelType, SpaceType, Group> {
  using Base = Replica<ModelType, SpaceType, Group>;

 public:
  using Gradients = GradientsType;
  using typename Base::L;
  using typename Base::Model;
  using typename Base::Space;
  using typename Base::T;

  /// Collective: the chief's initial weights are broadcast. `options` go to the Gradients.
  template <class... Options>
  DataParallel(Model model, Space const& space, std::shared_ptr<Group const> group, std::size_t replicas, Plan plan,
               Options const&... options)
      : Base(std::move(model), space, std::move(group), replicas, plan),
        gradients_(*group_, space, model_.description(), options...) {
    if (auto* const shared = gradients_.shared()) lanes_.place_gradients(shared->arena());
  }

  /// How gradients of several processes come together.
  Gradients& gradients() { return gradients_; }

  /// One optimizer step on the global batch, of which `batch` is this process's part (possibly empty). Collective; may
  /// still be under way on the device when it returns.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    auto const step = this->prepare(batch);
    // Tables of which only some rows have gradients are listened for, also in one process.
    bool const listens = !lanes_.plan().rows && gradients_.listener();
    if (group_->size() == 1 && !listens && !carries() && this->updates_at_once())
      return this->differentiate_and_update(step);
    gradients_.begin(lanes_.gradients());
    this->differentiate(step, gradients_.listener());
    reduce_and_update(step);
  }

  /// See PlacedPart; of gradients that do not travel whole.
  std::string moved_agreement() const {
    if constexpr (requires { gradients_.carries(); }) return "differ as what compression leaves out on each process";
    return Base::moved_agreement();
  }

  /// What a run has besides weights and the optimizer's state. Collective.
  template <class Archive>
  void state(Archive& archive) {
    Base::state(archive);
    archive.placed("exchanged gradients otherwise", "exchange", gradients_.placement());
    if constexpr (requires { gradients_.state(archive); }) archive("gradients", gradients_);
  }

 protected:
  using Base::group_;
  using Base::lanes_;
  using Base::model_;
  using Base::parameters_;
  using Base::updater_;

  /// Whether gradients of steps before are to be added even by one process.
  bool carries() const {
    if constexpr (requires { gradients_.carries(); })
      return gradients_.carries();
    else
      return false;
  }

  /// Sums the gradients over the processes, from what `differentiate` left, and takes the optimizer's step.
  void reduce_and_update(typename Base::Step const& step) {
    if (auto* const shared = gradients_.shared(); shared && shared->is_whole() && updater_.changes_only_parameters()) {
      shared->for_each_sum(kernels::StepOfSums{updater_.next_step(parameters_.data(), lanes_.gradients())});
      return;
    }
    gradients_.finish();
    this->update(step);
  }

  Gradients gradients_;
};

}  // namespace trireme
