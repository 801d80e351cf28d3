/// Samples and what is done with them before they become batches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/data/batch_size.hpp"
#include "trireme/data/batched_dataset.hpp"
#include "trireme/data/cache.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/map.hpp"
#include "trireme/data/repeat.hpp"
#include "trireme/data/sample_source.hpp"
#include "trireme/data/selection.hpp"
#include "trireme/data/shuffle.hpp"

namespace trireme::data {

/// Samples (input extents...) of scalar X with targets (target extents...) of scalar Y, made by `from_tensor_slices`,
/// `from_local_slices` or `from_generator`.
///
/// A cheap value: each operation returns a new dataset over the same data, and copies none. Arrays that the dataset was
/// made of by reference have to outlive it and all that is made from it. As in tf.data, operations apply in the order
/// in which they are written. None is collective. Counts are of samples over all processes, may be of any arithmetic
/// type, and are at most 2^48. Source: `tf.data.Dataset`.
/// \throws ValueError naming operation, number and range where a number is no count.
template <class X, class Y>
class Dataset {
 public:
  /// Dataset over a source of samples of your own.
  Dataset(SourcePointer<X, Y> source, SampleDescription description)
      : source_(std::move(source)), description_(std::move(description)) {}
  // A move copies, so that it leaves no dataset without data behind.
  Dataset(Dataset const&) = default;
  Dataset& operator=(Dataset const&) = default;

  /// Shuffles: a new order in each epoch of all calls of `fit`, the same for any number of processes and threads. One
  /// permutation of all samples where these lie in memory, whatever `buffer` is; of a generator, a window of `buffer`
  /// samples. Samples that each process owns are shuffled within it.
  /// \throws ValueError if `buffer` is 0 or no count.
  Dataset shuffle(Count const& buffer, std::uint64_t seed) const;
  /// Takes other arguments, and does not compile: its error shows those that fit.
  template <class... Given>
    requires(!std::is_invocable_v<void(Count const&, std::uint64_t), Given...>)
  Dataset shuffle(Given&&...) const {
    static_assert(std::is_invocable_v<void(Count const&, std::uint64_t), Given...>,
                  "trireme: shuffle takes the number of samples in its buffer and a seed: dataset.shuffle(10000, 7)");
    return *this;
  }

  /// Repeats: `count` passes in one epoch, without end if no number is given (or -1); what is shuffled before is
  /// shuffled anew in each.
  /// \throws ValueError if an epoch would have more than 2^61 samples: here, or when data are read.
  Dataset repeat(Count const& count = forever) const;

  /// The first `count` samples, over all processes. Behind a shuffle they are others in each epoch: split data before.
  Dataset take(Count const& count) const;

  /// All but the first `count` samples, counted over all processes.
  Dataset skip(Count const& count) const;

  /// Inputs changed by f(std::span<X const> in, std::span<Out> out) for each sample, where `out` has the given extents,
  /// row-major. f is host code and keeps no state: it may be called from several threads, for any sample, any number of
  /// times. Targets and sample weights stay. What f throws is thrown by `fit`, `evaluate` or `predict`.
  template <class Out = X, class F>
    requires InputMap<F, X, Out>
  Dataset<Out, Y> map(std::vector<std::size_t> x_extents, F f) const {
    SampleDescription description = description_;
    description.x_extents = std::move(x_extents);
    description.x_parts.clear();
    std::size_t const size = description.x_size();
    return {std::make_shared<MappedSource<X, Y, Out, Y, F>>(source_, size, source_->y_size(), std::move(f)),
            std::move(description)};
  }

  /// Inputs and targets changed by f(std::span<X const> x, std::span<Y const> y, std::span<OutX> out_x,
  /// std::span<OutY> out_y), of the given extents; otherwise as the other `map`.
  template <class OutX = X, class OutY = Y, class F>
    requires SampleMap<F, X, Y, OutX, OutY>
  Dataset<OutX, OutY> map(std::vector<std::size_t> x_extents, std::vector<std::size_t> y_extents, F f) const {
    SampleDescription description = description_;
    description.x_extents = std::move(x_extents);
    description.y_extents = std::move(y_extents);
    description.x_parts.clear();
    description.y_parts.clear();
    std::size_t const x_size = description.x_size(), y_size = description.y_size();
    return {std::make_shared<MappedSource<X, Y, OutX, OutY, F>>(source_, x_size, y_size, std::move(f)),
            std::move(description)};
  }

  /// Keeps the samples in memory once they have been computed; write it after an expensive `map` and before `shuffle`.
  /// \throws ValueError if the samples have no end.
  Dataset cache() const { return with(cached(source_, data::is_endless(*source_, description_))); }

  /// Gathers `count` batches ahead on a thread, at most 65536, or as many as the library chooses (`autotune`, which is
  /// -1); the same before and after `batch`.
  Dataset prefetch(Count const& count) const;

