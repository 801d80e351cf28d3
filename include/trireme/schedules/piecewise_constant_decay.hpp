/// PiecewiseConstantDecay: values[i] up to and including step boundaries[i], the last value after all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// A rate for each interval of steps: values[i] up to and including step boundaries[i], the last value after all of
/// them.
///
/// Boundaries (n) are optimizer steps, counted from 0; values (n + 1) are rates. The definition is that of Keras's
/// PiecewiseConstantDecay.
/// \throws ValueError from compile, if a value is negative or infinite.
class PiecewiseConstantDecay {
 public:
  /// From boundaries (n) and values (n + 1). \throws ValueError unless there is one value more than there are
  /// boundaries and these ascend.
  PiecewiseConstantDecay(std::vector<std::uint64_t> boundaries, std::vector<double> values)
      : boundaries_(std::move(boundaries)), values_(std::move(values)) {
    if (values_.size() != boundaries_.size() + 1) {
      throw ValueError(formatted("PiecewiseConstantDecay: {} boundaries need {} values, but {} were given",
                                 boundaries_.size(), boundaries_.size() + 1, values_.size()));
    }
    if (!std::is_sorted(boundaries_.begin(), boundaries_.end())) {
      throw ValueError("PiecewiseConstantDecay: the boundaries do not ascend");
    }
  }

  void config(Config& c) const {
    c("boundaries", boundaries_, intervals::count);
    c("values", values_, intervals::not_negative);
  }

  double operator()(std::uint64_t iteration) const {
    auto const interval = std::lower_bound(boundaries_.begin(), boundaries_.end(), iteration) - boundaries_.begin();
    return values_[static_cast<std::size_t>(interval)];
  }

 private:
  std::vector<std::uint64_t> boundaries_;
  std::vector<double> values_;
};

}  // namespace trireme
