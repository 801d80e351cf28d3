/// The weight of a sample from that of its class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace trireme::data {

/// Weight of a sample's class; 1 for a class past the end of `weights`.
///
/// \param target  a class index, or `size` numbers whose largest marks the class, as in Keras.
template <class L>
double weight_of_class(std::vector<double> const& weights, L const* target, std::size_t size) {
  auto const index = size == 1 ? static_cast<std::size_t>(std::llround(std::max(L{0}, target[0])))
                               : static_cast<std::size_t>(std::max_element(target, target + size) - target);
  return index < weights.size() ? weights[index] : 1.0;
}

}  // namespace trireme::data
