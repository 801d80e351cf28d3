/// Add and Concatenate of the parts of a tuple, and of branches, in a program.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/models/joins.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <trireme::detail::JoinsParts L>
struct LayerLowering<L> {
  template <class T, class... E>
  static auto forward(Trace<T>& trace, L const&, std::tuple<Value<T, E>...> const& parts) {
    if constexpr (trireme::detail::joins_by_sum<L>)
      return sum(trace.builder(), parts);
    else
      return concatenation(trace.builder(), parts);
  }

 private:
  template <class T, class... E>
  static auto sum(Builder& b, std::tuple<Value<T, E>...> const& parts) {
    std::size_t const rows = std::get<0>(parts).extents[0];
    auto const y = std::apply(
        [&](auto const& first, auto const&... rest) {
          auto const joined =
              with_rows(rows, L::join::output(without_front(first.extents), without_front(rest.extents)...));
          using Joined = Value<T, std::decay_t<decltype(joined)>>;
          Joined all{joined, first.id};
          ((all = b.add(all, Joined{joined, rest.id})), ...);
          return all;
        },
        parts);
    return Lowered{y, [parts](auto&, auto const& dy) {
                     return std::apply([&](auto const&... part) { return std::tuple{as(part, dy)...}; }, parts);
                   }};
  }
  template <class V, class Dy>
  static V as(V const& part, Dy const& dy) {
    return {part.extents, dy.id};
  }

  template <class T, class... E>
  static auto concatenation(Builder& b, std::tuple<Value<T, E>...> const& parts) {
    std::size_t const rows = std::get<0>(parts).extents[0];
    auto const y = std::apply(
        [&](auto const&... part) {
          return b.concatenate_back(with_rows(rows, L::join::output(without_front(part.extents)...)), part...);
        },
        parts);
    return Lowered{y, [parts](Trace<T>& t, auto const& dy) {
                     std::size_t column = 0;
                     auto const next = [&](auto const& part) {
                       std::size_t const begin = std::exchange(column, column + part.extents.back());
                       return t.builder().columns(dy, begin, part.extents);
                     };
                     return std::apply([&](auto const&... part) { return std::tuple{next(part)...}; }, parts);
                   }};
  }
};

}  // namespace trireme::lowering
