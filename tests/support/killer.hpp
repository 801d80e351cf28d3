/// Runs that are killed: a callback that ends a `fit` as the end of its process would.
#pragma once

#include <cstddef>
#include <optional>

namespace trireme::test {

struct Killed {};

inline constexpr std::size_t never = ~std::size_t{0};

/// Ends a `fit` after so many of its batches and one more, on all ranks.
struct Killer {
  std::size_t steps = never;
  void on_train_batch_end(auto&) {
    if (steps-- == 0) throw Killed();
  }
};

/// The result of `train()`; nothing if it was killed.
template <class F>
auto unless_killed(F const& train) -> std::optional<decltype(train())> {
  try {
    return train();
  } catch (Killed const&) {
    return std::nullopt;
  }
}

}  // namespace trireme::test
