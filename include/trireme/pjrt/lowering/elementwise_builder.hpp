/// ElementwiseBuilder: the elementwise operations of StableHLO, with which formulas are written.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "trireme/core/fixed_string.hpp"
#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/element.hpp"
#include "trireme/pjrt/lowering/program_text.hpp"
#include "trireme/pjrt/lowering/value.hpp"

namespace trireme::lowering {

/// Base of Builder.
class ElementwiseBuilder : public ProgramText {
 public:
  using ProgramText::ProgramText;

  // ---- constants and counters

  template <class T, class E = NoExtents>
  Value<T, E> constant(T value, E const& extents = {}) {
    return emit<T>(extents, formatted("stablehlo.constant dense<{}>", literal(value)));
  }
  template <class T, class E, class F>
  Value<T, F> constant_like(T value, Value<E, F> const& like) {
    return constant<T>(value, like.extents);
  }

  /// The index along an axis.
  template <class T, class E>
  Value<T, E> iota(std::size_t axis, E const& extents) {
    return emit<T>(extents, formatted("stablehlo.iota dim = {}", axis));
  }

  // ---- elementwise

  /// `unary<"tanh">(x)`: the operation of this name in StableHLO.
  template <FixedString Name, class T, class E>
  Value<T, E> unary(Value<T, E> const& x) {
    return emit<T>(x.extents, formatted("stablehlo.{} %v{}", Name.view(), x.id));
  }

  template <FixedString Name, class T, class E, class F>
  Value<T, E> binary(Value<T, E> const& a, Value<T, F> const& b) {
    require_same(a.extents, b.extents);
    return emit<T>(a.extents, formatted("stablehlo.{} %v{}, %v{}", Name.view(), a.id, b.id));
  }
  template <class T, class E, class F>
  Value<T, E> add(Value<T, E> const& a, Value<T, F> const& b) {
    return binary<"add">(a, b);
  }
  template <class T, class E, class F>
  Value<T, E> subtract(Value<T, E> const& a, Value<T, F> const& b) {
    return binary<"subtract">(a, b);
  }
  template <class T, class E, class F>
  Value<T, E> multiply(Value<T, E> const& a, Value<T, F> const& b) {
    return binary<"multiply">(a, b);
  }
  template <class T, class E, class F>
  Value<T, E> divide(Value<T, E> const& a, Value<T, F> const& b) {
    return binary<"divide">(a, b);
  }
  /// x * number, elementwise.
  template <class T, class E>
  Value<T, E> scale(Value<T, E> const& x, T number) {
    return multiply(x, constant_like<T>(number, x));
  }

  /// `compare<"LT">(a, b)`: EQ, NE, GE, GT, LE or LT.
  template <FixedString Direction, class T, class E, class F>
  Value<bool, E> compare(Value<T, E> const& a, Value<T, F> const& b) {
    require_same(a.extents, b.extents);
    constexpr std::string_view kind = std::is_floating_point_v<T> ? "FLOAT"
                                      : std::is_signed_v<T>       ? "SIGNED"
                                                                  : "UNSIGNED";
    return emit_call<bool>(a.extents,
                           formatted("stablehlo.compare {}, %v{}, %v{}, {}", Direction.view(), a.id, b.id, kind),
                           formatted("({}, {})", type_text(a), type_text(b)));
  }

  template <class T, class E, class F, class G>
  Value<T, E> select(Value<bool, F> const& which, Value<T, E> const& yes, Value<T, G> const& no) {
    require_same(which.extents, yes.extents);
    require_same(yes.extents, no.extents);
    Value<T, E> const value{yes.extents, next_id()};
    line(formatted("%v{} = stablehlo.select %v{}, %v{}, %v{} : {}, {}", value.id, which.id, yes.id, no.id,
                   type_text(which), type_text(yes)));
    defined(value);
    return value;
  }

  template <class U, class T, class E>
  Value<U, E> convert(Value<T, E> const& x) {
    return emit_call<U>(x.extents, formatted("stablehlo.convert %v{}", x.id), formatted("({})", type_text(x)));
  }

  /// x rounded to the nearest numbers of a shorter type, of two as near to the even one.
  template <class T, class E>
  Value<T, E> round(Value<T, E> const& x, NumberFormat format) {
    return emit<T>(x.extents, formatted("stablehlo.reduce_precision %v{}, format = e{}m{}", x.id, format.exponent,
                                        format.fraction));
  }
};

}  // namespace trireme::lowering
