/// Slice of a batch for one partition, with scattered rows gathered unless the model reads them.
#pragma once

#include "trireme/backend/gemm/row_gather.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/models/head.hpp"
#include "trireme/strategies/engine/step.hpp"

namespace trireme {

/// The rows `rows` of a batch, for a pass under a Context. Scattered ones are gathered in `inputs`, unless the model's
/// first layer reads them directly.
template <class Context, class Model, class T, class L>
Slice<T, L> partition_slice(Model const& model, Slice<T, L> const& batch, RowRange const& rows, T* inputs) {
  Slice<T, L> part = rows_of(model, batch, rows);
  if (!part.x.is_scattered()) return part;
  if constexpr (requires { model.template takes_scattered_rows<Context>(part.rows); })
    if (model.template takes_scattered_rows<Context>(part.rows)) return part;
  detail::gather_rows(part.x, part.rows, model.input_size(), inputs);
  part.x = inputs;
  return part;
}

}  // namespace trireme
