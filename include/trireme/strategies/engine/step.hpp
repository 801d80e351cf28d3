/// The data of a step on one global batch, and slices of its rows.
#pragma once

#include <cstddef>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/layers/call.hpp"
#include "trireme/models/head.hpp"

namespace trireme {

/// The data of a step on one global batch.
template <class Model>
struct Step {
  Slice<typename Model::scalar, typename Model::label> slice;  ///< this process's rows, in the space's memory
  StepKeys keys;
  PerOutput<Model::outputs> positions{};  ///< of the global batch, over which the mean of each output's loss is taken
  std::size_t global_rows = 0;

  /// Factors of each output's loss: 1 over the positions of its mean.
  PerOutput<Model::outputs> scales() const { return reciprocals(positions); }
};

/// The positions of a global batch, over which the mean of each output's loss is taken. Collective if the loss leaves
/// some out. \param counts  true if this process counts those of its rows: one process for each row does.
template <class Model, class Group, class Batch>
auto global_positions(Model const& model, Group const& group, Batch const& batch, bool counts = true) {
  auto positions = model.positions(batch.global_rows);
  if (model.masks_positions()) {
    positions = counts ? model.counted_positions(batch.y, batch.rows) : decltype(positions){};
    group.allreduce_sum(positions);
  }
  return positions;
}
/// The positions of a batch of `rows` rows that are all this process's own. Not collective.
template <class Model, class Batch>
auto own_positions(Model const& model, Batch const& batch, std::size_t rows) {
  return model.masks_positions() ? model.counted_positions(batch.y, batch.rows) : model.positions(rows);
}

/// Some rows of a slice.
template <class Model, class T, class L>
Slice<T, L> rows_of(Model const& model, Slice<T, L> slice, RowRange const& rows) {
  slice.x = slice.x.from_row(rows.begin, model.input_size());
  if (slice.y) slice.y += rows.begin * model.target_size();
  if (slice.weight) slice.weight += rows.begin;
  slice.rows = rows.end - rows.begin;
  return slice;
}

}  // namespace trireme
