/// Sums of loss and metrics, which each lane keeps for itself.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/core/phase.hpp"

namespace trireme {

/// `width` sums for each lane and phase, in the space's memory.
template <class Space>
class LaneTotals {
  using Totals = Kokkos::View<double*, typename Space::memory_space>;

 public:
  LaneTotals(std::size_t lanes, std::size_t width) : width_(width), lanes_(lanes) {
    for (auto& lane : lanes_)
      for (Totals& totals : lane) totals = make_view<Totals>("trireme::totals", width);
  }

  double* data(std::size_t lane, Phase phase) { return of(lane, phase).data(); }

  void reset(Phase phase) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) fill_view(of(lane, phase), 0);
  }

  /// Sums over the lanes, in order.
  std::vector<double> sum(Phase phase) const {
    std::vector<double> sums(width_, 0.0), own(width_);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      copy_view(host_view(own), of(lane, phase));
      for (std::size_t i = 0; i < width_; ++i) sums[i] += own[i];
    }
    return sums;
  }

  /// Those of each lane, (lanes, width): what `set` lets another process go on from.
  std::vector<double> all(Phase phase) const {
    std::vector<double> values(lanes_.size() * width_);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      copy_view(host_view(values.data() + lane * width_, width_), of(lane, phase));
    return values;
  }
  void set(Phase phase, std::span<double> values) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      copy_view(of(lane, phase), host_view(values.data() + lane * width_, width_));
  }

 private:
  Totals const& of(std::size_t lane, Phase phase) const { return lanes_[lane][static_cast<std::size_t>(phase)]; }

  std::size_t width_;
  std::vector<std::array<Totals, 2>> lanes_;
};

}  // namespace trireme
