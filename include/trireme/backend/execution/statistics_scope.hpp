/// Sums over rows held by other threads, replicas or processes.
#pragma once

#include <cstddef>

namespace trireme {

/// The rows that a layer sums over: only its slice's, those of its replica, or those of the global batch.
enum class StatisticsScope { none, replica, global };

/// The sum over slices of a batch. All slices within the scope call the same sums in the same order, including those
/// without rows.
class StatisticsSum {
 public:
  /// values[i] becomes the sum over all slices within the scope, bitwise the same for each of them.
  virtual void sum(double* values, std::size_t count, StatisticsScope scope) = 0;

 protected:
  ~StatisticsSum() = default;
};

}  // namespace trireme
