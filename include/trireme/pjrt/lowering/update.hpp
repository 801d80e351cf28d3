/// Optimizer's step as part of a program: penalties, clipping, then the optimizer's rule for each parameter.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "trireme/models/description.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/optimizers.hpp"
#include "trireme/pjrt/lowering/tuples.hpp"

namespace trireme::lowering {

/// The penalty of the weights: l1 * sum |w| + l2 * sum w^2 over all parameters that have one.
template <class T>
Scalar<double> penalty(Builder& b, std::vector<ParameterInfo> const& infos, Tensors<T> const& weights) {
  auto sum = b.constant<double>(0);
  for (std::size_t p = 0; p < infos.size(); ++p) {
    Regularizer const& r = infos[p].regularizer;
    auto const w = b.convert<double>(weights[p]);
    if (r.l1 != 0) sum = b.add(sum, b.scale(b.sum_all(b.unary<"abs">(w)), r.l1));
    if (r.l2 != 0) sum = b.add(sum, b.scale(b.sum_all(b.multiply(w, w)), r.l2));
  }
  return sum;
}

/// Gradients plus those of the penalties.
template <class T>
Tensors<T> with_penalties(Builder& b, std::vector<ParameterInfo> const& infos, Tensors<T> const& weights,
                          Tensors<T> gradients) {
  for (std::size_t p = 0; p < infos.size(); ++p) {
    Regularizer const& r = infos[p].regularizer;
    auto& g = gradients[p];
    if (r.l1 != 0) g = b.add(g, b.scale(b.unary<"sign">(weights[p]), static_cast<T>(r.l1)));
    if (r.l2 != 0) g = b.add(g, b.scale(weights[p], static_cast<T>(2 * r.l2)));
  }
  return gradients;
}

namespace detail {
template <class T>
Scalar<double> squared_norm(Builder& b, Value<T, AnyExtents> const& x) {
  auto const wide = b.convert<double>(x);
  return b.sum_all(b.multiply(wide, wide));
}
/// x scaled so that its norm is at most `limit`. A norm that is NaN makes all NaN, and so does an infinite one of all
/// tensors.
template <class T>
Value<T, AnyExtents> clip_norm(Builder& b, Value<T, AnyExtents> const& x, Scalar<double> const& squared, double limit,
                               bool of_all_tensors) {
  auto const norm = b.unary<"sqrt">(squared);
  auto const most = b.constant<double>(limit);
  auto scale = b.divide(most, norm);
  if (of_all_tensors) scale = b.add(scale, b.subtract(norm, norm));
  auto const factor = b.select(b.compare<"LE">(norm, most), b.constant<double>(1), scale);
  return b.multiply(x, b.fill(b.convert<T>(factor), x.extents));
}
}  // namespace detail

/// Gradients after the optimizer's clipping.
template <class T, class Optimizer>
Tensors<T> clipped(Builder& b, Optimizer const& optimizer, Tensors<T> gradients) {
  if (optimizer.clipvalue != 0)
    for (auto& g : gradients) {
      auto const limit = b.constant_like<T>(static_cast<T>(optimizer.clipvalue), g);
      g = b.binary<"maximum">(b.binary<"minimum">(g, limit), b.unary<"negate">(limit));
    }
  if (optimizer.clipnorm != 0)
    for (auto& g : gradients) g = detail::clip_norm(b, g, detail::squared_norm(b, g), optimizer.clipnorm, false);
  if (optimizer.global_clipnorm != 0) {
    auto sum = b.constant<double>(0);
    for (auto const& g : gradients) sum = b.add(sum, detail::squared_norm(b, g));
    for (auto& g : gradients) g = detail::clip_norm(b, g, sum, optimizer.global_clipnorm, true);
  }
  return gradients;
}

/// Result of a step: weights, and slots in their order (all parameters of the first slot, then of the second...).
template <class T>
struct Updated {
  Tensors<T> weights, slots;
};

template <class T, class Optimizer>
Updated<T> update(Builder& b, Optimizer const& optimizer, std::vector<ParameterInfo> const& infos,
                  Tensors<T> const& weights, Tensors<T> const& slots, Tensors<T> gradients,
                  std::vector<Scalar<T>> const& numbers) {
  static_assert(
      !requires { OptimizerLowering<Optimizer>::missing; },
      "trireme: this optimizer cannot be compiled for a PJRT device: its rule takes sums over a tensor, and it has no "
      "OptimizerLowering");
  gradients = clipped(b, optimizer, with_penalties(b, infos, weights, std::move(gradients)));
  Updated<T> result{{}, slots};
  std::size_t const count = weights.size();
  for (std::size_t p = 0; p < count; ++p) {
    Tensors<T> own;
    for (std::size_t slot = 0; slot < optimizer.slots(); ++slot) own.push_back(slots[slot * count + p]);
    result.weights.push_back(
        OptimizerLowering<Optimizer>::template step<T>(b, optimizer, numbers, weights[p], gradients[p], own));
    for (std::size_t slot = 0; slot < own.size(); ++slot) result.slots[slot * count + p] = own[slot];
  }
  return result;
}

}  // namespace trireme::lowering
