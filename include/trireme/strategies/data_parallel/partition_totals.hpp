/// Sums of loss and metrics, separate for each partition.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/core/phase.hpp"

namespace trireme {

/// `width` sums for each partition and phase, in the space's memory.
template <class Space>
class PartitionTotals {
  using Totals = Kokkos::View<double*, typename Space::memory_space>;

 public:
  /// Sums of zero, `width` for each partition and phase.
  PartitionTotals(Space const& space, std::size_t partitions, std::size_t width);

  /// Sums of a partition, in the space's memory.
  double* data(std::size_t partition, Phase phase) { return of(partition, phase).data(); }

  /// Sets all sums of a phase to zero.
  void reset(Phase phase);

  /// Sums over the partitions, in order.
  std::vector<double> sum(Phase phase) const;

  /// The sums of each partition, (partitions, width), from which `set` lets another process continue.
  std::vector<double> all(Phase phase) const;
  /// Sets the sums of each partition, (partitions, width).
  void set(Phase phase, std::span<double> values);

 private:
  Totals const& of(std::size_t partition, Phase phase) const;

  Space space_;
  std::size_t width_;
  std::vector<std::array<Totals, 2>> partitions_;
};

template <class Space>
PartitionTotals<Space>::PartitionTotals(Space const& space, std::size_t partitions, std::size_t width)
    : space_(space), width_(width), partitions_(partitions) {
  for (auto& partition : partitions_)
    for (Totals& totals : partition) totals = make_view<Totals>(space, "trireme::totals", width);
}

template <class Space>
void PartitionTotals<Space>::reset(Phase phase) {
  for (std::size_t partition = 0; partition < partitions_.size(); ++partition)
    fill_view(space_, of(partition, phase), 0);
}

template <class Space>
std::vector<double> PartitionTotals<Space>::sum(Phase phase) const {
  std::vector<double> sums(width_, 0.0), own(width_);
  for (std::size_t partition = 0; partition < partitions_.size(); ++partition) {
    copy_view(host_view(own), of(partition, phase));
    for (std::size_t i = 0; i < width_; ++i) sums[i] += own[i];
  }
  return sums;
}

template <class Space>
std::vector<double> PartitionTotals<Space>::all(Phase phase) const {
  std::vector<double> values(partitions_.size() * width_);
  for (std::size_t partition = 0; partition < partitions_.size(); ++partition)
    copy_view(host_view(values.data() + partition * width_, width_), of(partition, phase));
  return values;
}

template <class Space>
void PartitionTotals<Space>::set(Phase phase, std::span<double> values) {
  for (std::size_t partition = 0; partition < partitions_.size(); ++partition)
    copy_view(of(partition, phase), host_view(values.data() + partition * width_, width_));
}

template <class Space>
typename PartitionTotals<Space>::Totals const& PartitionTotals<Space>::of(std::size_t partition, Phase phase) const {
  return partitions_[partition][static_cast<std::size_t>(phase)];
}

#ifdef TRIREME_COMPILED
extern template class PartitionTotals<Kokkos::DefaultHostExecutionSpace>;
#endif

}  // namespace trireme
