/// A batch together with the memory that it lies in.
#pragma once

#include <vector>

#include "trireme/data/batch.hpp"

namespace trireme::data {

/// Batch and the memory that it may need, which is kept from batch to batch.
template <class T, class L>
struct BatchBuffer {
  std::vector<T> x;
  std::vector<T const*> x_rows;
  std::vector<L> y;
  std::vector<double> weight;
  Batch<T, L> batch;
};

}  // namespace trireme::data
