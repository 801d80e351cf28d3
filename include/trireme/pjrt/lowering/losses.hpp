/// Losses in a program: those of every output by itself by their own formulas, and those of a position as a whole.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "trireme/backend/simd/math.hpp"
#include "trireme/losses/categorical_crossentropy.hpp"
#include "trireme/losses/categorical_focal_crossentropy.hpp"
#include "trireme/losses/categorical_hinge.hpp"
#include "trireme/losses/cosine_similarity.hpp"
#include "trireme/losses/probability.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/losses/targets.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/traced.hpp"

namespace trireme::lowering {

/// The loss at each of N positions; its gradient, scaled by the position's number; and the mask of the positions that
/// count in the mean, if not all do.
template <class T, std::size_t C>
struct PositionLosses {
  Value<T, Extents<dynamic>> values;
  Value<T, Extents<dynamic, C>> gradient;
  std::optional<Value<bool, Extents<dynamic>>> counts;
};

/// Sets the mask of positions that count; value and gradient of the others become 0.
template <class T, std::size_t C>
void leave_out_others(Builder& b, PositionLosses<T, C>& losses, Value<bool, Extents<dynamic>> const& counts) {
  losses.values = b.select(counts, losses.values, b.constant_like<T>(T{0}, losses.values));
  losses.gradient = b.select(b.repeat_back(counts, losses.gradient.extents), losses.gradient,
                             b.constant_like<T>(T{0}, losses.gradient));
  losses.counts = counts;
}

/// Lowering of a loss; each has a specialization with positions(builder, loss, prediction (N, C), target, scale (N)).
template <class Loss>
struct LossLowering {
  static constexpr bool missing = true;
};

/// One-hot rows of labels: (N, C). A label out of range gives a row of zeros.
template <std::size_t C>
Value<bool, Extents<dynamic, C>> one_hot(Builder& b, Value<std::int32_t, Extents<dynamic>> const& labels,
                                         Extents<dynamic, C> const& extents) {
  return b.compare<"EQ">(b.iota<std::int32_t>(1, extents), b.repeat_back(labels, extents));
}

template <>
struct LossLowering<SparseCategoricalCrossentropy> {
  template <class T, std::size_t C>
  static PositionLosses<T, C> positions(Builder& b, SparseCategoricalCrossentropy const& loss,
                                        Value<T, Extents<dynamic, C>> const& prediction,
                                        Value<std::int32_t, Extents<dynamic>> const& labels,
                                        Value<T, Extents<dynamic>> const& scale) {
    auto const right = one_hot(b, labels, prediction.extents);
    auto result =
        loss.from_logits ? of_logits(b, prediction, right, scale) : of_probabilities(b, prediction, right, scale);
    // A label out of range gives NaN, as in the kernels.
    auto const zero = b.constant_like<std::int32_t>(0, labels);
    auto const end = b.constant_like<std::int32_t>(static_cast<std::int32_t>(prediction.extents[1]), labels);
    auto const inside = b.binary<"and">(b.compare<"GE">(labels, zero), b.compare<"LT">(labels, end));
    T const nan = std::numeric_limits<T>::quiet_NaN();
    result.values = b.select(inside, result.values, b.constant_like<T>(nan, result.values));
    result.gradient = b.select(b.repeat_back(inside, result.gradient.extents), result.gradient,
                               b.constant_like<T>(nan, result.gradient));
    if (loss.masks()) {
      auto const counts = b.compare<"NE">(labels, b.constant_like<std::int32_t>(loss.ignore_class, labels));
      leave_out_others(b, result, counts);
    }
    return result;
  }

 private:
  template <class T, std::size_t C, class Hot>
  static PositionLosses<T, C> of_logits(Builder& b, Value<T, Extents<dynamic, C>> const& x, Hot const& right,
                                        Value<T, Extents<dynamic>> const& scale) {
    auto const zero = b.constant_like<T>(T{0}, x);
    auto const centred = b.subtract(x, b.repeat_back(b.max_back(x), x.extents));
    auto const e = b.unary<"exponential">(centred);
    auto const sum = b.sum_back(e);
    auto const chosen = b.sum_back(b.select(right, centred, zero));
    auto const share = b.multiply(e, b.repeat_back(b.divide(scale, sum), x.extents));
    auto const at_right = b.select(right, b.repeat_back(scale, x.extents), zero);
    return {b.subtract(b.unary<"log">(sum), chosen), b.subtract(share, at_right), {}};
  }

