/// SaveFreq: the batches or epochs after which a callback saves.
#pragma once

#include <cstddef>
#include <string_view>

#include "trireme/core/config.hpp"

namespace trireme {

/// Saving interval in batches, those of all workers, counted across epochs, and by ModelCheckpoint across fits;
/// 0, SaveFreq::epoch: after each epoch.
struct SaveFreq {
  std::size_t batches = 0;  ///< 0: each epoch

  /// Interval of `every` batches; 0: each epoch.
  constexpr SaveFreq(std::size_t every = 0) : batches(every) {}
  void config(Config& c, std::string_view name) const { c(name, batches, intervals::count); }

  static SaveFreq const epoch;
};
inline constexpr SaveFreq SaveFreq::epoch{0};

}  // namespace trireme
