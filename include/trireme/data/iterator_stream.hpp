/// The stream of batches that a BatchIterator reads, the same for engines of all types.
#pragma once

#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/batch_iterator_options.hpp"
#include "trireme/data/class_weight.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/data/stream_options.hpp"

namespace trireme::detail {

/// Batches of data for a model with these requirements. `wanted` has what the engine asks for: the order of batches and
/// the memory of inputs. \throws as BatchIterator
template <class T, class L, class Data>
auto open_stream(Data const& data, data::SampleRequirements requirements, BatchIteratorOptions const& options,
                 DataShard share, data::StreamOptions wanted) {
  if (!options.targets()) {
    requirements.target_extents = data.y_extents();
    requirements.classes = 0;
    requirements.targets = data.targets_as_they_are();
  }
  if (!options.class_weight.empty() && requirements.targets.size() > 1)
    throw ValueError("class_weight is for models of one output; give sample weights instead");
  // Of Outputs, `target_extents` are all their numbers in one row.
  auto const& extents = requirements.targets.empty() ? requirements.target_extents : requirements.targets[0].extents;
  if (!options.class_weight.empty() && !data::is_of_one_class<L>(extents))
    throw ValueError("class_weight needs one label a sample; give sample weights instead");
  data.verify(requirements, options.data());
  if (!wanted.in_order && data.is_local())
    throw ValueError(
        "each process acquires whole batches of its own, which takes data that all have: use from_tensor_slices, or a "
        "staleness of 0 for data from from_local_slices");
  wanted.class_weight = options.class_weight;
  wanted.classes = requirements.classes;
  wanted.ignored = requirements.ignored;
  wanted.indices = requirements.indices;
  wanted.labels = requirements.label_columns();
  wanted.targets = options.targets();
  wanted.x_name = wanted.y_name = options.data();
  return data.template stream<T, L>(share, 0, 0, std::move(wanted));
}

}  // namespace trireme::detail
