/// PlannedGraph: the plan of a layer's graph and the sizes of its values; and where a pass has these in memory.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/graph_plan.hpp"
#include "trireme/models/wiring.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// The plan for layer L at extents In, as Context runs it: a constant where extents are static, else made here.
template <class T, class Context, class L, class In>
class PlannedGraph {
  static constexpr auto const& wiring = wiring_of<Context, L, In>;
  using Wired = std::remove_cvref_t<decltype(wiring)>;
  using Plan = GraphPlan<Wired>;
  using Sizes = typename Wired::template PerValue<std::size_t>;

 public:
  constexpr PlannedGraph(L const& layer, In const& in) {
    if constexpr (!wiring.is_static) {
      made_.sizes = count_sizes(layer, in);
      made_.plan = make_plan(made_.sizes);
    }
  }

  constexpr Plan const& plan() const {
    if constexpr (wiring.is_static)
      return static_plan;
    else
      return made_.plan;
  }
  /// Elements of a sample.
  constexpr std::size_t size(std::size_t value) const {
    if constexpr (wiring.is_static)
      return wiring.sizes[value];
    else
      return made_.sizes[value];
  }

 private:
  struct Made {
    Sizes sizes{};
    Plan plan{};
  };
  struct Nothing {};

  static constexpr Plan make_plan(Sizes const& sizes) {
    GraphPlanner<Wired> planner(wiring, sizes, aligned_count<T>(1));
    return planner.plan(StoresOutputs<Context>);
  }
  static constexpr Plan static_plan = make_plan(wiring.sizes);

  static constexpr Sizes count_sizes(L const& layer, In const& in) {
    Sizes sizes{};
    std::size_t value = 0;
    auto const add = [&](auto const& part, std::size_t) { sizes[value++] = part.size(); };
    for_each_part(in, add);
    auto const add_outputs = [&]<class Node, class Own>(Node const& node, Own const& own) {
      if constexpr (computes<Node, Own>) for_each_part(output_of(node, own), add);
    };
    detail::visit<Context>(layer, in, add_outputs);
    return sizes;
  }

  std::conditional_t<wiring.is_static, Nothing, Made> made_{};
};

/// Memory of the caller, for input and output, and the graph's own; for values, or for their gradients.
template <class T>
struct GraphMemory {
  std::size_t rows;
  T *input, *output;
  std::byte* own;

  T* values(Place place) const {
    T* const region = place.region == Region::own     ? reinterpret_cast<T*>(own)
                      : place.region == Region::input ? input
                                                      : output;
    return region + rows * place.offset;
  }
};

/// State of a backward pass through a graph with the wiring `Wired`.
template <class T, class Wired>
struct GraphBackwardState {
  template <class U>
  using PerValue = typename Wired::template PerValue<U>;

  GraphMemory<T> memory, gradients;
  PerValue<bool> wanted{};    ///< true if a node before the value trains, or the input's gradient is wanted
  PerValue<bool> written{};   ///< true if a gradient has been stored, so that others are added
  PerValue<bool> expanded{};  ///< true if a stored value is there again
};

}  // namespace trireme::detail
