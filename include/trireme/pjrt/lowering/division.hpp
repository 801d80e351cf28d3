/// Division: the axes along which the devices of a replica divide a model's weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace trireme::lowering {

/// A weight as its layer takes it: extents, and the axes along which devices may divide it, the best one first.
struct DivisibleWeight {
  std::vector<std::size_t> extents, axes;
};

/// A divided weight: its extents in programs, which may split axes of the weight's own, and the axis that is divided.
struct DividedWeight {
  std::vector<std::size_t> extents;
  std::size_t axis;
};

/// Division of weights over the devices of a replica. A weight without an axis whose extent is a multiple of the number
/// of devices lies on each.
struct Division {
  using Weight = std::optional<DividedWeight>;

  std::size_t shards = 1;               ///< devices of a replica
  std::vector<Weight> trained, frozen;  ///< by parameters, and by frozen weights, of the model's table; may end early

  Weight of_parameter(std::size_t index) const { return at(trained, index); }
  Weight of_frozen(std::size_t index) const { return at(frozen, index); }

  /// `weight` divided along the first of its axes that so many devices divide evenly, if there is one.
  static Weight divided(DivisibleWeight const& weight, std::size_t shards) {
    auto const axis =
        std::ranges::find_if(weight.axes, [&](std::size_t a) { return weight.extents.at(a) % shards == 0; });
    if (axis == weight.axes.end()) return std::nullopt;
    return DividedWeight{weight.extents, *axis};
  }

 private:
  static Weight at(std::vector<Weight> const& weights, std::size_t index) {
    return index < weights.size() ? weights[index] : std::nullopt;
  }
};

}  // namespace trireme::lowering
