/// RunningSums: the running sums of an epoch and of a test, which stay on the devices until they are read.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "trireme/core/phase.hpp"
#include "trireme/pjrt/runtime/buffer.hpp"

namespace trireme::pjrt {

/// `width` sums of loss and metrics for each replica, and while training the sum of penalties, which all replicas have.
template <std::size_t width>
class RunningSums {
 public:
  explicit RunningSums(std::size_t replicas)
      : totals_{std::vector<Buffer>(replicas), std::vector<Buffer>(replicas)}, penalty_(replicas) {}

  Buffer& totals(Phase phase, std::size_t replica) { return totals_[static_cast<std::size_t>(phase)][replica]; }
  Buffer& penalty(std::size_t replica) { return penalty_[replica]; }

  void reset(Client const& client, Phase phase) {
    std::array<double, width> const zeros{};
    for (std::size_t r = 0; r < penalty_.size(); ++r) set(client, phase, r, zeros.data(), 0);
  }
  void set(Client const& client, Phase phase, std::size_t replica, double const* sums, double penalty) {
    totals(phase, replica) = copy_to_device(client, replica, lowering::tensor_type<double>({width}), sums);
    if (phase == Phase::train)
      penalty_[replica] = copy_to_device(client, replica, lowering::tensor_type<double>({}), &penalty);
  }

  /// The sums of all replicas, one replica after the other; waits for them.
  std::vector<double> to_host(Phase phase) {
    std::vector<double> sums(penalty_.size() * width);
    for (std::size_t r = 0; r < penalty_.size(); ++r) totals(phase, r).to_host(sums.data() + r * width);
    return sums;
  }
  double penalty_to_host() const {
    double sum = 0;
    penalty_[0].to_host(&sum);
    return sum;
  }

 private:
  std::array<std::vector<Buffer>, 2> totals_;
  std::vector<Buffer> penalty_;
};

}  // namespace trireme::pjrt
