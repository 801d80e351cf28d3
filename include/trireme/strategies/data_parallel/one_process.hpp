/// OneProcessStrategy: base of the strategies of one process, with one execution space or one for each of its devices.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"

namespace trireme {

/// The engine of a process with one execution space.
template <class Model, class Space>
using OneSpaceEngine = DataParallel<Model, Space, SingleProcess>;

/// OneDeviceStrategy and MirroredStrategy.
/// \tparam EngineType  the engine of a model, for all spaces.
template <class SpaceType, template <class Model, class Space> class EngineType>
class OneProcessStrategy {
 public:
  using Space = SpaceType;
  static constexpr bool builds_engines = true;
  template <class Model>
  using Engine = EngineType<Model, Space>;

  SingleProcess const& group() const { return *group_; }

  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    return build_as<Engine<Model>>(std::move(model), plan);
  }

  /// For adaptors, whose engines differ from this strategy's own: `options` go to their synchronization.
  /// \throws ValueError if the engine is one of a single device, and there are several
  template <class P, class... Options>
  P build_as(typename P::Model model, Parallelism plan, Options const&... options) const {
    if constexpr (requires { typename P::DeviceEngine; }) {
      return P(std::move(model), spaces(), group_, replicas_, plan, options...);
    } else {
      if (spaces().size() > 1)
        throw ValueError(
            formatted("this adaptor goes around a MirroredStrategy of one device, and this one has {}: "
                      "MultiWorkerMirroredStrategy takes a process for each",
                      spaces().size()));
      return P(std::move(model), spaces()[0], group_, replicas_, plan, options...);
    }
  }

  std::tuple<> synchronization_options() const { return {}; }

 protected:
  /// \param replicas  in each space, which run in turn.
  OneProcessStrategy(std::vector<Space> spaces, std::size_t replicas)
      : spaces_(std::make_shared<std::vector<Space>>(std::move(spaces))), replicas_(replicas) {}

  std::vector<Space> const& spaces() const { return *spaces_; }
  std::shared_ptr<SingleProcess const> shared_group() const { return group_; }
  /// Number of replicas in all spaces.
  std::size_t replica_count() const { return spaces().size() * replicas_; }

 private:
  SharedHandle<std::vector<Space> const> spaces_;  // which a strategy that was moved from still has
  std::size_t replicas_;
  SharedHandle<SingleProcess const> group_ = std::make_shared<SingleProcess>();
};

}  // namespace trireme
