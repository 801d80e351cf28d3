/// A data-parallel strategy that sums gradients in one message after backward: an example of docs/extending.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <trireme/trireme.hpp>

namespace extending {

namespace tr = trireme;

/// Adds gradients, and the states' updates behind them, up over all processes.
template <class T, class Space>
class SumAfterBackward {
  static_assert(tr::is_host_space<Space>, "extending: gradients are summed where the host reads them");

 public:
  SumAfterBackward(tr::Communicator const& world, Space const& space, tr::ModelDescription const& model)
      : world_(&world), space_(space), elements_(model.reduced_elements()) {}

  void begin(T* gradients) { gradients_ = gradients; }
  tr::GradientSink<T>* sink() { return nullptr; }              // backward stores all gradients
  tr::SharedGradients<T, Space>* shared() { return nullptr; }  // no process reads those of another

  void finish() {
    space_.fence("extending: gradients complete before their allreduce");
    world_->allreduce_sum(std::span<T>(gradients_, elements_));
  }

  std::string placement() const { return "in one message"; }

 private:
  tr::Communicator const* world_;
  Space space_;
  std::size_t elements_;
  T* gradients_ = nullptr;
};

/// Every rank holds the whole model and takes its rows of each global batch.
template <class SpaceType = Kokkos::DefaultHostExecutionSpace>
class OneMessageStrategy {
 public:
  using Space = SpaceType;
  template <class Model>
  using Engine = tr::DataParallel<Model, Space, tr::Communicator, SumAfterBackward<typename Model::scalar, Space>>;

  /// Collective: the communicator is duplicated.
  explicit OneMessageStrategy(tr::Communicator const& world)
      : world_(std::make_shared<tr::Communicator>(world.duplicate())) {}

  tr::Communicator const& group() const { return *world_; }

  template <class Model>
  Engine<Model> build(Model model, tr::Parallelism plan = tr::Parallelism::automatic) const {
    return build_as<Engine<Model>>(std::move(model), plan);
  }

  // For adaptors such as Accumulate and LocalSGD, whose engines differ from this strategy's own.
  static constexpr bool builds_engines = true;
  template <class P, class... Options>
  P build_as(typename P::Model model, tr::Parallelism plan, Options const&... options) const {
    return P(std::move(model), Space(), world_, 1, plan, options...);
  }
  std::tuple<> synchronization_options() const { return {}; }

 private:
  std::shared_ptr<tr::Communicator const> world_;
};

}  // namespace extending
