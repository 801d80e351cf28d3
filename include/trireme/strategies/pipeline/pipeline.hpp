/// PipelineStrategy: each process holds a stage of the layers, through which micro-batches pass.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/same_config.hpp"
#include "trireme/strategies/pipeline/pipeline_engine.hpp"

namespace trireme {

/// Designated initializers name the members in this order.
struct PipelineOptions {
  std::size_t micro_batches = 4;  ///< into which a process's rows of a batch are cut
  std::size_t stages = 0;         ///< if the type has no cuts; 0: as many as ranks

  void config(Config& c) const {
    c("micro_batches", micro_batches, intervals::positive_count);
    c("stages", stages, intervals::count);
  }
};

namespace detail {
constexpr bool are_cuts(std::initializer_list<std::size_t> cuts) {
  std::size_t last = 0;
  for (std::size_t const cut : cuts) {
    if (cut <= last) return false;
    last = cut;
  }
  return true;
}
}  // namespace detail

/// `PipelineStrategy<Space, 2, 5>(world)`: three stages; the second begins with layer 2 and the third with layer 5
/// (from 0, the Input not counted). Without cuts, stages begin at layers with parameters, so that the stage with the
/// most floating-point operations has as few as possible.
///
/// With S stages and D * S ranks, rank d * S + s holds stage s for shard d of each batch. The resulting weights depend
/// neither on S nor on D nor on the micro-batches, unless layers take statistics of their rows: BatchNormalization sees
/// micro-batches. For the idle time of a stage see PipelineSchedule. Sources: Huang et al., GPipe, 2019; Narayanan et
/// al., PipeDream, 2019.
template <class SpaceType = Kokkos::DefaultExecutionSpace, std::size_t... Cuts>
class PipelineStrategy {
  static_assert(
      detail::are_cuts({Cuts...}),
      "trireme: the cuts of a PipelineStrategy are indices of layers in ascending order, the first of them at "
      "least 1");

 public:
  using Space = SpaceType;
  template <class Model>
  using Engine = PipelineEngine<Model, Space, Cuts...>;

  /// Collective.
  explicit PipelineStrategy(Communicator const& communicator, PipelineOptions const& options = {},
                            Space const& space = default_space<Space>())
      : group_(std::make_shared<Communicator>(communicator.duplicate())), options_(options), space_(space) {
    detail::require_same_config(*group_, "PipelineStrategy", [&](Config& c) { c.object("the options", options); });
    if (sizeof...(Cuts) > 0 && options.stages != 0 && options.stages != sizeof...(Cuts) + 1)
      fail(formatted("PipelineStrategy has cuts for {} stages, and was asked for {}", sizeof...(Cuts) + 1,
                     options.stages));
  }

  Communicator const& group() const { return *group_; }
  /// Duplicate of the communicator that the strategy was made of; the same as `group()`.
  Communicator const& communicator() const { return *group_; }

  /// Collective. \throws ValueError on all ranks, if the stages do not divide the ranks, or if they are more than the
  /// model can be cut into; under parallelism over samples, since all threads of a stage work on each product.
  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    std::size_t const ranks = group_->size();
    std::size_t const stages =
        sizeof...(Cuts) > 0 ? sizeof...(Cuts) + 1 : (options_.stages == 0 ? ranks : options_.stages);
    if (plan == Parallelism::samples)
      fail("PipelineStrategy does not take Parallelism::samples: all threads work on each product");
    if (ranks % stages != 0)
      fail(formatted("PipelineStrategy has {} stages, which do not divide {} ranks", stages, ranks));
    if (stages > Engine<Model>::slice_count)
      fail(formatted("the model can be cut into {} stages at most, and PipelineStrategy has {}",
                     Engine<Model>::slice_count, stages));
    return Engine<Model>(std::move(model), space_, group_, stages, options_.micro_batches);
  }

 private:
  /// All ranks come to the same conclusion.
  [[noreturn]] static void fail(std::string const& message) { raise_uniform(ValueError(message)); }

  SharedHandle<Communicator const> group_;
  PipelineOptions options_;
  Space space_;
};

}  // namespace trireme
