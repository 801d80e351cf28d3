/// Numbers of samples, batches and passes, checked where a pipeline takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::data {

/// Number of passes without end: `repeat(forever)` is `repeat()`; so is `repeat(-1)`, as in tf.data.
inline constexpr std::size_t forever = std::numeric_limits<std::size_t>::max();

/// Number of batches that the library chooses: `prefetch(autotune)`; -1, as in tf.data.
inline constexpr int autotune = -1;

/// Number as it was written in a pipeline, of samples, batches or passes: of any arithmetic type, and not yet known to
/// be a count.
class Count {
 public:
  /// The largest count: products of two stay far from what std::size_t holds.
  static constexpr std::size_t largest = std::size_t{1} << 48;

  /// Number as written; `of` checks it.
  template <class V>
    requires(std::is_arithmetic_v<V> && !std::is_same_v<V, bool>)
  Count(V value) {
    if constexpr (std::is_floating_point_v<V>) {
      if (value >= 0 && value <= static_cast<V>(largest)) value_ = static_cast<std::size_t>(value);
      if (static_cast<V>(value_) != value) invalid_ = formatted("{}", value);
    } else {
      if (std::cmp_greater_equal(+value, 0) && std::cmp_less_equal(+value, largest))
        value_ = static_cast<std::size_t>(value);
      else
        invalid_ = formatted("{}", value);
    }
    if constexpr (std::is_signed_v<V>)
      unlimited_ = value == static_cast<V>(-1);
    else
      unlimited_ = std::cmp_equal(+value, forever);
  }

  /// The count that an operation takes. \throws ValueError naming operation, number and range
  std::size_t of(std::string_view operation, std::string_view things, std::size_t least = 0,
                 std::size_t most = largest) const {
    if (invalid_.empty() && value_ >= least && value_ <= most) return value_;
    throw ValueError(formatted("{}({}): the number of {} has to be whole, and from {} to {}", operation,
                               invalid_.empty() ? formatted("{}", value_) : invalid_, things, least, most));
  }

  /// True if it is -1 or `forever`, for operations that have no limit then.
  bool unlimited() const { return unlimited_; }

 private:
  std::size_t value_ = 0;
  bool unlimited_ = false;
  std::string invalid_;  // as text
};

/// `count` times `size`. \throws ValueError if no epoch has so many \param things
inline std::size_t repeated(std::size_t size, std::size_t count, std::string_view things) {
  constexpr std::size_t most = std::size_t{1} << 61;
  if (count != 0 && size > most / count)
    throw ValueError(formatted("repeat({}) of {} {} makes more than an epoch can have: repeat() goes on without end",
                               count, size, things));
  return size * count;
}

/// Product a * b, or the largest number where that is larger.
constexpr std::size_t clamped_product(std::size_t a, std::size_t b) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  return b != 0 && a > most / b ? most : a * b;
}

}  // namespace trireme::data
