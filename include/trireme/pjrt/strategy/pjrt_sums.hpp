/// RunningSums: the running sums of an epoch and of a test, which stay on the devices until they are read.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "trireme/core/phase.hpp"
#include "trireme/pjrt/runtime/buffer.hpp"

namespace trireme::pjrt {

/// `width` sums of loss and metrics for each replica, and while training the sum of penalties, which all replicas have;
/// the devices of a replica hold the same.
template <std::size_t width>
class RunningSums {
 public:
  /// Sums on the devices of the replicas, not yet set.
  RunningSums(std::size_t replicas, std::size_t shards)
      : replicas_(replicas),
        shards_(shards),
        totals_{std::vector<Buffer>(replicas * shards), std::vector<Buffer>(replicas * shards)},
        penalty_(replicas * shards) {}

  /// Sums of a phase on a device.
  Buffer& totals(Phase phase, std::size_t device) { return totals_[static_cast<std::size_t>(phase)][device]; }
  /// Sum of penalties on a device, each times the rows of its global batch.
  Buffer& penalty(std::size_t device) { return penalty_[device]; }
  /// Sum of these rows.
  double& penalized_rows() { return penalized_rows_; }

  /// Sets all sums of a phase to zero.
  void reset(Client const& client, Phase phase) {
    std::array<double, width> const zeros{};
    for (std::size_t r = 0; r < replicas_; ++r) set(client, phase, r, zeros.data(), 0);
    if (phase == Phase::train) penalized_rows_ = 0;
  }
  /// Sets the sums of a replica on all its devices.
  void set(Client const& client, Phase phase, std::size_t replica, double const* sums, double penalty) {
    for (std::size_t device = replica * shards_; device < (replica + 1) * shards_; ++device) {
      totals(phase, device) = copy_to_device(client, device, lowering::tensor_type<double>({width}), sums);
      if (phase == Phase::train)
        penalty_[device] = copy_to_device(client, device, lowering::tensor_type<double>({}), &penalty);
    }
  }

  /// The sums of all replicas, one replica after the other; waits for them.
  std::vector<double> to_host(Phase phase) {
    std::vector<double> sums(replicas_ * width);
    for (std::size_t r = 0; r < replicas_; ++r) totals(phase, r * shards_).to_host(sums.data() + r * width);
    return sums;
  }
  /// Sum of penalties; waits for it.
  double penalty_to_host() const {
    double sum = 0;
    penalty_[0].to_host(&sum);
    return sum;
  }
  /// Mean penalty of a trained row; waits for the sum.
  double mean_penalty() const { return penalized_rows_ > 0 ? penalty_to_host() / penalized_rows_ : 0; }

 private:
  std::size_t replicas_, shards_;
  std::array<std::vector<Buffer>, 2> totals_;
  std::vector<Buffer> penalty_;
  double penalized_rows_ = 0;
};

}  // namespace trireme::pjrt
