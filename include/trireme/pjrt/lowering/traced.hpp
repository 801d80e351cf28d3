/// Traced: a number whose operations write a program, with which the generic formulas of activations, losses and
/// optimizers are called.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <type_traits>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/pjrt/lowering/builder.hpp"

namespace trireme::lowering {

template <class T, class E>
class Traced;

/// The comparison of traced numbers, one answer for each element. Formulas choose by math::where or math::select.
template <class E>
class TracedCondition {
 public:
  TracedCondition(Builder& b, Value<bool, E> const& value) : builder_(&b), value_(value) {}
  explicit TracedCondition(bool fixed) : fixed_(fixed) {}

  /// Does not compile: a program takes both ways of a branch, so that a formula cannot have one.
  template <class Answer>
    requires std::is_same_v<Answer, bool>
  explicit operator Answer() const {
    static_assert(sizeof(E) == 0,
                  "trireme: a formula that branches on a number cannot be compiled for a PJRT device; let it choose by "
                  "trireme::math::where(condition, yes, no)");
    return false;
  }

  friend TracedCondition operator&&(TracedCondition const& a, TracedCondition const& b) { return both<"and">(a, b); }
  friend TracedCondition operator||(TracedCondition const& a, TracedCondition const& b) { return both<"or">(a, b); }
  friend TracedCondition operator!(TracedCondition const& a) {
    if (a.fixed_) return TracedCondition(!*a.fixed_);
    return {*a.builder_, a.builder_->template unary<"not">(a.value_)};
  }

  /// `yes` where the condition holds, otherwise `no`: what math::where and math::select call.
  template <class T>
  friend Traced<T, E> choose(TracedCondition const& condition, Traced<T, E> const& yes, Traced<T, E> const& no) {
    if (condition.fixed_) return *condition.fixed_ ? yes : no;
    Builder& b = *condition.builder_;
    E const& extents = condition.value_.extents;
    return {b, b.select(condition.value_, yes.in(b, extents), no.in(b, extents))};
  }

  Value<bool, E> in(Builder& b, E const& extents) const { return fixed_ ? b.constant<bool>(*fixed_, extents) : value_; }

 private:
  template <FixedString Name>
  static TracedCondition both(TracedCondition const& a, TracedCondition const& b) {
    if (a.fixed_ && b.fixed_)
      return TracedCondition(Name.view() == "and" ? *a.fixed_ && *b.fixed_ : *a.fixed_ || *b.fixed_);
    TracedCondition const& known = a.fixed_ ? b : a;
    Builder& builder = *known.builder_;
    E const& extents = known.value_.extents;
    return {builder, builder.template binary<Name>(a.in(builder, extents), b.in(builder, extents))};
  }

  Builder* builder_ = nullptr;
  Value<bool, E> value_{};
  std::optional<bool> fixed_{};
};

/// A tensor of a program, or a number that is the same in each of its elements. Operations between such numbers are
/// computed at once, in T.
template <class T, class E>
class Traced {
 public:
  Traced() = default;
  template <class Number>
    requires std::is_arithmetic_v<Number>
  Traced(Number number) : number_(static_cast<T>(number)) {}
  Traced(Builder& b, Value<T, E> const& value) : builder_(&b), value_(value) {}

  /// The program of a tensor.
  Builder& builder() const { return *builder_; }
  /// As a tensor of the program.
  Value<T, E> in(Builder& b, E const& extents) const { return builder_ ? value_ : b.constant<T>(number_, extents); }

  friend Traced operator+(Traced const& a, Traced const& b) {
    return binary<"add">(a, b, [](T x, T y) { return x + y; });
  }
  friend Traced operator-(Traced const& a, Traced const& b) {
    return binary<"subtract">(a, b, [](T x, T y) { return x - y; });
  }
  friend Traced operator*(Traced const& a, Traced const& b) {
    if (a.is_one()) return b;
    if (b.is_one()) return a;
    return binary<"multiply">(a, b, [](T x, T y) { return x * y; });
  }
  friend Traced operator/(Traced const& a, Traced const& b) {
    if (b.is_one()) return a;
    return binary<"divide">(a, b, [](T x, T y) { return x / y; });
  }
  friend Traced operator-(Traced const& a) {
    return unary<"stablehlo.negate">(a, [](T x) { return -x; });
  }
  friend Traced& operator+=(Traced& a, Traced const& b) { return a = a + b; }
  friend Traced& operator-=(Traced& a, Traced const& b) { return a = a - b; }
  friend Traced& operator*=(Traced& a, Traced const& b) { return a = a * b; }
  friend Traced& operator/=(Traced& a, Traced const& b) { return a = a / b; }

