/// ParameterShard: the range of the weights that a parameter server holds, with the optimizer's state for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/host_mirror.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/strategies/engine/optimizer_update.hpp"
#include "trireme/strategies/engine/process_sum.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"
#include "trireme/strategies/parameter_server/server_roles.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// The number of gradients, and the sum of their hashes: the same on both sides of the wire if nothing is lost, doubled
/// or damaged, in any order.
struct GradientLedger {
  std::uint64_t count = 0, sum = 0;

  /// Counts a gradient of this hash.
  void add(std::uint64_t hash) {
    ++count;
    sum += hash;
  }
};

namespace kernels {

/// Adds the hash of element i and its place, so that the sum does not depend on the order of the elements.
template <class T>
struct HashElements {
  T const* values;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::uint64_t& sum) const {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    std::uint64_t x = Kokkos::bit_cast<Bits>(values[i]) + (i + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;  // the finalizer of SplitMix64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    sum += x ^ (x >> 31);
  }
};

}  // namespace kernels

/// The hash of a gradient in the space's memory, which is complete: of another kind on devices than on hosts.
template <class Space, class T>
std::uint64_t gradient_hash(Space const& space, std::span<T> gradient) {
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible) {
    return data::hash_bytes(gradient.data(), gradient.size_bytes());
  } else {
    std::uint64_t hash = 0;
    detail::LaunchTurn const turn;
    Kokkos::parallel_reduce(tool_label("trireme::hash_gradient"),
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>(space, 0, gradient.size()),
                            kernels::HashElements<T>{gradient.data()}, hash);
    return hash;
  }
}

template <class Model, class Space>
class ParameterShard {
 public:
  using T = typename Model::scalar;
  using Weights = Arena<T, Space>;

  /// \param servers  the group of all servers.  \param weights  an arena whose range this is; empty: memory of its own.
  ParameterShard(Model const& model, Space const& space, ElementRange range,
                 std::shared_ptr<Communicator const> servers, Weights const& weights = {})
      : context_(space),
        range_(range),
        description_(describe_range(model.description(), range)),
        servers_(std::move(servers)),
        updater_(space, model.optimizer(), description_),
        weights_(weights.extent(0) > 0 ? Weights(Kokkos::subview(weights, std::pair(range.begin, range.end)))
                                       : make_view<Weights>(space, "trireme::parameters", range.size())),
        gradients_(make_view<Weights>(space, "trireme::gradients", range.size())),
        incoming_(make_view<Weights>(space, "trireme::incoming_gradients", range.size())) {
    updater_.share_sums(std::make_shared<GroupSum<Communicator>>(*servers_));
  }

  /// Execution space of the server.
  Space const& space() const { return context_.space(); }
  /// Elements of the arena that the server holds.
  ElementRange range() const { return range_; }
  /// Elements of the range that the optimizer changes: the first ones.
  std::size_t trained() const { return description_.elements; }
  /// Optimizer of these elements, with its state.
  auto& updater() { return updater_; }
  auto const& updater() const { return updater_; }
  Weights const& weights() const { return weights_; }
  /// Memory for a gradient of these elements.
  T* gradients() { return gradients_.data(); }
  /// Ledger of the gradients that were applied.
  GradientLedger const& applied() const { return applied_; }

  /// Receives a worker's gradient of this range, which replaces the current one or is added to it.
  void receive(Communicator const& group, std::size_t worker, bool adds) {
    Weights const& to = adds ? incoming_ : gradients_;
    mirror_.bind(to.data(), range_.size());
    mirror_.prepare(context_.space());
    group.receive(mirror_.values(), worker, server_tags::gradients);
    mirror_.push_all(context_.space());
    applied_.add(gradient_hash(context_.space(), mirror_.array()));
    if (adds)
      context_.for_each("trireme::sum_workers", range_.size(), kernels::AddTo<T>{incoming_.data(), gradients_.data()});
    context_.fence("trireme: gradient added before the next one arrives");
  }

  /// The optimizer's step, and the states', for the mean gradient of a global batch of so many rows. All servers
  /// take the same steps in the same order: norms are sums over them.
  void update(T* gradients, std::size_t rows) {
    ProfilingRegion const region("trireme::ParameterShard::update");
    updater_.apply(context_, weights_.data(), gradients, rows);
    updater_.move_states(context_, weights_.data(), gradients, rows);
    context_.fence("trireme: weights complete before they are sent");
  }

  /// The weights in memory that MPI reads, valid until the next call of a member.
  std::span<T> message_weights() const {
    mirror_.bind(weights_.data(), range_.size());
    mirror_.pull(context_.space());
    return mirror_.values();
  }
  /// Copy of the weights on the host.
  std::vector<T> host_weights() const { return to_host(weights_); }
  /// Copy of an optimizer slot on the host.
  std::vector<T> host_slot(std::size_t slot) const { return to_host(updater_.slots()[slot]); }

  /// Assigns its part of the arena's elements from `offset` on.
  void assign(std::size_t offset, std::span<T const> values) {
    std::size_t const begin = std::clamp(offset, range_.begin, range_.end);
    std::size_t const end = std::clamp(offset + values.size(), range_.begin, range_.end);
    if (begin == end) return;
    copy_view(space_view<Space>(weights_.data() + (begin - range_.begin), end - begin),
              host_view(values.data() + (begin - offset), end - begin));
  }
  /// Assigns its range of the optimizer's slot of the whole model.
  void assign_slot(std::size_t slot, std::span<T const> values) {
    copy_view(updater_.slots()[slot], host_view(values.data() + range_.begin, trained()));
  }

  /// Sends its complete state to a process that calls `receive_state`.
  void send_state(Communicator const& group, std::size_t to) const {
    std::uint64_t const iteration = updater_.iteration();
    group.send(std::span(&iteration, 1), to, server_tags::state);
    group.send(message_weights(), to, server_tags::state);
    for (std::size_t slot = 0; slot < updater_.slots().size(); ++slot)
      group.send(host_slot(slot), to, server_tags::state);
  }
  /// Begins to receive the state of the server `from`, elements `range`, into the whole model's parameters and slots,
  /// and the number of updates that the server has made into `iteration`.
  template <class State>
  static void receive_state(Communicator const& group, std::size_t from, ElementRange range, std::size_t trained,
                            State& state, std::uint64_t& iteration, Requests& requests) {
    auto const receive = [&](auto values) { requests.push(group.ireceive(values, from, server_tags::state)); };
    receive(std::span(&iteration, 1));
    receive(std::span(state.parameters).subspan(range.begin, range.size()));
    std::size_t const begin = std::min(range.begin, trained), end = std::min(range.end, trained);
    for (auto& slot : state.slots) receive(std::span(slot).subspan(begin, end - begin));
  }

  /// Penalty of the regularizers on these elements.
  double mean_penalty(Phase phase) { return updater_.mean_penalty(context_, phase, weights_.data()); }

 private:
  SpaceContext<Space> context_;
  ElementRange range_;
  ModelDescription description_;
  std::shared_ptr<Communicator const> servers_;
  Updater<T, typename Model::Optimizer, SpaceContext<Space>> updater_;
  Weights weights_, gradients_, incoming_;
  mutable HostMirror<T, Space> mirror_;
  GradientLedger applied_;
};

}  // namespace trireme
