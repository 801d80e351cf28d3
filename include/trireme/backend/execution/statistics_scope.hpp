/// Sums over rows that lie with other threads, replicas or processes.
#pragma once

#include <cstddef>

namespace trireme {

/// Whose rows a layer adds up: nobody else's, those of its replica, or those of the global batch.
enum class StatisticsScope { none, replica, global };

/// How one slice of a batch meets the others. All slices within the scope call the same sums in the same order, those
/// without rows too.
class StatisticsSum {
 public:
  /// values[i] becomes the sum over all slices within the scope, the same to the bit for each of them.
  virtual void sum(double* values, std::size_t count, StatisticsScope scope) = 0;

 protected:
  ~StatisticsSum() = default;
};

}  // namespace trireme
