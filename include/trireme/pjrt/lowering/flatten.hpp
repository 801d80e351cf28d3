/// Flatten and Reshape in a program.
#pragma once

#include <cstddef>

#include "trireme/layers/flatten.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <class L>
struct RenamingLowering {
  template <class T, class E>
  static auto forward(Trace<T>& trace, L const& layer, Value<T, E> const& x) {
    auto const out = with_rows(x.extents[0], layer.output(without_front(x.extents)));
    auto const y = trace.builder().reshape(x, out);
    auto const in = x.extents;
    return Lowered{y, [in](Trace<T>& t, decltype(y) const& dy) { return t.builder().reshape(dy, in); }};
  }
};

template <>
struct LayerLowering<Flatten> : RenamingLowering<Flatten> {};
template <std::size_t... E>
struct LayerLowering<Reshape<E...>> : RenamingLowering<Reshape<E...>> {};

}  // namespace trireme::lowering
