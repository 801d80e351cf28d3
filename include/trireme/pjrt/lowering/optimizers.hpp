/// Optimizers in a program: Adam and SGD.
///
/// The host computes the values that change from step to step (rate, Adam's correction) and passes them as numbers, so
/// that schedules and callbacks that set the rate need no other program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/builder.hpp"

namespace trireme::lowering {

/// Lowering of an optimizer. Each has a specialization with
///   count                                   of numbers that a step needs
///   numbers(optimizer, iteration, rate)     std::array<double, count> for the step, on the host
///   step(builder, optimizer, numbers, weight, gradient, slots)   the new weight; new slots in place of the old
template <class Optimizer>
struct OptimizerLowering {
  static constexpr bool missing = true;
};

/// The weight after `decay`, a number of the step; unchanged if the optimizer has no weight decay.
template <class Optimizer, class T>
Value<T, AnyExtents> decayed(Builder& b, Optimizer const& optimizer, Value<T, AnyExtents> const& weight,
                             Scalar<T> const& decay) {
  if (optimizer.weight_decay == 0) return weight;
  return b.subtract(weight, b.multiply(weight, b.fill(decay, weight.extents)));
}

template <>
struct OptimizerLowering<Adam> {
  static constexpr std::size_t count = 2;
  static std::array<double, count> numbers(Adam const& optimizer, std::uint64_t iteration, double rate) {
    auto const step = AdamStep<double>::of(optimizer, iteration, rate);
    return {step.alpha, step.decay};
  }

  template <class T>
  static Value<T, AnyExtents> step(Builder& b, Adam const& optimizer, std::vector<Scalar<T>> const& numbers,
                                   Value<T, AnyExtents> const& weight, Value<T, AnyExtents> const& gradient,
                                   std::vector<Value<T, AnyExtents>>& slots) {
    auto const fixed = AdamStep<T>::of(optimizer, 1, 0);
    auto const towards = [&](auto const& from, auto const& to, T share) {
      return b.add(from, b.scale(b.subtract(to, from), share));
    };
    auto const m = towards(slots[0], gradient, fixed.one_minus_beta_1);
    auto const v = towards(slots[1], b.multiply(gradient, gradient), fixed.one_minus_beta_2);
    slots[0] = m;
    slots[1] = v;
    auto square = v;
    if (optimizer.amsgrad) square = slots[2] = b.binary<"maximum">(slots[2], v);
    auto const root = b.add(b.unary<"sqrt">(square), b.constant_like<T>(fixed.epsilon, square));
    auto const step = b.divide(b.multiply(b.fill(numbers[0], m.extents), m), root);
    return b.subtract(decayed(b, optimizer, weight, numbers[1]), step);
  }
};

template <>
struct OptimizerLowering<SGD> {
  static constexpr std::size_t count = 2;
  static std::array<double, count> numbers(SGD const& optimizer, std::uint64_t iteration, double rate) {
    auto const step = optimizer.step<double>(iteration, rate);
    return {step.rate, step.decay};
  }

  template <class T>
  static Value<T, AnyExtents> step(Builder& b, SGD const& optimizer, std::vector<Scalar<T>> const& numbers,
                                   Value<T, AnyExtents> const& weight, Value<T, AnyExtents> const& gradient,
                                   std::vector<Value<T, AnyExtents>>& slots) {
    auto const down = b.multiply(b.fill(numbers[0], weight.extents), gradient);
    auto const start = decayed(b, optimizer, weight, numbers[1]);
    if (optimizer.slots() == 0) return b.subtract(start, down);
    auto const momentum = static_cast<T>(optimizer.momentum);
    auto const m = b.subtract(b.scale(slots[0], momentum), down);
    slots[0] = m;
    return b.add(start, optimizer.nesterov ? b.subtract(b.scale(m, momentum), down) : m);
  }
};

}  // namespace trireme::lowering
