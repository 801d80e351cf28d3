/// TimeSteps: the steps of a sequence in the program of a recurrent layer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/value.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::lowering {

namespace detail {

/// Operations on the steps of a sequence, whose tensors have time in front: (time, rows, numbers).
template <class T>
class TimeSteps {
 public:
  using Any = Value<T, AnyExtents>;
  using Matrix = Value<T, Extents<dynamic, dynamic>>;
  using Sequence = Value<T, Extents<dynamic, dynamic, dynamic>>;
  using Index = Scalar<std::int32_t>;

  TimeSteps(Builder& b, std::size_t time, std::size_t rows, bool backwards)
      : b_(b), time_(time), rows_(rows), backwards_(backwards) {}

  Matrix zeros(std::size_t width) const { return b_.constant<T>(T{0}, matrix(width)); }
  Sequence zero_steps(std::size_t width) const { return b_.constant<T>(T{0}, sequence(width)); }
  Matrix step(Any const& sequence, Index const& t) const {
    return b_.at(sequence, t, matrix(sequence.extents.values[2]));
  }
  Any set(Any const& sequence, Index const& t, Matrix const& value) const { return b_.set_at(sequence, t, value); }

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
  /// Gate `gate` of gates side by side.
  Matrix gate(Matrix const& gates, std::size_t gate, std::size_t units) const {
    return b_.columns(gates, gate * units, matrix(units));
  }
  template <class... M>
  Matrix side_by_side(M const&... parts) const {
    return b_.concatenate_back(matrix((std::size_t{0} + ... + parts.extents[1])), parts...);
  }

  Extents<dynamic, dynamic> matrix(std::size_t width) const { return {{rows_, width}}; }
  Extents<dynamic, dynamic, dynamic> sequence(std::size_t width) const { return {{time_, rows_, width}}; }

  static Any any(Matrix const& x) { return {{x.extents.to_vector()}, x.id}; }
  static Any any(Sequence const& x) { return {{x.extents.to_vector()}, x.id}; }
  Matrix as_matrix(Any const& x) const { return typed(x, matrix(x.extents.values[1])); }
  Sequence as_sequence(Any const& x) const { return typed(x, sequence(x.extents.values[2])); }

 private:
  Builder& b_;
  std::size_t time_, rows_;
  bool backwards_;
};

}  // namespace detail

}  // namespace trireme::lowering
