/// GraphMemory: the addresses of a graph's tensors in a pass, and what a backward pass knows of their gradients.
#pragma once

#include <cstddef>

#include "trireme/models/graph_plan.hpp"

namespace trireme::detail {

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
