/// ParameterServerStrategy: workers compute gradients, and servers hold the weights and apply them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/same_config.hpp"
#include "trireme/strategies/parameter_server/server_engine.hpp"
#include "trireme/strategies/parameter_server/server_roles.hpp"

namespace trireme {

/// Designated initializers name the members in this order.
struct ParameterServerOptions {
  /// Ranks that hold a range of the weights and the optimizer's state for it.
  std::size_t servers = 1;
  /// The bound of staleness: updates at most that are missing from the weights of a batch's gradient, of those made
  /// before the batch's own. 0: all workers share the rows of each batch and wait for its update, so that training is
  /// synchronous. k: workers acquire whole batches and go their own pace; at most k + 1 batches are worked on at once,
  /// and while one worker computes, the others make k updates at most together. Unset: 16 for each worker, so that one
  /// that is ten times slower than the others does not delay them.
  std::optional<std::size_t> staleness{};
  /// True if the last rank trains nothing, and runs tests and predictions alone; otherwise the workers share them.
  bool evaluator = false;

  void config(Config& c) const {
    c("servers", servers, intervals::positive_count);
    c("staleness", staleness, intervals::count);
    c("evaluator", evaluator);
  }
};

/// The first ranks of the communicator are workers, the next ones servers; a single rank is both. Every process calls
/// the same functions with the same data. Where workers go their own pace, hooks of a batch are local: they see their
/// own worker's values, and collective operations belong in the hooks of epochs.
template <class SpaceType = Kokkos::DefaultExecutionSpace>
class ParameterServerStrategy {
 public:
  using Space = SpaceType;
  template <class Model>
  using Engine = ServerEngine<Model, Space>;

  /// Collective. \throws ValueError if no rank is left for a worker.
  explicit ParameterServerStrategy(Communicator const& communicator, ParameterServerOptions const& options = {},
                                   Space const& space = default_space<Space>())
      : roles_(agreed_roles(communicator, options)),
        staleness_(options.staleness.value_or(16 * roles_.workers)),
        group_(std::make_shared<Communicator>(communicator.duplicate())),
        colleagues_(std::make_shared<Communicator>(group_->split(color(group_->rank())))),
        space_(space) {}

  Communicator const& group() const { return *group_; }
  /// Duplicate of the communicator that the strategy was made of; the same as `group()`.
  Communicator const& communicator() const { return *group_; }
  /// Ranks of workers, servers and the evaluator.
  ServerRoles const& roles() const { return roles_; }
  /// Bound of staleness in use, also where the options leave it unset.
  std::size_t staleness() const { return staleness_; }

  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    return Engine<Model>(std::move(model), space_, group_, colleagues_, roles_, staleness_, plan);
  }

 private:
  static ServerRoles agreed_roles(Communicator const& communicator, ParameterServerOptions const& options) {
    detail::require_same_config(communicator, "ParameterServerStrategy",
                                [&](Config& c) { c.object("the options", options); });
    return ServerRoles::of(communicator.size(), options.servers, options.evaluator);
  }

  std::size_t color(std::size_t rank) const { return roles_.is_worker(rank) ? 0 : roles_.is_server(rank) ? 1 : 2; }

  ServerRoles roles_;
  std::size_t staleness_;
  SharedHandle<Communicator const> group_, colleagues_;
  Space space_;
};

}  // namespace trireme
