/// Numbers for products: as good as random, the same everywhere.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::test {

/// `count` numbers in [-1, 1].
template <class T>
std::vector<T> numbers(std::size_t count, std::size_t seed) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>((i * 2654435761u + seed * 40503u) % 2039) / T{1019} - T{1};
  return values;
}

}  // namespace trireme::test
