/// Optimizers in a program: those of one element at a time by their own rules, and Lamb and Lars.
///
/// The host computes the values that change from step to step (rate, Adam's correction) and passes them as numbers, so
/// that schedules and callbacks that set the rate need no other program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/optimizers/lamb.hpp"
#include "trireme/optimizers/lars.hpp"
#include "trireme/optimizers/optimizer.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/members.hpp"
#include "trireme/pjrt/lowering/traced.hpp"

namespace trireme::lowering {

/// Lowering of an optimizer. Each has a specialization with
///   count                                   of numbers that a step needs
///   numbers(optimizer, iteration, rate)     std::array<double, count> for the step, on the host
///   step(builder, optimizer, numbers, weight, gradient, slots)   the new weight; new slots in place of the old
template <class Optimizer>
struct OptimizerLowering {
  static constexpr bool missing = true;
};

/// An optimizer whose rule for an element needs no sums over the element's tensor: by the rule itself. Every number of
/// the rule is an argument of the step.
template <class Optimizer>
  requires(!DeclaresTensorSums<RuleOf<Optimizer, double>>)
struct OptimizerLowering<Optimizer> {
  using HostRule = RuleOf<Optimizer, double>;
  template <class T>
  using Number = Traced<T, AnyExtents>;
  static constexpr std::size_t members = member_count<HostRule>;

  static constexpr std::size_t count = [] {
    using Members = decltype(lowering::members<members>(std::declval<HostRule&>()));
    return []<class... M>(std::type_identity<std::tuple<M&...>>) {
      return (std::size_t{0} + ... + (std::is_same_v<M, double> ? 1 : 0));
    }(std::type_identity<Members>());
  }();

  static std::array<double, count> numbers(Optimizer const& optimizer, std::uint64_t iteration, double rate) {
    auto rule = optimizer.template step<double>(iteration, rate);
    std::array<double, count> result{};
    std::size_t next = 0;
    auto const take = [&](auto const& member) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, double>) result[next++] = member;
    };
    std::apply([&](auto const&... member) { (take(member), ...); }, lowering::members<members>(rule));
    return result;
  }

  template <class T>
  static Value<T, AnyExtents> step(Builder& b, Optimizer const& optimizer, std::vector<Scalar<T>> const& numbers,
                                   Value<T, AnyExtents> const& weight, Value<T, AnyExtents> const& gradient,
                                   std::vector<Value<T, AnyExtents>>& slots) {
    AnyExtents const& extents = weight.extents;
    auto rule = optimizer.template step<Number<T>>(1, 1.0);
    std::size_t next = 0;
    auto const set = [&](auto& member) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Number<T>>)
        member = Number<T>(b, b.fill(numbers[next++], extents));
    };
    std::apply([&](auto&... member) { (set(member), ...); }, lowering::members<members>(rule));

    Number<T> w(b, weight);
    std::vector<Number<T>> values;
    for (auto const& slot : slots) values.emplace_back(b, slot);
    std::vector<Number<T>*> pointers;
    for (auto& value : values) pointers.push_back(&value);
    rule(0, &w, Number<T>(b, gradient), pointers.data());
    for (std::size_t slot = 0; slot < slots.size(); ++slot) slots[slot] = values[slot].in(b, extents);
    return w.in(b, extents);
  }
};

/// The weight after `decay`, a number of the step; unchanged if the optimizer has no weight decay.
template <class Optimizer, class T>
Value<T, AnyExtents> decayed(Builder& b, Optimizer const& optimizer, Value<T, AnyExtents> const& weight,
                             Scalar<T> const& decay) {
  if (optimizer.weight_decay == 0) return weight;
  return b.subtract(weight, b.multiply(weight, b.fill(decay, weight.extents)));
}

/// Root of the sum of squares of a tensor, in double.
template <class T>
Scalar<double> norm(Builder& b, Value<T, AnyExtents> const& x) {
  auto const wide = b.convert<double>(x);
  return b.unary<"sqrt">(b.sum_all(b.multiply(wide, wide)));
}

/// `ratio`, or 1 where one of two norms is 0.
inline Scalar<double> where_positive(Builder& b, Scalar<double> const& first, Scalar<double> const& second,
                                     Scalar<double> const& ratio) {
  auto const zero = b.constant<double>(0), one = b.constant<double>(1);
  return b.select(b.compare<"GT">(first, zero), b.select(b.compare<"GT">(second, zero), ratio, one), one);
}

template <>
struct OptimizerLowering<Lamb> {
  static constexpr std::size_t count = 4;
  static std::array<double, count> numbers(Lamb const& optimizer, std::uint64_t iteration, double rate) {
    auto const rule = optimizer.step<double>(iteration, rate);
    return {rule.rate, rule.moments.decay, rule.moments.momentum_scale, rule.moments.velocity_scale};
  }

  template <class T>
  static Value<T, AnyExtents> step(Builder& b, Lamb const& optimizer, std::vector<Scalar<T>> const& numbers,
                                   Value<T, AnyExtents> const& weight, Value<T, AnyExtents> const& gradient,
                                   std::vector<Value<T, AnyExtents>>& slots) {
    auto const fixed = optimizer.step<T>(1, 0).moments;
    auto const times = [&](auto const& x, Scalar<T> const& factor) { return b.multiply(x, b.fill(factor, x.extents)); };
    auto const towards = [&](auto const& from, auto const& to, T share) {
      return b.add(from, b.scale(b.subtract(to, from), share));
    };
    slots[0] = towards(slots[0], gradient, fixed.one_minus_beta_1);
    slots[1] = towards(slots[1], b.multiply(gradient, gradient), fixed.one_minus_beta_2);
    auto const root = b.unary<"sqrt">(times(slots[1], numbers[3]));
    auto const direction = b.divide(times(slots[0], numbers[2]), b.add(root, b.constant_like<T>(fixed.epsilon, root)));
    auto const start = decayed(b, optimizer, weight, numbers[1]);
    auto const weights = norm(b, start), directions = norm(b, direction);
    auto const trust = where_positive(b, weights, directions, b.divide(weights, directions));
    return b.subtract(start, times(direction, b.convert<T>(b.multiply(b.convert<double>(numbers[0]), trust))));
  }
};

template <>
struct OptimizerLowering<Lars> {
  static constexpr std::size_t count = 1;
  static std::array<double, count> numbers(Lars const&, std::uint64_t, double rate) { return {rate}; }

  template <class T>
  static Value<T, AnyExtents> step(Builder& b, Lars const& optimizer, std::vector<Scalar<T>> const& numbers,
                                   Value<T, AnyExtents> const& weight, Value<T, AnyExtents> const& gradient,
                                   std::vector<Value<T, AnyExtents>>& slots) {
    auto const weights = norm(b, weight), gradients = norm(b, gradient);
    auto const penalized = b.add(gradients, b.scale(weights, optimizer.weight_decay));
    auto const trust =
        where_positive(b, weights, gradients, b.divide(b.scale(weights, optimizer.trust_coefficient), penalized));
    auto const rate = b.convert<T>(b.multiply(b.convert<double>(numbers[0]), trust));
    auto const decayed = b.add(gradient, b.scale(weight, static_cast<T>(optimizer.weight_decay)));
    slots[0] = b.subtract(b.scale(slots[0], static_cast<T>(optimizer.momentum)),
                          b.multiply(b.fill(rate, decayed.extents), decayed));
    return b.add(weight, slots[0]);
  }
};

}  // namespace trireme::lowering
