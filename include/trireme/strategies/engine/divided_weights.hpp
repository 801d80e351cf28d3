/// DividedWeights: the weights of an engine whose process holds some elements of the model's arena.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/models/description.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/engine/arena_exchange.hpp"
#include "trireme/strategies/engine/arena_map.hpp"
#include "trireme/strategies/engine/initial_parameters.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// Operations on all weights are collective, and go through the host (arena_exchange.hpp).
///
/// \tparam Arenas  the memory in which passes work on them; its `settle()`, if it has one, waits for weights that still
///                 arrive.
template <class T, class Space, class Arenas>
class DividedWeights {
 public:
  using Parameters = Arena<T, Space>;
  /// The weights that this process holds at one moment, in the space's memory.
  using Snapshot = Parameters;

  /// Collective. `map`: the elements of each process. `make_arenas(held)`: the Arenas for those of this one.
  template <class Model, class MakeArenas>
  DividedWeights(Model const& model, Space const& space, std::shared_ptr<Communicator const> group, ArenaMap map,
                 MakeArenas const& make_arenas)
      : group_(std::move(group)),
        space_(space),
        map_(std::move(map)),
        elements_(model.description().arena_elements()),
        held_(memory(space, model, map_.size(group_->rank()))),
        arenas_(make_arenas(held_.data())) {
    initialize(model);
  }

  /// Elements of the arena that each rank holds.
  ArenaMap const& map() const { return map_; }
  /// Arenas of the pass, in the memory that this process holds.
  Arenas& arenas() { return arenas_; }
  Arenas const& arenas() const { return arenas_; }
  /// The elements that this process holds, in the order of the map.
  Parameters const& held() const { return held_; }
  /// First element that this process holds, in the space's memory.
  T* data() const { return held_.data(); }

  Snapshot snapshot() const {
    settle();
    return clone_view(space_, "trireme::snapshot", held_);
  }
  void restore(Snapshot const& snapshot) {
    settle();
    copy_view(held_, snapshot);
  }
  /// The complete snapshot, on the chief. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    std::vector<T> all;
    collect_arena<Space>(*group_, map_, elements_, snapshot.data(), all);
    return all;
  }
  /// This process's part of the chief's complete snapshot. Collective.
  Snapshot scatter(std::span<T const> values) const {
    auto const copy = uninitialized_view<Snapshot>(space_, "trireme::snapshot", held_.extent(0));
    spread_arena<Space>(*group_, map_, 0, values, copy.data());
    return copy;
  }
  /// All weights of this moment on the chief. Collective.
  void collect(std::vector<T>& all) const {
    settle();
    collect_arena<Space>(*group_, map_, elements_, data(), all);
  }

  /// Elements [offset, offset + count) of the arena, on every process. Collective.
  std::vector<T> host_values(std::size_t offset, std::size_t count) const {
    settle();
    return share_arena<Space>(*group_, map_, offset, count, data());
  }
  /// The whole arena on every process: for models that fit one. Collective.
  std::vector<T> host_parameters() const { return host_values(0, elements_); }

  /// Overwrites elements of the arena from `offset` on with the chief's values; those of other processes are ignored.
  /// Collective.
  void set_values(std::size_t offset, std::span<T const> values) {
    settle();
    spread_arena<Space>(*group_, map_, offset, values, data());
  }
  void set_parameters(std::span<T const> values) { set_values(0, values); }

  /// Waits until the weights are complete where they are held. Not collective.
  void settle() const {
    if constexpr (requires { arenas_.settle(); }) arenas_.settle();
    space_.fence(tool_label("trireme: weights complete"));
  }

 private:
  /// The application's memory, if it keeps all parameters.
  template <class Model>
  static Parameters memory(Space const& space, Model const& model, std::size_t elements) {
    if constexpr (requires { model.parameter_view(); })
      return parameter_arena<Parameters>(space, model);
    else
      return make_view<Parameters>(space, "trireme::parameters", elements);
  }

  /// Initializes tensor by tensor, so that a process needs memory for the largest at most.
  template <class Model>
  void initialize(Model const& model) {
    if constexpr (requires(ParameterInfo const& weight) { model.initial_values(weight); }) {
      std::vector<T> part;
      for_each_weight(model.description(), [&](auto const& weight) {
        map_.for_each_held(group_->rank(), weight.offset, weight.offset + weight.size,
                           [&](std::size_t first, std::size_t local, std::size_t count) {
                             if (part.empty()) part = model.initial_values(weight);
                             std::span<T> const from(part.data() + (first - weight.offset), count);
                             copy_view(space_view<Space>(data() + local, count), host_view(from));
                           });
        part.clear();
      });
    } else {
      set_parameters(initial_parameters(model));
    }
  }

  std::shared_ptr<Communicator const> group_;
  Space space_;
  ArenaMap map_;
  std::size_t elements_;  ///< of the whole arena
  Parameters held_;
  mutable Arenas arenas_;  // weights may still arrive
};

}  // namespace trireme
