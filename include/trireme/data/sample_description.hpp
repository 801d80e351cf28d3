/// What is known of a dataset's samples besides the samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/data/checksum.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/sample_source.hpp"
#include "trireme/data/shares.hpp"

namespace trireme::data {

struct SampleDescription {
  std::vector<std::size_t> x_extents;  ///< of one sample
  std::vector<std::size_t> y_extents;  ///< of one target; (0,) if there are none
  std::string x_name = "the dataset";  ///< in messages
  std::string y_name = "the dataset";
  std::optional<LocalSizes> local{};  ///< if each process has its own samples
  std::size_t prefetch = 0;
  /// Extents of each part of a sample and of its targets, if they were given as tuples; a row holds one after the
  /// other.
  std::vector<std::vector<std::size_t>> x_parts{}, y_parts{};

  std::size_t x_size() const { return volume(x_extents); }
  std::size_t y_size() const { return volume(y_extents); }

  void prefetch_at_least(Count count) {
    constexpr std::size_t chosen = 2, most = 1 << 16;
    prefetch = std::max(prefetch, count.unlimited() ? chosen : count.of("prefetch", "batches", 0, most));
  }

  static std::size_t volume(std::vector<std::size_t> const& extents) {
    std::size_t product = 1;
    for (std::size_t extent : extents) product *= extent;
    return product;
  }
};

/// Whether the samples go on without end. The same on all processes: where each has its own samples, one that has none
/// knows it of the others.
template <class X, class Y>
bool is_endless(SampleSource<X, Y> const& source, SampleDescription const& description) {
  return description.local ? description.local->endless : source.endless();
}

/// Samples over all processes, if that is a known and finite number.
template <class X, class Y>
std::optional<std::size_t> dataset_size(SampleSource<X, Y> const& source, SampleDescription const& description) {
  if (is_endless(source, description)) return std::nullopt;
  return description.local ? std::optional(description.local->total()) : source.size();
}

/// Equal on all processes that hold what they should: the same data, or each its own part of the same whole.
template <class X, class Y>
Checksum dataset_checksum(SampleSource<X, Y> const& source, SampleDescription const& description) {
  std::uint64_t hash = hash_combine(hash_extents(description.x_extents), hash_extents(description.y_extents));
  hash = hash_combine(hash, description.local ? hash_extents(description.local->sizes) : source.fingerprint());
  return {dataset_size(source, description).value_or(0), hash};
}

}  // namespace trireme::data
