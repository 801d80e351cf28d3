/// Each in a program: its layer on every part of a tuple.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "trireme/models/each.hpp"
#include "trireme/pjrt/lowering/graph.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <class L>
struct LayerLowering<Each<L>> {
  template <class T, class... E>
  static auto forward(Trace<T>& trace, Each<L> const& each, std::tuple<Value<T, E>...> const& x) {
    auto const weights = trace.weights();
    std::uint32_t const layer = trace.layer();
    std::uint32_t index = 0;
    auto const lower_part = [&](auto const& part) {
      trace.set_weights(weights);
      trace.set_layer(Each<L>::part_key(layer, index++, sizeof...(E)));
      return lower(trace, each.layer, part);
    };
    auto const parts = std::apply([&](auto const&... part) { return std::tuple{lower_part(part)...}; }, x);
    auto const y = std::apply([](auto const&... part) { return std::tuple{part.y...}; }, parts);
    return Lowered{y, [parts](Trace<T>& t, auto const& dy) {
                     return [&]<std::size_t... I>(std::index_sequence<I...>) {
                       return std::tuple{std::get<I>(parts).backward(t, std::get<I>(dy))...};
                     }(std::index_sequence_for<E...>());
                   }};
  }
};

}  // namespace trireme::lowering