  /// Batches of `GlobalBatch{n}` or `PerReplicaBatch{n}` samples; the last may have fewer.
  /// \throws ValueError if n is 0, from the conversion to BatchSize.
  BatchedDataset<X, Y> batch(BatchSize size) const { return {source_, description_, size}; }
  /// Takes other arguments, and does not compile: its error shows those that fit.
  template <class... Given>
    requires(!std::is_invocable_v<void(BatchSize), Given...>)
  BatchedDataset<X, Y> batch(Given&&...) const {
    static_assert(std::is_invocable_v<void(BatchSize), Given...>,
                  "trireme: batch takes a size for all replicas together, dataset.batch(GlobalBatch{32}), or for each, "
                  "dataset.batch(PerReplicaBatch{32})");
    return batch(GlobalBatch{1});
  }

  /// The dataset under a name of the user's choice, for messages.
  Dataset named(std::string name) const;

  /// Extents of the input of one sample.
  std::vector<std::size_t> const& x_extents() const { return description_.x_extents; }
  /// Extents of the target of one sample; (0,) without targets.
  std::vector<std::size_t> const& y_extents() const { return description_.y_extents; }

  /// Samples in an epoch, over all processes, if that is a known and finite number.
  std::optional<std::size_t> size() const { return dataset_size(*source_, description_); }

  /// Source of the samples.
  SourcePointer<X, Y> const& source() const { return source_; }
  /// Extents and names of the samples, and which of them this process owns.
  SampleDescription const& description() const { return description_; }

 private:
  Dataset with(SourcePointer<X, Y> source) const { return {std::move(source), description_}; }

  SourcePointer<X, Y> select(std::size_t first, std::size_t count) const;

  // Of the first `count` samples over all processes, those of one: in proportion to what it has, together `count`.
  std::size_t local_part(std::size_t count, std::size_t process) const;
  std::size_t local_part(std::size_t count) const;

  template <class F>
  void resize(F new_size, bool stays_endless = true) {
    if (!description_.local) return;
    LocalSizes& local = *description_.local;
    for (std::size_t process = 0; process < local.sizes.size(); ++process)
      local.sizes[process] = new_size(local.sizes[process], process);
    local.endless = local.endless && stays_endless;
  }

  SourcePointer<X, Y> source_;
  SampleDescription description_;
};

template <class X, class Y>
Dataset<X, Y> Dataset<X, Y>::shuffle(Count const& buffer, std::uint64_t seed) const {
  auto const& local = description_.local;
  return with(shuffled(source_, buffer.of("shuffle", "samples in the buffer", 1), seed,
                       local ? static_cast<std::uint32_t>(local->index) : 0));
}

template <class X, class Y>
Dataset<X, Y> Dataset<X, Y>::repeat(Count const& count) const {
  std::size_t const passes = count.unlimited() ? forever : count.of("repeat", "passes");
  Dataset result = with(std::make_shared<RepeatedSource<X, Y>>(source_, passes));
  if (passes != forever)
    result.resize([passes](std::size_t size, auto) { return repeated(size, passes, "samples"); }, passes != 0);
  else if (auto& local = result.description_.local)
    local->endless = local->total() != 0;
  return result;
}

template <class X, class Y>
Dataset<X, Y> Dataset<X, Y>::take(Count const& count) const {
  std::size_t const first = count.of("take", "samples");
  Dataset result = with(select(0, local_part(first)));
  result.resize(
      [&](std::size_t size, std::size_t process) {
        return data::is_endless(*source_, description_) ? local_part(first, process)
                                                        : std::min(size, local_part(first, process));
      },
      false);
  return result;
}

template <class X, class Y>
Dataset<X, Y> Dataset<X, Y>::skip(Count const& count) const {
  std::size_t const first = count.of("skip", "samples");
  Dataset result = with(select(local_part(first), SelectedSource<X, Y>::all));
  result.resize([&](std::size_t size, std::size_t process) {
    return data::is_endless(*source_, description_) ? size : size - std::min(size, local_part(first, process));
  });
  return result;
}

template <class X, class Y>
Dataset<X, Y> Dataset<X, Y>::prefetch(Count const& count) const {
  Dataset result = *this;
  result.description_.prefetch_at_least(count);
  return result;
}

template <class X, class Y>
Dataset<X, Y> Dataset<X, Y>::named(std::string name) const {
  Dataset result = *this;
  result.description_.x_name = result.description_.y_name = std::move(name);
  return result;
}

template <class X, class Y>
SourcePointer<X, Y> Dataset<X, Y>::select(std::size_t first, std::size_t count) const {
  return std::make_shared<SelectedSource<X, Y>>(source_, first, count);
}

template <class X, class Y>
std::size_t Dataset<X, Y>::local_part(std::size_t count, std::size_t process) const {
  LocalSizes const& local = *description_.local;
  std::size_t const total = local.total();
  if (total == 0 || (count >= total && !local.endless)) return local.sizes[process];
  std::size_t before = 0;
  for (std::size_t i = 0; i < process; ++i) before += local.sizes[i];
  return scaled(before + local.sizes[process], count, total) - scaled(before, count, total);
}

template <class X, class Y>
std::size_t Dataset<X, Y>::local_part(std::size_t count) const {
  return description_.local ? local_part(count, description_.local->index) : count;
}

}  // namespace trireme::data
