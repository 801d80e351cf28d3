/// Select: some parts of a tuple.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Parts of a tuple, counted from 0: `Select<1>{}` is part 1 as a tensor, `Select<1, 0>{}` a tuple of these parts in
/// this order, in which one may occur several times.
///
/// Output: the extents of the selected parts; no parameters and no computation.
///
/// Compile-time errors: no index is given; the input is a single tensor, or has no part of that index.
template <std::size_t... I>
struct Select {
  static_assert(sizeof...(I) > 0, "trireme: Select needs the index of a part, from 0");
  static constexpr std::string_view class_name = "Select";
  static constexpr bool takes_parts = true;
  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(is_parts<In>, "trireme: Select takes a tuple of tensors");
    static_assert(((I < parts_count<In>) && ...), "trireme: Select names a part that its input does not have");
    if constexpr (sizeof...(I) == 1)
      return in.template part<first>();
    else
      return Parts{std::tuple{in.template part<I>()...}};
  }

  /// Of a list with an entry for each part of the input, those of the output: it computes nothing.
  template <class List>
  static constexpr List selected(List const& parts) {
    return {parts[I]...};
  }

 private:
  static constexpr std::size_t first = [] {
    std::size_t const all[]{I...};
    return all[0];
  }();
};

}  // namespace trireme
