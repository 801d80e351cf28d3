/// Add and Concatenate of the parts of a tuple, and of branches, in a program.
#pragma once

#include <cstddef>
#include <tuple>
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
  template <class Parts>
  static auto sum(Builder& b, Parts const& parts) {
    auto const y = std::apply(
        [&](auto const& first, auto const&... rest) {
          auto all = first;
          ((all = b.add(all, rest)), ...);
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