  friend TracedCondition<E> operator<(Traced const& a, Traced const& b) {
    return compare<"LT">(a, b, [](T x, T y) { return x < y; });
  }
  friend TracedCondition<E> operator<=(Traced const& a, Traced const& b) {
    return compare<"LE">(a, b, [](T x, T y) { return x <= y; });
  }
  friend TracedCondition<E> operator>(Traced const& a, Traced const& b) {
    return compare<"GT">(a, b, [](T x, T y) { return x > y; });
  }
  friend TracedCondition<E> operator>=(Traced const& a, Traced const& b) {
    return compare<"GE">(a, b, [](T x, T y) { return x >= y; });
  }
  friend TracedCondition<E> operator==(Traced const& a, Traced const& b) {
    return compare<"EQ">(a, b, [](T x, T y) { return x == y; });
  }
  friend TracedCondition<E> operator!=(Traced const& a, Traced const& b) {
    return compare<"NE">(a, b, [](T x, T y) { return x != y; });
  }

  // Functions, found by their argument where a formula says `using Kokkos::log`.
  friend Traced exp(Traced const& x) {
    return unary<"stablehlo.exponential">(x, [](T y) { return Kokkos::exp(y); });
  }
  friend Traced expm1(Traced const& x) {
    return unary<"stablehlo.exponential_minus_one">(x, [](T y) { return Kokkos::expm1(y); });
  }
  friend Traced log(Traced const& x) {
    return unary<"stablehlo.log">(x, [](T y) { return Kokkos::log(y); });
  }
  friend Traced log1p(Traced const& x) {
    return unary<"stablehlo.log_plus_one">(x, [](T y) { return Kokkos::log1p(y); });
  }
  friend Traced sqrt(Traced const& x) {
    return unary<"stablehlo.sqrt">(x, [](T y) { return Kokkos::sqrt(y); });
  }
  friend Traced tanh(Traced const& x) {
    return unary<"stablehlo.tanh">(x, [](T y) { return Kokkos::tanh(y); });
  }
  friend Traced sin(Traced const& x) {
    return unary<"stablehlo.sine">(x, [](T y) { return Kokkos::sin(y); });
  }
  friend Traced cos(Traced const& x) {
    return unary<"stablehlo.cosine">(x, [](T y) { return Kokkos::cos(y); });
  }
  friend Traced fabs(Traced const& x) {
    return unary<"stablehlo.abs">(x, [](T y) { return Kokkos::fabs(y); });
  }
  friend Traced abs(Traced const& x) { return fabs(x); }
  friend Traced erf(Traced const& x) {
    return unary<"chlo.erf">(x, [](T y) { return Kokkos::erf(y); });
  }
  friend Traced erfc(Traced const& x) {
    return unary<"chlo.erfc">(x, [](T y) { return Kokkos::erfc(y); });
  }
  friend Traced pow(Traced const& a, Traced const& b) {
    return binary<"power">(a, b, [](T x, T y) { return Kokkos::pow(x, y); });
  }
  friend Traced atan(Traced const& x) {
    return binary<"atan2">(x, Traced(1), [](T y, T one) { return Kokkos::atan2(y, one); });
  }

 private:
  bool is_one() const { return !builder_ && number_ == T{1}; }

  template <FixedString Name, class OfNumber>
  static Traced unary(Traced const& x, OfNumber const& of_number) {
    if (!x.builder_) return Traced(of_number(x.number_));
    Builder& b = *x.builder_;
    if constexpr (Name.view().starts_with("chlo."))
      return {b, b.emit_call<T>(x.value_.extents, formatted("{} %v{}", Name.view(), x.value_.id), type_text(x.value_))};
    else
      return {b, b.emit<T>(x.value_.extents, formatted("{} %v{}", Name.view(), x.value_.id))};
  }
  template <FixedString Name, class OfNumbers>
  static Traced binary(Traced const& x, Traced const& y, OfNumbers const& of_numbers) {
    if (!x.builder_ && !y.builder_) return Traced(of_numbers(x.number_, y.number_));
    Traced const& tensor = x.builder_ ? x : y;
    Builder& b = *tensor.builder_;
    E const& extents = tensor.value_.extents;
    return {b, b.template binary<Name>(x.in(b, extents), y.in(b, extents))};
  }
  template <FixedString Direction, class OfNumbers>
  static TracedCondition<E> compare(Traced const& x, Traced const& y, OfNumbers const& of_numbers) {
    if (!x.builder_ && !y.builder_) return TracedCondition<E>(of_numbers(x.number_, y.number_));
    Traced const& tensor = x.builder_ ? x : y;
    Builder& b = *tensor.builder_;
    E const& extents = tensor.value_.extents;
    return {b, b.template compare<Direction>(x.in(b, extents), y.in(b, extents))};
  }

  Builder* builder_ = nullptr;
  Value<T, E> value_{};
  T number_{};
};

}  // namespace trireme::lowering

template <class T, class E>
struct std::numeric_limits<trireme::lowering::Traced<T, E>> : std::numeric_limits<T> {};
