/// The plan of a graph of layers: where values and their gradients lie between forward and backward.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "trireme/models/buffer_plan.hpp"
#include "trireme/models/wiring.hpp"

namespace trireme::detail {

/// Memory that the caller gives for the graph's input and output, or the graph's own.
enum class Region { own, input, output };

/// Elements of a sample that lie before a tensor in its region: times the rows, its address. Without defaults, which
/// GCC 12 leaves out of arrays in some constants.
struct Place {
  Region region;
  std::size_t offset;
};

/// Places of all values of a graph, for any number of rows.
template <class Wired>
struct GraphPlan {
  template <class U>
  using PerNode = typename Wired::template PerNode<U>;
  template <class U>
  using PerValue = typename Wired::template PerValue<U>;

  std::size_t elements = 0;         ///< of a sample, in the graph's own memory
  std::size_t stored_elements = 0;  ///< of a sample, of the values that are stored in another type

  PerValue<Place> values{};              ///< in forward
  PerValue<Place> values_in_backward{};  ///< the same, unless values are stored in another type
  PerValue<Place> gradients{};
  PerValue<bool> is_stored{};      ///< stored in another type
  PerValue<std::size_t> stored{};  ///< offsets in the memory of that

  PerNode<bool> gathers{};   ///< layers of several inputs that do not lie side by side
  PerNode<bool> in_place{};  ///< layers that write the gradients of their inputs where they lie
  PerNode<Place> gathered{}, gathered_in_backward{}, input_gradients{};

  PerValue<bool> in_result{};  ///< made where the caller wants the output
  Values copied_results;       ///< parts of the output that are copies: of sources, or of parts before
};

/// Plans the memory of a graph. Values stay from forward until backward, gradients until the last node that needs
/// them. Parts of a tuple are made side by side where one layer takes them, and where they are the output. Values that
/// are stored in another type share memory in the computed one as gradients do; indices of lookups are not.
template <class Wired>
class GraphPlanner {
  static constexpr std::size_t nodes = Wired::node_count, none = Wired::value_count;
  template <class U>
  using PerValue = typename Wired::template PerValue<U>;

 public:
  /// `sizes`: elements of a sample.  `alignment`: elements of which every buffer takes a multiple.
  constexpr GraphPlanner(Wired const& wiring, PerValue<std::size_t> const& sizes, std::size_t alignment)
      : wiring_(wiring), sizes_(sizes), alignment_(alignment) {}

  /// `stores`: whether values are stored in another type.
  constexpr GraphPlan<Wired> plan(bool stores) {
    place_results();
    find_tuples();
    share_sums();
    if (stores) find_stored();
    place_in_memory(stores);
    return plan_;
  }

 private:
  constexpr bool is_source(std::size_t value) const { return value < wiring_.sources; }
  /// True for the only output of a node.
  constexpr bool is_alone(std::size_t value) const {
    return !is_source(value) && wiring_.nodes[wiring_.producer[value]].outputs == 1;
  }
  constexpr bool is_result(std::size_t value) const { return wiring_.results.count(value) > 0; }
  /// True if a gradient is there before the first node runs backward: the caller's, or zero for an unused value.
  constexpr bool begins_with_gradient(std::size_t value) const {
    return is_result(value) || wiring_.last_user[value] == nodes;
  }
  constexpr std::size_t users(std::size_t value) const {
    std::size_t count = 0;
    for (NodeWiring const& node : wiring_.nodes) count += node.inputs.count(value);
    return count;
  }

  constexpr void place_results() {
    Values const& results = wiring_.results;
    bool const together = !is_source(results[0]) && wiring_.adjoin(results);
    std::size_t before = 0;
    for (std::size_t k = 0; k < results.size(); ++k) {
      std::size_t const value = results[k];
      if (!plan_.in_result[value] && (together || is_alone(value))) {
        plan_.values[value] = plan_.values_in_backward[value] = plan_.gradients[value] = {Region::output, before};
        plan_.in_result[value] = true;
      } else {
        plan_.copied_results.add(k);
      }
      before += sizes_[value];
    }
    std::size_t input = 0;
    for (std::size_t value = 0; value < wiring_.sources; ++value) {
      plan_.values[value] = plan_.values_in_backward[value] = plan_.gradients[value] = {Region::input, input};
      input += sizes_[value];
    }
  }

  constexpr void find_tuples() {
    taker_.fill(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
      NodeWiring const& node = wiring_.nodes[i];
      if (is_join(node.kind)) continue;
      bool const adjoin = node.inputs.size() == 1 || wiring_.adjoin(node.inputs);
      if (!adjoin) {
        bool are_own = true;
        for (std::size_t const value : node.inputs)
          are_own = are_own && is_alone(value) && !is_result(value) && users(value) == 1;
        plan_.gathers[i] = !are_own;
        if (are_own)
          for (std::size_t const value : node.inputs) taker_[value] = i;
      }
      plan_.in_place[i] = !plan_.gathers[i];
      for (std::size_t const value : node.inputs)
        if (wiring_.last_user[value] != i || begins_with_gradient(value)) plan_.in_place[i] = false;
    }
  }

  /// The gradient of a sum becomes that of one summand, which may change it once the others have got theirs.
  constexpr void share_sums() {
    holder_.fill(none);
    for (std::size_t i = nodes; i-- > 0;) {
      NodeWiring const& node = wiring_.nodes[i];
      if (node.kind != NodeKind::sum) continue;
      std::size_t summand = none;
      for (std::size_t const value : node.inputs)
        if (is_alone(value) && !is_result(value) && taker_[value] == nodes && wiring_.last_user[value] == i &&
            node.inputs.count(value) == 1)
          summand = value;
      if (summand != none) holder_[summand] = holder_of(node.first_output);
    }
  }
  constexpr std::size_t holder_of(std::size_t value) const { return holder_[value] == none ? value : holder_[value]; }

