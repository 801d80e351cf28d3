/// Shared in a program: its layers, as they are without it.
#pragma once

#include "trireme/models/shared.hpp"
#include "trireme/pjrt/lowering/graph.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <class L>
struct LayerLowering<Shared<L>> {
  template <class T, class X>
  static auto forward(Trace<T>& trace, Shared<L> const& shared, X const& x) {
    return lower(trace, static_cast<L const&>(shared), x);
  }
};

}  // namespace trireme::lowering
