/// TimeSteps: the steps of a sequence in the program of a recurrent layer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/value.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::lowering {

namespace detail {

/// Operations on the steps of a sequence, whose tensors have time in front: (time, rows, numbers), and those of gates
/// (time, rows, gates, units), so that devices can divide the units of each gate.
template <class T>
class TimeSteps {
 public:
  using Any = Value<T, AnyExtents>;
  using Matrix = Value<T, Extents<dynamic, dynamic>>;
  using Sequence = Value<T, Extents<dynamic, dynamic, dynamic>>;
  using Gates = Value<T, Extents<dynamic, dynamic, dynamic>>;
  using GateSequence = Value<T, Extents<dynamic, dynamic, dynamic, dynamic>>;
  using Kernel = Value<T, Extents<dynamic, dynamic, dynamic>>;
  using Index = Scalar<std::int32_t>;

  TimeSteps(Builder& b, std::size_t time, std::size_t rows, bool backwards)
      : b_(b), time_(time), rows_(rows), backwards_(backwards) {}

  Matrix zeros(std::size_t width) const { return b_.constant<T>(T{0}, matrix(width)); }
  Sequence zero_steps(std::size_t width) const { return b_.constant<T>(T{0}, sequence(width)); }
  GateSequence zero_gate_steps(std::size_t count, std::size_t units) const {
    return b_.constant<T>(T{0}, gate_sequence(count, units));
  }
  Matrix step(Any const& sequence, Index const& t) const {
    return b_.at(sequence, t, matrix(sequence.extents.values[2]));
  }
  Gates gates_step(Any const& sequence, Index const& t) const {
    return b_.at(sequence, t, gates(sequence.extents.values[2], sequence.extents.values[3]));
  }
  template <class E>
  Any set(Any const& sequence, Index const& t, Value<T, E> const& value) const {
    return b_.set_at(sequence, t, value);
  }

  /// Position in time of the input of a step, and the step before another in the direction of backward.
  Index time_of(Index const& step) const { return backwards_ ? from_the_end(step) : step; }
  Index from_the_end(Index const& step) const {
    return b_.subtract(b_.constant<std::int32_t>(static_cast<std::int32_t>(time_ - 1)), step);
  }

  /// (rows, time, numbers) to (time, rows, numbers) and back.
  template <class E>
  Sequence by_step(Value<T, E> const& x) const {
    return b_.transpose(x, sequence(x.extents.back()), {1, 0, 2});
  }
  Sequence by_row(Any const& x) const {
    return b_.transpose(x, Extents<dynamic, dynamic, dynamic>{{rows_, time_, x.extents.values[2]}}, {1, 0, 2});
  }
  /// Gate `gate` of a step's gates.
  Matrix gate(Gates const& all, std::size_t gate) const {
    std::size_t const units = all.extents[2];
    auto const one = b_.slice(all, gates(1, units), {{0, rows_, 1}, {gate, gate + 1, 1}, {0, units, 1}});
    return b_.reshape(one, matrix(units));
  }
  /// Gates of a step, from each gate's.
  template <class... M>
  Gates side_by_side(Matrix const& first, M const&... others) const {
    std::size_t const units = first.extents[1];
    auto const one = [&](Matrix const& part) { return b_.reshape(part, gates(1, units)); };
    return b_.concatenate(gates(1 + sizeof...(M), units), 1, one(first), one(others)...);
  }
  /// Gates [begin, begin + count) of a sequence's.
  GateSequence some_gates(GateSequence const& all, std::size_t begin, std::size_t count) const {
    std::size_t const units = all.extents[3];
    return b_.slice(all, gate_sequence(count, units),
                    {{0, time_, 1}, {0, rows_, 1}, {begin, begin + count, 1}, {0, units, 1}});
  }

  // ---- products with kernels, (inputs, gates, units)

  /// The part of a kernel for gates [begin, begin + count).
  Kernel of_gates(Kernel const& kernel, std::size_t begin, std::size_t count) const {
    auto const [inputs, all, units] = kernel.extents.values;
    return b_.slice(kernel, Extents<dynamic, dynamic, dynamic>{{inputs, count, units}},
                    {{0, inputs, 1}, {begin, begin + count, 1}, {0, units, 1}});
  }
  GateSequence product(Sequence const& x, Kernel const& kernel) const {
    return b_.products(x, kernel, gate_sequence(kernel.extents[1], kernel.extents[2]), {}, {{{2}, {0}}});
  }
  Gates product(Matrix const& x, Kernel const& kernel) const {
    return b_.products(x, kernel, gates(kernel.extents[1], kernel.extents[2]), {}, {{{1}, {0}}});
  }
  /// Gradient of a product's first factor.
  Sequence product_transposed(GateSequence const& dz, Kernel const& kernel) const {
    return b_.products(dz, kernel, sequence(kernel.extents[0]), {}, {{{2, 3}, {1, 2}}});
  }
  Matrix product_transposed(Gates const& dz, Kernel const& kernel) const {
    return b_.products(dz, kernel, matrix(kernel.extents[0]), {}, {{{1, 2}, {1, 2}}});
  }
  /// Gradient of a kernel.
  Kernel product_over_rows(Sequence const& x, GateSequence const& dz) const {
    Extents<dynamic, dynamic, dynamic> const out{{x.extents[2], dz.extents[2], dz.extents[3]}};
    return b_.products(x, dz, out, {}, {{{0, 1}, {0, 1}}});
  }
  /// Gradient of a bias, (gates, units).
  Value<T, Extents<dynamic, dynamic>> sum_over_rows(GateSequence const& dz) const {
    return b_.sum_over(dz, Extents<dynamic, dynamic>{{dz.extents[2], dz.extents[3]}}, {0, 1});
  }

  Extents<dynamic, dynamic> matrix(std::size_t width) const { return {{rows_, width}}; }
  Extents<dynamic, dynamic, dynamic> sequence(std::size_t width) const { return {{time_, rows_, width}}; }
  Extents<dynamic, dynamic, dynamic> gates(std::size_t count, std::size_t units) const {
    return {{rows_, count, units}};
  }
  Extents<dynamic, dynamic, dynamic, dynamic> gate_sequence(std::size_t count, std::size_t units) const {
    return {{time_, rows_, count, units}};
  }

  template <class E>
  static Any any(Value<T, E> const& x) {
    return {{x.extents.to_vector()}, x.id};
  }
  Matrix as_matrix(Any const& x) const { return typed(x, matrix(x.extents.values[1])); }
  Sequence as_sequence(Any const& x) const { return typed(x, sequence(x.extents.values[2])); }
  GateSequence as_gate_sequence(Any const& x) const {
    return typed(x, gate_sequence(x.extents.values[2], x.extents.values[3]));
  }

 private:
  Builder& b_;
  std::size_t time_, rows_;
  bool backwards_;
};

}  // namespace detail

}  // namespace trireme::lowering
