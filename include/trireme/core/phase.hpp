/// Phase of a batch: training or test.
#pragma once

#include <cstddef>

namespace trireme {

/// Phase of a batch: training or test.
enum class Phase : std::size_t { train = 0, test = 1 };

}  // namespace trireme
