/// Division: the axes along which the devices of a replica divide a model's weights.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace trireme::lowering {

/// Devices of a replica divide kernels of Dense by their units, tables of Embedding by their rows, and what layers of a
/// user's own name. Tensors whose extent is no multiple of the number of devices, and all others, lie on each.
struct Division {
  using Axis = std::optional<std::size_t>;

  std::size_t shards = 1;             ///< devices of a replica
  std::vector<Axis> trained, frozen;  ///< by parameters, and by frozen weights, of the model's table; may end early

  Axis of_parameter(std::size_t index) const { return at(trained, index); }
  Axis of_frozen(std::size_t index) const { return at(frozen, index); }

 private:
  static Axis at(std::vector<Axis> const& axes, std::size_t index) {
    return index < axes.size() ? axes[index] : std::nullopt;
  }
};

}  // namespace trireme::lowering
