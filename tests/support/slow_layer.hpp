/// A layer whose rows count as slow, so that few of them are worth a partition.
#pragma once

#include <cstddef>

#include "trireme/activations/tanh.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/strategies/data_parallel/partition_plan.hpp"

namespace trireme::test {

/// Rows of it that are worth a partition beside one for each thread.
inline constexpr std::size_t slow_rows = 8;

template <std::size_t Units>
struct SlowDense : Dense<Units, Tanh> {
  template <class In>
  constexpr std::size_t flops(In const&) const {
    return flops_of_fine_partition / slow_rows;
  }
};

}  // namespace trireme::test
