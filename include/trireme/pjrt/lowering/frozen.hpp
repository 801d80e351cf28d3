/// Frozen in a program: its layers with weights that do not train.
#pragma once

#include "trireme/models/frozen.hpp"
#include "trireme/pjrt/lowering/graph.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <class L>
struct LayerLowering<Frozen<L>> {
  template <class T, class X>
  static auto forward(Trace<T>& trace, Frozen<L> const& frozen, X const& x) {
    return trace.frozen([&] { return lower(trace, frozen.layer, x); });
  }
};

}  // namespace trireme::lowering
