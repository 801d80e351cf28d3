/// Optimizer steps on gradients that are still in the cache.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <vector>

#include "trireme/layers/gradient_sink.hpp"
#include "trireme/strategies/engine/update_kernels.hpp"
#include "trireme/strategies/gradients/bucket_range.hpp"

namespace trireme {

/// Takes gradients block by block from the layers and updates their weights at once: such a gradient is neither written
/// to memory nor read back, which is a third of a step's traffic where weights exceed the caches. For steps in which a
/// weight needs no gradient but its own, without sums over processes or partitions.
///
/// `Step` is an OptimizerStep over the arena.
template <class T, class Step>
class UpdateInBackward final : public GradientSink<T> {
 public:
  /// \param gradients  the arena's first `elements` train.
  /// \param taken  receives the updated ranges; its memory is kept from step to step.
  UpdateInBackward(Step const& step, T const* gradients, std::size_t elements, std::vector<BucketRange>& taken)
      : step_{step}, gradients_(gradients), elements_(elements), taken_(taken) {
    taken_.clear();
  }

  void ready(T const*) override {}

  bool takes(T const* gradients, std::size_t count) override {
    std::less<T const*> const before;
    if (before(gradients, gradients_) || !before(gradients, gradients_ + elements_))
      return false;  // summed up elsewhere first
    std::size_t const begin = index_of(gradients);
    auto place = taken_.end();  // backward mostly goes from the arena's end to its beginning
    while (place != taken_.begin() && std::prev(place)->begin < begin) --place;
    taken_.insert(place, {begin, begin + count});
    return true;
  }

  void take(T const* gradients, T const* values, std::size_t count) override {
    step_(index_of(gradients), count, values);
  }

  /// f(begin, end) for the elements whose gradients are in the arena. Called once, after backward.
  template <class F>
  void for_each_left(F const& f) {
    std::size_t begin = 0;
    for (auto range = taken_.rbegin(); range != taken_.rend(); ++range) {
      if (begin < range->begin) f(begin, range->begin);
      begin = range->end;
    }
    if (begin < elements_) f(begin, elements_);
  }

 private:
  std::size_t index_of(T const* gradients) const { return static_cast<std::size_t>(gradients - gradients_); }

  kernels::StepOfSums<Step> step_;
  T const* gradients_;
  std::size_t elements_;
  std::vector<BucketRange>& taken_;  ///< in descending order
};

}  // namespace trireme
