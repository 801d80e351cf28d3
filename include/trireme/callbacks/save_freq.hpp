/// When a callback saves.
#pragma once

#include <cstddef>
#include <string_view>

#include "trireme/core/config.hpp"

namespace trireme {

/// At each epoch's end, or after so many batches, those of all workers, counted across epochs and fits.
struct SaveFreq {
  std::size_t batches = 0;  ///< 0: each epoch

  constexpr SaveFreq(std::size_t every = 0) : batches(every) {}
  void config(Config& c, std::string_view name) const { c(name, batches, intervals::count); }

  static SaveFreq const epoch;
};
inline constexpr SaveFreq SaveFreq::epoch{0};

}  // namespace trireme
