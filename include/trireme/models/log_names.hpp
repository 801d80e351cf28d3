/// The names under which a model's loss and metrics are logged.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "trireme/core/fixed_string.hpp"
#include "trireme/metrics/weighted.hpp"

namespace trireme::detail {

template <FixedString Name>
inline constexpr auto weighted_name = [] {
  constexpr std::string_view prefix = "weighted_", name = Name.view();
  char text[prefix.size() + name.size() + 1]{};
  std::copy(name.begin(), name.end(), std::copy(prefix.begin(), prefix.end(), text));
  return FixedString(text);
}();

/// As in Keras, a weighted metric gets the name "weighted_accuracy" where an unweighted one has its name too.
template <class M, class... All>
constexpr std::string_view log_name() {
  if constexpr (is_weighted<M>)
    if constexpr (((!is_weighted<All> && All::name.view() == M::name.view()) || ...))
      return weighted_name<M::name>.view();
  return M::name.view();
}

template <class... Metrics>
inline constexpr std::array<std::string_view, 1 + sizeof...(Metrics)> metric_log_names{
    "loss", log_name<Metrics, Metrics...>()...};

/// True if the names differ, also from those that a validation logs.
template <std::size_t N>
constexpr bool are_different(std::array<std::string_view, N> const& names) {
  for (std::string_view const name : names) {
    std::string_view const validated = name.starts_with("val_") ? name.substr(4) : name;
    auto const equal = std::count(names.begin(), names.end(), name);
    if (equal > 1 || (validated != name && std::count(names.begin(), names.end(), validated) > 0)) return false;
  }
  return true;
}

}  // namespace trireme::detail
