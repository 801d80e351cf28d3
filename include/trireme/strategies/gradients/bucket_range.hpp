/// A range of the gradient arena.
#pragma once

#include <cstddef>

namespace trireme {

/// [begin, end) of the arena, in elements.
struct BucketRange {
  std::size_t begin, end;
};

}  // namespace trireme
