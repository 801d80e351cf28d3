/// Number of batches in an epoch, where the data know it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/batch_iterator_options.hpp"

namespace trireme::detail {

/// \param called  the data in messages
inline ValueError no_sample(std::string const& called) { return ValueError(formatted("{} hold no sample", called)); }

/// Batches that the data have, if that is a known and finite number. \param called  the data in messages
/// \throws ValueError if there are none, or fewer than requested.
template <class Data>
std::optional<std::size_t> batches_of_epoch(Data const& data, DataShard const& shard,
                                            BatchIteratorOptions const& options, std::string const& called) {
  auto const all = data.batches_per_epoch(shard);
  std::string const option = options.steps_option();
  if (all == std::size_t{0} && options.role != IteratorRole::prediction) {
    std::size_t const samples = data.size().value_or(0);
    if (samples == 0) throw no_sample(called);
    throw ValueError(
        formatted("{} have no batch: take, skip or repeat leave none of their {} samples", called, samples));
  }
  if (all && options.steps && *options.steps > *all)
    throw ValueError(
        formatted("{} is {}, but {} have {} batches: repeat() gives more", option, *options.steps, called, *all));
  if (!options.steps && data.endless())
    throw ValueError(
        formatted("{} have no end: give them a take(){}", called, option.empty() ? "" : ", or set " + option));
  return all;
}

}  // namespace trireme::detail
