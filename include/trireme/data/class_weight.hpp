/// The weight of a sample from that of its class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace trireme::data {

/// Weight of a sample's class, as in Keras; 1 for a class past the end of `weights`, and for what is below all classes,
/// such as -1.
///
/// \param target  a class index, a number, which is rounded to one (halves to the even one), or `size` numbers whose
/// largest marks the class.
template <class L>
double weight_of_class(std::vector<double> const& weights, L const* target, std::size_t size) {
  double const index = size == 1 ? std::rint(static_cast<double>(target[0]))
                                 : static_cast<double>(std::max_element(target, target + size) - target);
  return index >= 0 && index < static_cast<double>(weights.size()) ? weights[static_cast<std::size_t>(index)] : 1.0;
}

/// True if a target of these extents is of one class: one index, or a row of numbers whose largest marks it.
template <class L>
bool is_of_one_class(std::vector<std::size_t> const& extents) {
  bool const is_index = std::is_same_v<L, std::int32_t>;
  auto const end = extents.end() - (is_index || extents.empty() ? 0 : 1);  // a row lies along the last axis
  return std::all_of(extents.begin(), end, [](std::size_t extent) { return extent == 1; });
}

}  // namespace trireme::data
