/// SampleDescription: the properties of a dataset's samples without the samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/core/hash.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/data_shard.hpp"
#include "trireme/data/lineage.hpp"
#include "trireme/data/sample_source.hpp"

namespace trireme::data {

struct SampleDescription {
  std::vector<std::size_t> x_extents;  ///< of one sample
  std::vector<std::size_t> y_extents;  ///< of one target; (0,) if there are none
  std::string x_name{};                ///< in messages; empty: what the data are for, such as "the training data"
  std::string y_name{};
  std::optional<LocalSizes> local{};  ///< if each process has its own samples
  std::size_t prefetch = 0;
  /// Extents of each part of a sample and of its targets, if they were given as tuples; a row holds one after the
  /// other.
  std::vector<std::vector<std::size_t>> x_parts{}, y_parts{};

  /// Name of the samples in messages: their own, or their role.
  std::string const& x_called(std::string const& role) const { return x_name.empty() ? role : x_name; }
  /// Name of the targets in messages: their own, or their role.
  std::string const& y_called(std::string const& role) const { return y_name.empty() ? role : y_name; }

  /// Numbers of one sample.
  std::size_t x_size() const { return volume(x_extents); }
  /// Numbers of one target.
  std::size_t y_size() const { return volume(y_extents); }

  /// Raises the number of batches that are prepared ahead; `autotune`: the library chooses it.
  void prefetch_at_least(Count const& count) {
    constexpr std::size_t chosen = 2, most = 1 << 16;
    prefetch = std::max(prefetch, count.unlimited() ? chosen : count.of("prefetch", "batches", 0, most));
  }

  /// Product of the extents.
  static std::size_t volume(std::vector<std::size_t> const& extents) {
    std::size_t product = 1;
    for (std::size_t extent : extents) product *= extent;
    return product;
  }
};

/// True if the samples go on without end. The same on all processes: where each has its own samples, one that has none
/// knows it of the others.
template <class X, class Y>
bool is_endless(SampleSource<X, Y> const& source, SampleDescription const& description) {
  return description.local ? description.local->endless : source.endless();
}

/// Number of samples over all processes, if that is known and finite.
template <class X, class Y>
std::optional<std::size_t> dataset_size(SampleSource<X, Y> const& source, SampleDescription const& description) {
  if (is_endless(source, description)) return std::nullopt;
  return description.local ? std::optional(description.local->total()) : source.size();
}

/// Lineage of a dataset, equal on all processes that hold the right data: the same, or each its own part of the same
/// whole. Reads all data that lie in memory.
template <class X, class Y>
Lineage dataset_lineage(SampleSource<X, Y> const& source, SampleDescription const& description) {
  Lineage lineage;
  if (auto const& local = description.local) {
    lineage.add("from_local_slices", "number of samples of all ranks", local->total());
    lineage.add("from_local_slices", "", hash_extents(local->sizes));
    if (local->endless) lineage.add("repeat", "number of passes", forever);
  } else {
    source.trace(lineage);
  }
  lineage.add("samples", "", hash_combine(hash_extents(description.x_extents), hash_extents(description.y_extents)));
  return lineage;
}

}  // namespace trireme::data
