/// Definitions of trireme/strategies/data_parallel/divided_update.hpp.
#pragma once

#include "trireme/strategies/data_parallel/divided_update.hpp"

#include <cstddef>

#include "trireme/core/linkage.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/models/weight_table.hpp"

namespace trireme {

TRIREME_INLINE DeferrableMatrices::DeferrableMatrices(ModelDescription const& model) {
  for (ParameterInfo const& p : model.parameters) {
    if (p.shape.rank < 2 || p.size == 0) continue;
    std::size_t const n = p.shape.extents[p.shape.rank - 1];
    matrices.push_back({p.size / n, n});
  }
}

TRIREME_INLINE std::size_t DeferrableMatrices::columns(std::size_t global_rows) const {
  std::size_t sum = 0;
  for (Matrix const& matrix : matrices)
    if (pays_to_defer(matrix.m, matrix.n, global_rows)) sum += matrix.m + matrix.n;
  return sum;
}

}  // namespace trireme