  /// Buffers of one kind: the outputs of node i together, and `nodes` + i, the inputs of layer i together.
  static constexpr std::size_t buffers = 2 * nodes;
  constexpr std::size_t buffer_of(std::size_t value) const {
    return taker_[value] < nodes ? nodes + taker_[value] : wiring_.producer[value];
  }
  constexpr std::size_t before_in_buffer(std::size_t value) const {
    std::size_t elements = 0;
    if (taker_[value] < nodes) {
      for (std::size_t const other : wiring_.nodes[taker_[value]].inputs) {
        if (other == value) break;
        elements += sizes_[other];
      }
    } else {
      for (std::size_t other = wiring_.nodes[wiring_.producer[value]].first_output; other < value; ++other)
        elements += sizes_[other];
    }
    return elements;
  }

  /// Forward runs node i at time i, backward at this one; `nodes` is the time before the first.
  static constexpr std::size_t backward_time(std::size_t i) { return 2 * nodes + 1 - i; }

  constexpr void find_stored() {
    auto const indices = wiring_.indices();
    for (std::size_t value = wiring_.sources; value < none; ++value)
      plan_.is_stored[value] = !plan_.in_result[value] && !indices[value];
  }

  constexpr void place_in_memory(bool stores) {
    std::array<BufferLife, 3 * buffers> lives{};
    auto const forward = [&](std::size_t buffer) -> BufferLife& { return lives[buffer]; };
    auto const backward = [&](std::size_t buffer) -> BufferLife& { return lives[buffers + buffer]; };
    auto const gradient = [&](std::size_t buffer) -> BufferLife& { return lives[2 * buffers + buffer]; };
    for (BufferLife& life : lives) life = unborn;
    for (std::size_t value = wiring_.sources; value < none; ++value) {
      if (plan_.in_result[value]) continue;
      std::size_t const made = wiring_.producer[value], buffer = buffer_of(value), holder = holder_of(value);
      std::size_t const last = begins_with_gradient(value) ? nodes : wiring_.last_user[value];
      bool const kept = stores && !plan_.is_stored[value];
      forward(buffer).add(sizes_[value], made, kept ? backward_time(made) : last);
      if (!kept) backward(buffer).add(sizes_[value], backward_time(last), backward_time(made));
      if (!plan_.in_result[holder])
        gradient(buffer_of(holder)).add(holder == value ? sizes_[value] : 0, backward_time(last), backward_time(made));
    }
    for (std::size_t i = 0; i < nodes; ++i) {
      if (is_join(wiring_.nodes[i].kind)) continue;
      std::size_t inputs = 0;
      for (std::size_t const value : wiring_.nodes[i].inputs) inputs += sizes_[value];
      if (plan_.gathers[i]) {
        forward(nodes + i).add(inputs, i, i);
        backward(nodes + i).add(inputs, backward_time(i), backward_time(i));
      }
      if (!plan_.in_place[i]) gradient(nodes + i).add(inputs, backward_time(i), backward_time(i));
    }

    for (BufferLife& life : lives) life.size = (life.size + alignment_ - 1) / alignment_ * alignment_;
    std::array<std::size_t, 3 * buffers> offsets{};
    if (stores) {
      plan_.elements = plan_buffers(lives, offsets);
    } else {
      std::size_t values = 0;
      std::array<std::size_t, buffers> kept{};
      for (std::size_t b = 0; b < buffers; ++b) {
        kept[b] = values;
        values += forward(b).size;
        forward(b).size = backward(b).size = 0;
      }
      plan_.elements = values + plan_buffers(lives, offsets);
      for (std::size_t& offset : offsets) offset += values;
      for (std::size_t b = 0; b < buffers; ++b) offsets[b] = offsets[buffers + b] = kept[b];
    }

    for (std::size_t value = wiring_.sources; value < none; ++value) {
      if (plan_.in_result[value]) continue;
      std::size_t const buffer = buffer_of(value), before = before_in_buffer(value), holder = holder_of(value);
      bool const kept = stores && !plan_.is_stored[value];
      plan_.values[value] = {Region::own, offsets[buffer] + before};
      plan_.values_in_backward[value] = {Region::own, offsets[kept ? buffer : buffers + buffer] + before};
      if (plan_.in_result[holder])
        plan_.gradients[value] = plan_.gradients[holder];
      else
        plan_.gradients[value] = {Region::own, offsets[2 * buffers + buffer_of(holder)] + before_in_buffer(holder)};
      plan_.stored[value] = plan_.stored_elements;
      if (plan_.is_stored[value]) plan_.stored_elements += (sizes_[value] + alignment_ - 1) / alignment_ * alignment_;
    }
    for (std::size_t i = 0; i < nodes; ++i) {
      plan_.gathered[i] = {Region::own, offsets[nodes + i]};
      plan_.gathered_in_backward[i] = {Region::own, offsets[buffers + nodes + i]};
      plan_.input_gradients[i] = {Region::own, offsets[2 * buffers + nodes + i]};
    }
  }

  Wired const& wiring_;
  PerValue<std::size_t> sizes_;
  std::size_t alignment_;
  PerValue<std::size_t> taker_{};   ///< the layer for which a value is made beside others; `nodes`: none
  PerValue<std::size_t> holder_{};  ///< the sum in whose gradient's memory that of a value lies; `none`: it has its own
  GraphPlan<Wired> plan_;
};

}  // namespace trireme::detail