  template <class T, std::size_t C, class Hot>
  static PositionLosses<T, C> of_probabilities(Builder& b, Value<T, Extents<dynamic, C>> const& p, Hot const& right,
                                               Value<T, Extents<dynamic>> const& scale) {
    auto const zero = b.constant_like<T>(T{0}, p);
    auto const low = b.constant_like<T>(static_cast<T>(probability_epsilon), p);
    auto const high = b.constant_like<T>(static_cast<T>(1 - probability_epsilon), p);
    auto const clipped = b.binary<"minimum">(b.binary<"maximum">(p, low), high);
    auto const is_free = b.binary<"and">(b.compare<"GE">(p, low), b.compare<"LE">(p, high));
    auto const sum = b.sum_back(clipped);
    auto const chosen = b.sum_back(b.select(right, clipped, zero));
    auto const slope = b.repeat_back(b.divide(scale, sum), p.extents);
    auto const at_right = b.select(right, b.repeat_back(b.divide(scale, chosen), p.extents), zero);
    auto const gradient = b.select(is_free, b.subtract(slope, at_right), zero);
    return {b.subtract(b.unary<"log">(sum), b.unary<"log">(chosen)), gradient, {}};
  }
};

/// Outputs of N positions as numbers that write a program, and what belongs to a position.
template <class T, std::size_t C>
class TracedRows {
 public:
  using Number = Traced<T, Extents<dynamic, C>>;
  using Row = Traced<T, Extents<dynamic>>;

  TracedRows(Builder& b, Extents<dynamic, C> const& extents) : b_(b), extents_(extents) {}

  Number of(Value<T, Extents<dynamic, C>> const& x) const { return {b_, x}; }
  Row of_position(Value<T, Extents<dynamic>> const& x) const { return {b_, x}; }
  /// A position's number for all of its outputs.
  Number spread(Row const& x) const { return {b_, b_.repeat_back(tensor(x), extents_)}; }
  Row sum(Number const& x) const { return {b_, b_.sum_back(tensor(x))}; }
  Row largest(Number const& x) const { return {b_, b_.max_back(tensor(x))}; }
  T size() const { return static_cast<T>(extents_[1]); }
  /// The numbers of all positions at each output.
  std::vector<Row> columns(Number const& x) const {
    std::vector<Row> all;
    for (std::size_t i = 0; i < extents_[1]; ++i) {
      auto const column = b_.columns(tensor(x), i, Extents<dynamic, dynamic>{{extents_[0], 1}});
      all.push_back(of_position(b_.reshape(column, Extents<dynamic>{{extents_[0]}})));
    }
    return all;
  }

  Value<T, Extents<dynamic, C>> tensor(Number const& x) const { return x.in(b_, extents_); }
  Value<T, Extents<dynamic>> tensor(Row const& x) const { return x.in(b_, Extents<dynamic>{{extents_[0]}}); }
  PositionLosses<T, C> losses(Row const& values, Number const& gradient) const {
    return {tensor(values), tensor(gradient), {}};
  }

