/// Members of an aggregate, for the numbers of an optimizer's rule.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

namespace trireme::lowering {

namespace detail {

/// Convertible to a member of any type.
struct AnyMember {
  template <class M>
  operator M() const;
};

template <class Aggregate, std::size_t... I>
constexpr bool takes_members(std::index_sequence<I...>) {
  return requires { Aggregate{(static_cast<void>(I), AnyMember{})...}; };
}
template <class Aggregate, std::size_t Count = 0>
consteval std::size_t count_members() {
  if constexpr (takes_members<Aggregate>(std::make_index_sequence<Count + 1>()))
    return count_members<Aggregate, Count + 1>();
  else
    return Count;
}

}  // namespace detail

/// References to the `Count` members of an aggregate.
template <std::size_t Count, class Aggregate>
constexpr auto members(Aggregate& aggregate) {
  static_assert(Count <= 12, "trireme: a PJRT device takes optimizers whose rules have at most 12 members");
  if constexpr (Count == 1) {
    auto& [a] = aggregate;
    return std::tie(a);
  } else if constexpr (Count == 2) {
    auto& [a, b] = aggregate;
    return std::tie(a, b);
  } else if constexpr (Count == 3) {
    auto& [a, b, c] = aggregate;
    return std::tie(a, b, c);
  } else if constexpr (Count == 4) {
    auto& [a, b, c, d] = aggregate;
    return std::tie(a, b, c, d);
  } else if constexpr (Count == 5) {
    auto& [a, b, c, d, e] = aggregate;
    return std::tie(a, b, c, d, e);
  } else if constexpr (Count == 6) {
    auto& [a, b, c, d, e, f] = aggregate;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (Count == 7) {
    auto& [a, b, c, d, e, f, g] = aggregate;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (Count == 8) {
    auto& [a, b, c, d, e, f, g, h] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (Count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (Count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (Count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (Count == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else {
    return std::tie();
  }
}

/// The number of members of an aggregate that inherits nothing.
template <class Aggregate>
inline constexpr std::size_t member_count = detail::count_members<Aggregate>();

}  // namespace trireme::lowering
