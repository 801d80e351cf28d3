/// Cache of the samples of some of a dataset's batches.
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

/// Cache of the batches of a pass over a source that is read in order, without those at its beginning or past a limit
/// that no epoch draws. It reads no sample past the limit, so that the source may have no end.
///
/// The samples of a batch may depend on the number of replicas; for each number of samples the cache reads the source
/// once. Shared by all copies of a dataset, on any thread.
template <class X, class Y>
class BatchCache {
 public:
  /// Cache of the first `batches` of the source, or of all (`forever`), without the first `skipped`; reads nothing yet.
  BatchCache(SourcePointer<X, Y> source, std::size_t batches, std::size_t skipped)
      : source_(std::move(source)), batches_(batches), skipped_(skipped) {}

  /// Batches of a pass that are read, at most; `forever` without a limit.
  std::size_t batches() const { return batches_; }
  /// Batches at the beginning of a pass that are not kept.
  std::size_t skipped() const { return skipped_; }

  /// Cached source of the first `samples`, which keeps none of the first `skipped`; the same at each call.
  SourcePointer<X, Y> first(std::size_t samples, std::size_t skipped);

 private:
  SourcePointer<X, Y> source_;
  std::size_t batches_, skipped_;
  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::size_t>, SourcePointer<X, Y>> by_samples_;
};

template <class X, class Y>
SourcePointer<X, Y> BatchCache<X, Y>::first(std::size_t samples, std::size_t skipped) {
  std::lock_guard lock(mutex_);
  SourcePointer<X, Y>& cached = by_samples_[{samples, skipped}];
  if (!cached)
    cached = std::make_shared<CachedSource<X, Y>>(std::make_shared<SelectedSource<X, Y>>(source_, 0, samples), skipped);
  return cached;
}

}  // namespace trireme::data
