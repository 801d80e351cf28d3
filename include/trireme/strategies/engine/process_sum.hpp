/// Sums over processes, for any type of group.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace trireme {

/// Sums over the processes that share each batch, or the model.
class ProcessSum {
 public:
  /// Collective; called on the thread that started MPI.
  virtual void allreduce_sum(std::span<double> values) const = 0;
  /// True if there are other processes.
  virtual bool is_needed() const = 0;
  /// total[i], i < count, becomes the sum over the values of the partitions of all processes. Collective.
  virtual void sum_partitions(std::span<double const* const> partitions, std::size_t count,
                              std::vector<double>& total) const;

 protected:
  ~ProcessSum() = default;
};

/// The sum over the processes of a group of any type.
template <class Group>
class GroupSum final : public ProcessSum {
 public:
  /// Sums over a group, which has to outlive this object.
  explicit GroupSum(Group const& group) : group_(&group) {}
  void allreduce_sum(std::span<double> values) const override { group_->allreduce_sum(values); }
  bool is_needed() const override { return group_->size() > 1; }

 private:
  Group const* group_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/strategies/engine/process_sum.ipp"
#endif
