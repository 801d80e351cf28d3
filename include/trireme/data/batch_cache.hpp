/// Cache of the samples of a dataset's first batches.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "trireme/data/cache.hpp"
#include "trireme/data/sample_source.hpp"
#include "trireme/data/selection.hpp"

namespace trireme::data {

/// Cache of the first batches of a pass over a source that is read in order. It reads no sample past them, so that the
/// source may have no end.
///
/// The samples of a batch may depend on the number of replicas; for each number of samples the cache reads the source
/// once. Shared by all copies of a dataset, on any thread.
template <class X, class Y>
class BatchCache {
 public:
  /// Cache of so many batches of the source; reads nothing yet.
  BatchCache(SourcePointer<X, Y> source, std::size_t batches) : source_(std::move(source)), batches_(batches) {}

  /// Batches of a pass that are kept, at most.
  std::size_t batches() const { return batches_; }

  /// Cached source of the first `samples`, the same at each call.
  SourcePointer<X, Y> first(std::size_t samples);

 private:
  SourcePointer<X, Y> source_;
  std::size_t batches_;
  std::mutex mutex_;
  std::map<std::size_t, SourcePointer<X, Y>> by_samples_;
};

template <class X, class Y>
SourcePointer<X, Y> BatchCache<X, Y>::first(std::size_t samples) {
  std::lock_guard lock(mutex_);
  SourcePointer<X, Y>& cached = by_samples_[samples];
  if (!cached)
    cached = std::make_shared<CachedSource<X, Y>>(std::make_shared<SelectedSource<X, Y>>(source_, 0, samples));
  return cached;
}

}  // namespace trireme::data
