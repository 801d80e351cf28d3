/// Optimizer: what a rule for training weights has, for one element at a time or with sums over its tensor.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace trireme {

/// The rule of a step: the type that `Optimizer::step<T>(iteration, rate)` returns, iterations counted from 1.
template <class Optimizer, class T>
using RuleOf = std::remove_cvref_t<decltype(std::declval<Optimizer const&>().template step<T>(std::uint64_t{1}, 0.0))>;

/// A rule for element i alone, of weights of any shape: its weight and its slots change by its gradient.
template <class Rule, class T>
concept ElementRule = requires(Rule const& rule, T* weights, T gradient, T* const* slots) {
  rule(std::size_t{}, weights, gradient, slots);
};

/// A rule with a member `tensor_sums`, the number of sums over each tensor that it needs; see TensorRule.
template <class Rule>
concept DeclaresTensorSums = requires { Rule::tensor_sums; };

/// A rule for an element that depends on sums over its tensor, such as norms, before the step: `tensor_sums` of them,
/// to which `add` adds the summands of element i, without changing anything; `of_tensor(sums)` is the ElementRule of a
/// tensor. A tensor is a parameter of a layer. Sums are in double, over all processes that hold parts of the tensor.
template <class Rule, class T>
concept TensorRule = DeclaresTensorSums<Rule> && (Rule::tensor_sums > 0) &&
                     requires(Rule const& rule, T const* weights, T gradient, T const* const* slots, double* sums) {
                       rule.add(std::size_t{}, weights, gradient, slots, sums);
                       { rule.of_tensor(static_cast<double const*>(sums)) } -> ElementRule<T>;
                     };

namespace detail {
template <class Rule, class T>
inline constexpr bool is_rule = ElementRule<Rule, T>;
template <DeclaresTensorSums Rule, class T>
inline constexpr bool is_rule<Rule, T> = TensorRule<Rule, T>;
}  // namespace detail

/// An optimizer of weights of type T: `learning_rate`, `slots()`, `initial(slot)` and `step<T>(iteration, rate)`.
///
/// Each of the `slots()` arrays of its state has the shape of the weights and begins with `initial(slot)`; at most 4.
/// `step` returns the rule of one step, an ElementRule or a TensorRule, for the gradient of the mean loss over the
/// global batch. Other members that the library reads: `weight_decay`; `clipvalue` limits each gradient to [-clipvalue,
/// clipvalue], `clipnorm` the norm of each tensor's gradient, `global_clipnorm` the norm of all gradients. A type
/// without the former four does not compile: "an optimizer needs a learning_rate and slots(), as Adam has them".
/// \throws ValueError from compile, if an optimizer's number is outside of its range, several of the three limits are
/// not 0, or there are more than 4 slots.
template <class O, class T>
concept Optimizer = requires(O const& optimizer) {
  optimizer.learning_rate(std::uint64_t{});
  { optimizer.slots() } -> std::convertible_to<std::size_t>;
  { optimizer.initial(std::size_t{}) } -> std::convertible_to<double>;
} && detail::is_rule<RuleOf<O, T>, T>;

}  // namespace trireme
