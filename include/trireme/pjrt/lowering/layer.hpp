/// LayerLowering: the lowering of a layer to operations of a program, and the error message for a layer without one.
#pragma once

#include "trireme/layers/layer.hpp"
#include "trireme/pjrt/lowering/trace.hpp"

namespace trireme::lowering {

/// Lowering of a layer. Each kind of layer has a specialization with
///   forward(trace, layer, x)  returning Lowered{y, backward}; x is (rows, extents of its input...)
/// A layer of several inputs gets a std::tuple of values and returns one from `backward`; y may be one too.
/// A user's own layer gets one in the same way.
template <class L>
struct LayerLowering {
  static constexpr bool missing = true;
};

/// Lowering of an activation: forward(builder, activation, z) -> y and backward(builder, activation, z, y, dy) -> dz.
template <class A>
struct ActivationLowering {
  static constexpr bool missing = true;
};

template <class Lowering>
inline constexpr bool exists = !requires { Lowering::missing; };

template <class L>
consteval bool require_layer_lowering() {
  static_assert(exists<LayerLowering<L>>,
                "trireme: this layer cannot be compiled for a PJRT device, since it has no LayerLowering");
  return exists<LayerLowering<L>>;
}

template <class A>
consteval bool require_activation_lowering() {
  static_assert(exists<ActivationLowering<A>>,
                "trireme: this activation cannot be compiled for a PJRT device, since it has no ActivationLowering");
  return exists<ActivationLowering<A>>;
}

}  // namespace trireme::lowering
