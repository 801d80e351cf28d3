/// Compressed: ranks send their gradients with fewer bytes, and add the remainder to the next step's.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/strategies/data_parallel/adaptor.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"
#include "trireme/strategies/gradients/compressed_gradients.hpp"
#include "trireme/tensor/bfloat16.hpp"

namespace trireme {

/// `Compressed<MultiWorkerMirroredStrategy<>, BFloat16>(world)`, or
/// `Compressed(MultiWorkerMirroredStrategy<>(world), TopK{.fraction = 0.01})`.
///
/// Sums are bitwise the same on all ranks: contributions are added in the order of the ranks. A rank keeps what it
/// rounds off or leaves out, and adds it to its next gradient, so that nothing is lost over the steps (error feedback).
/// A single process sends nothing, and nothing changes. Source: Karimireddy et al., Error Feedback Fixes SignSGD, 2019.
template <class Strategy, class Codec>
class Compressed : public Adaptor<Strategy> {
  static_assert(!joins_devices<detail::BuildingStrategy<Strategy>>,
                "trireme: Compressed goes around a strategy of several processes, such as MultiWorkerMirroredStrategy; "
                "the devices of a MirroredStrategy exchange whole gradients");
  using Group = std::remove_cvref_t<decltype(std::declval<Strategy const&>().group())>;

 public:
  using typename Adaptor<Strategy>::Space;
  template <class Model>
  using Engine = DataParallel<Model, Space, Group, CompressedGradients<typename Model::scalar, Space, Group, Codec>>;

  /// Strategy whose sums of gradients are compressed, and the codec with its numbers.
  explicit Compressed(Strategy strategy, Codec codec = {}) : Adaptor<Strategy>(strategy), codec_(std::move(codec)) {}
  using Adaptor<Strategy>::Adaptor;

  void config(Config& c) const {
    Adaptor<Strategy>::config(c);
    if constexpr (std::is_class_v<Codec>) c("codec", codec_);
  }

  /// \throws ValueError if the codec's numbers are out of range.
  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    static_assert(builds_engines<Strategy>,
                  "trireme: Compressed goes around a strategy that adds up whole gradients, such as "
                  "MultiWorkerMirroredStrategy; an Accumulate goes around the Compressed");
    return this->strategy().template build_as<Engine<Model>>(std::move(model), plan, codec_);
  }

  auto synchronization_options() const { return std::tuple(codec_); }

 private:
  Codec codec_{};
};

}  // namespace trireme
