/// OwnWeights: whole weights that each process steps on its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trireme/backend/execution/views.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/strategies/engine/whole_weights.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

namespace detail {

/// Of the values of several processes, `size` each, this one's, or the mean if they were not as many as now.
template <class T, class Group>
std::vector<T> values_of_process(Group const& group, std::vector<T> const& values, std::size_t size) {
  std::size_t const count = values.size() / size;
  auto const part = [&](std::size_t i) { return std::span(values).subspan(i * size, size); };
  if (count == group.size()) return {part(group.rank()).begin(), part(group.rank()).end()};
  std::vector<T> own(size);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < size; ++j) own[j] += part(i)[j] / static_cast<T>(count);
  return own;
}

/// The mean over the processes, or these values if all have the same. Collective.
template <class T, class Group>
std::vector<T> mean_of_processes(Group const& group, std::vector<T> values) {
  std::uint64_t const bits = data::hash_bytes(values.data(), values.size() * sizeof(T));
  if (group.allreduce_min(bits).value() == group.allreduce_max(bits).value()) return values;
  group.allreduce_sum(values);
  for (T& value : values) value /= static_cast<T>(group.size());
  return values;
}

}  // namespace detail

/// Whole weights that are each process's own until a synchronization brings them together.
template <class T, class Space, class Group>
class OwnWeights : public WholeWeights<T, Space, Group> {
  using Base = WholeWeights<T, Space, Group>;

 public:
  /// The process's weights, then, where there is an anchor, as many that all processes have alike: those from which the
  /// weights have changed. The last number is 1 if they were changing from it, else 0.
  using Snapshot = Arena<T, Space>;

  /// Weights that begin as the chief's. Collective.
  template <class Model>
  OwnWeights(Model const& model, Space const& space, std::shared_ptr<Group const> group)
      : Base(model, space, std::move(group)) {}

  /// Keeps `anchor`, the first elements of the weights that the processes had alike last, in step with weights that are
  /// set: one that all processes are given is no change of theirs, and a snapshot brings back what had changed.
  void keep_anchor(Arena<T, Space> const& anchor) {
    anchor_ = anchor;
    copy_view(anchor_, part(this->parameters(), 0, anchor_.extent(0)));
  }

  Snapshot snapshot() const {
    std::size_t const size = this->size(), anchored = anchor_.extent(0);
    if (anchored == 0) return Base::snapshot();
    auto const copy = uninitialized_view<Snapshot>(this->space(), "trireme::snapshot", snapshot_size());
    copy_view(part(copy, 0, size), this->parameters());
    copy_view(part(copy, size, anchored), anchor_);
    // Frozen weights change in no step.
    copy_view(part(copy, size + anchored, size - anchored), part(this->parameters(), anchored, size - anchored));
    T const changing = changing_ ? 1 : 0;
    copy_view(part(copy, 2 * size, 1), host_view(&changing, 1));
    return copy;
  }
  void restore(Snapshot const& snapshot) {
    own_ = {};
    std::size_t const size = this->size(), anchored = anchor_.extent(0);
    copy_view(this->parameters(), part(snapshot, 0, size));
    if (anchored == 0) return;
    copy_view(anchor_, part(snapshot, size, anchored));
    T changing{};
    copy_view(host_view(&changing, 1), part(snapshot, 2 * size, 1));
    changing_ = changing != 0;
  }
  /// True from when the anchor is taken until the processes bring their weights together; the same on all of them.
  bool& changing() { return changing_; }

  /// Elements of a snapshot. A gathered one holds a snapshot of each process.
  std::size_t snapshot_size() const { return anchor_.extent(0) > 0 ? 2 * this->size() + 1 : this->size(); }
  /// The snapshots of all processes, one behind the other, on the chief. Collective.
  std::vector<T> gather(Snapshot const& snapshot) const {
    return std::move(this->group_->gatherv(to_host(snapshot), 0).values());
  }
  /// This process's snapshot of those that the chief gives, or their mean if it was another number of processes.
  /// Collective.
  Snapshot scatter(std::vector<T>& values) const {
    values.resize(this->group_->broadcast(values.size()).value());
    this->group_->broadcast(values);
    return this->snapshot_of(detail::values_of_process(*this->group_, values, snapshot_size()));
  }

  /// The mean over the processes of elements [offset, offset + count). Collective.
  std::vector<T> mean_values(std::size_t offset, std::size_t count) const {
    return detail::mean_of_processes(*this->group_, this->host_values(offset, count));
  }

  /// In place of the weights their mean over the processes, if they differ, until the result ends. Collective; its end
  /// is not.
  auto show_mean() {
    struct End {
      void operator()(OwnWeights* weights) const { weights->show_own(); }
    };
    std::unique_ptr<OwnWeights, End> scope;
    if (shows_mean() || this->group_->size() == 1) return scope;
    std::vector<T> const own = this->host_parameters();
    std::vector<T> const mean = detail::mean_of_processes(*this->group_, own);
    if (this->group_->allreduce_or(own != mean).value()) {
      own_ = this->snapshot_of(own);
      copy_view(this->parameters(), host_view(mean));
      scope.reset(this);
    }
    return scope;
  }
  /// True while `show_mean` has put the mean in the place of this process's weights.
  bool shows_mean() const { return own_.extent(0) > 0; }
  /// This process's weights on the host. Not collective.
  std::vector<T> host_own() const { return shows_mean() ? to_host(own_) : this->host_parameters(); }

  /// Overwrites the weights on every process with the chief's values. Collective.
  void set_parameters(std::span<T> values) { set_values(0, values); }
  /// The same for elements from `offset` on.
  void set_values(std::size_t offset, std::span<T> values) {
    Base::set_values(offset, values);
    if (shows_mean()) copy_view(part(own_, offset, values.size()), host_view(values.data(), values.size()));
    if (offset >= anchor_.extent(0)) return;
    std::size_t const count = std::min(values.size(), anchor_.extent(0) - offset);
    copy_view(part(anchor_, offset, count), host_view(values.data(), count));
  }

 private:
  static Arena<T, Space> part(Arena<T, Space> const& all, std::size_t offset, std::size_t count) {
    return Arena<T, Space>(all.data() + offset, count);
  }

  void show_own() {
    if (shows_mean()) copy_view(this->parameters(), own_);
    own_ = {};
  }

  Arena<T, Space> anchor_{};
  bool changing_ = false;
  Arena<T, Space> own_{};  ///< this process's weights while it shows the mean
};

}  // namespace trireme