 private:
  Builder& b_;
  Extents<dynamic, C> extents_;
};

/// The labels of a hinge loss, each position by itself.
template <class T, std::size_t C>
TracedCondition<Extents<dynamic, C>> are_zero_one_labels(Traced<T, Extents<dynamic, C>> const* truth, std::size_t) {
  Builder& b = truth->builder();
  using Number = Traced<T, Extents<dynamic, C>>;
  Number const fits = math::where(*truth == Number(0) || *truth == Number(1), Number(1), Number(0));
  auto const tensor = truth->in(b, {});
  auto const all = b.min_back(fits.in(b, tensor.extents));
  return Number(b, b.repeat_back(all, tensor.extents)) == Number(1);
}

/// True if `counts` of a loss gives a condition for the traced numbers of a position's target.
template <class Loss, class Row>
concept CountsTraced = requires(Loss const& loss, Row const* truth) {
  { loss.counts(truth) } -> std::same_as<TracedCondition<Extents<dynamic>>>;
};

/// A loss whose formula takes every output by itself: the formula of one output, for all of them.
template <class Loss>
  requires requires { Loss::outputs; }
struct LossLowering<Loss> {
  template <class T, std::size_t C>
  static PositionLosses<T, C> positions(Builder& b, Loss const& loss, Value<T, Extents<dynamic, C>> const& prediction,
                                        Value<T, Extents<dynamic, C>> const& truth,
                                        Value<T, Extents<dynamic>> const& scale) {
    TracedRows<T, C> const rows(b, prediction.extents);
    using Row = typename TracedRows<T, C>::Row;
    Row const parts = Loss::outputs == LossOutputs::mean ? Row(rows.size()) : Row(1);
    auto const p = rows.of(prediction), z = rows.of(truth);
    typename TracedRows<T, C>::Number gradient;
    auto const value = loss(&p, &z, 1, rows.spread(rows.of_position(scale) / parts), &gradient);
    auto result = rows.losses(rows.sum(value) / parts, gradient);
    if constexpr (requires(T const* target) { loss.counts(target); }) {
      static_assert(CountsTraced<Loss, Row>,
                    "trireme: 'counts' of this loss cannot be compiled for a PJRT device, since it is no template over "
                    "the type of the target's numbers, or its result is no 'auto' that depends on them");
      if constexpr (CountsTraced<Loss, Row>) {
        auto const target = rows.columns(z);
        leave_out_others(b, result, loss.counts(target.data()).in(b, result.values.extents));
      }
    }
    return result;
  }
};

template <>
struct LossLowering<CategoricalCrossentropy> {
  template <class T, std::size_t C>
  static PositionLosses<T, C> positions(Builder& b, CategoricalCrossentropy const& loss,
                                        Value<T, Extents<dynamic, C>> const& prediction,
                                        Value<T, Extents<dynamic, C>> const& truth,
                                        Value<T, Extents<dynamic>> const& scale) {
    TracedRows<T, C> const rows(b, prediction.extents);
    using Number = typename TracedRows<T, C>::Number;
    auto const x = rows.of(prediction);
    auto const z =
        rows.of(truth) * Number(1 - loss.label_smoothing) + Number(static_cast<T>(loss.label_smoothing) / rows.size());
    auto const s = rows.of_position(scale);
    if (loss.from_logits) {
      auto const shifted = x - rows.spread(rows.largest(x)), e = exp(shifted);
      auto const sum = rows.sum(e), mass = rows.sum(z);
      return rows.losses(mass * log(sum) - rows.sum(z * shifted), rows.spread(s) * (rows.spread(mass / sum) * e - z));
    }
    // The prediction is divided by its sum, and clipped then.
    auto const factor = Number(1) / rows.spread(rows.sum(x)), q = x * factor;
    auto const is_free = is_free_probability(q);
    auto const free_mass = rows.spread(rows.sum(math::where(is_free, z, Number(0))));
    auto const own = math::where(is_free, z / q, Number(0));
    return rows.losses(-rows.sum(z * log(clip_probability(q))), rows.spread(s) * factor * (free_mass - own));
  }
};

template <>
struct LossLowering<CategoricalFocalCrossentropy> {
  template <class T, std::size_t C>
  static PositionLosses<T, C> positions(Builder& b, CategoricalFocalCrossentropy const& loss,
                                        Value<T, Extents<dynamic, C>> const& prediction,
                                        Value<T, Extents<dynamic, C>> const& truth,
                                        Value<T, Extents<dynamic>> const& scale) {
    TracedRows<T, C> const rows(b, prediction.extents);
    using Number = typename TracedRows<T, C>::Number;
    auto const x = rows.of(prediction);
    auto const z =
        rows.of(truth) * Number(1 - loss.label_smoothing) + Number(static_cast<T>(loss.label_smoothing) / rows.size());
    auto const factor = Number(1) / rows.spread(rows.sum(x));
    auto const e = exp(x - rows.spread(rows.largest(x)));
    auto const q = loss.from_logits ? e / rows.spread(rows.sum(e)) : x * factor;
    Number derivative;
    auto const value = loss.of_class(q, z, derivative);
    auto const mean_slope = rows.spread(rows.sum(q * derivative));
    auto const slope = rows.spread(rows.of_position(scale)) * (loss.from_logits ? q : factor);
    return rows.losses(rows.sum(value), slope * (derivative - mean_slope));
  }
};

template <>
struct LossLowering<CategoricalHinge> {
  template <class T, std::size_t C>
  static PositionLosses<T, C> positions(Builder& b, CategoricalHinge const&,
                                        Value<T, Extents<dynamic, C>> const& prediction,
                                        Value<T, Extents<dynamic, C>> const& truth,
                                        Value<T, Extents<dynamic>> const& scale) {
    TracedRows<T, C> const rows(b, prediction.extents);
    using Number = typename TracedRows<T, C>::Number;
    using Row = typename TracedRows<T, C>::Row;
    auto const p = rows.of(prediction), z = rows.of(truth);
    auto const others = (Number(1) - z) * p;
    auto const wrong = rows.largest(others);
    auto const margin = wrong - rows.sum(z * p) + Row(1);
    auto const is_largest = others == rows.spread(wrong);
    auto const ties = rows.sum(math::where(is_largest, Number(1), Number(0)));
    auto const slope = math::where(margin < Row(0), Row(0), rows.of_position(scale));
    auto const part = rows.spread(slope / ties) * (Number(1) - z);
    return rows.losses(math::where(margin < Row(0), Row(0), margin),
                       math::where(is_largest, part, Number(0)) - rows.spread(slope) * z);
  }
};

template <>
struct LossLowering<CosineSimilarity> {
  template <class T, std::size_t C>
  static PositionLosses<T, C> positions(Builder& b, CosineSimilarity const&,
                                        Value<T, Extents<dynamic, C>> const& prediction,
                                        Value<T, Extents<dynamic, C>> const& truth,
                                        Value<T, Extents<dynamic>> const& scale) {
    TracedRows<T, C> const rows(b, prediction.extents);
    using Row = typename TracedRows<T, C>::Row;
    auto const p = rows.of(prediction), z = rows.of(truth);
    auto const squares_p = rows.sum(p * p), squares_z = rows.sum(z * z);
    Row const smallest(CosineSimilarity::smallest_square);
    auto const inverse = [&](Row const& squares) {
      return Row(1) / sqrt(math::where(squares < smallest, smallest, squares));
    };
    auto const inverse_p = inverse(squares_p), inverse_z = inverse(squares_z);
    auto const cosine = rows.sum(p * z) * inverse_p * inverse_z;
    auto const along = math::where(squares_p < smallest, Row(0), cosine * inverse_p);
    auto const slope = rows.spread(rows.of_position(scale) * inverse_p);
    return rows.losses(-cosine, slope * (rows.spread(along) * p - rows.spread(inverse_z) * z));
  }
};

}  // namespace trireme::lowering
