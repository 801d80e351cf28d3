/// EngineBase: members of every engine, whatever part of the model it holds: the model's description, the group of
/// processes, and their agreement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

/// Base of the engines that strategies build. `Group`: SingleProcess or Communicator.
template <class ModelType, class GroupType>
class EngineBase {
 public:
  using Model = ModelType;
  using Group = GroupType;
  using T = typename Model::scalar;
  using L = typename Model::label;

  Model const& model() const { return model_; }
  Group const& group() const { return *group_; }

  /// Turns a request of this process into a decision of all. Collective.
  Uniform<bool> agree(bool request) const { return group_->allreduce_or(request); }

  /// Turns requests of callbacks into the decision of all processes; collective only if some hook may decide alone.
  template <class StopRequests>
  bool resolve(StopRequests const& requests) {
    if constexpr (StopRequests::needs_vote)
      return agree(requests.local_request).value() || requests.uniform_request;
    else
      return requests.uniform_request;
  }

  /// Optimizer steps of all processes since the previous batch of this one.
  static constexpr std::size_t updates() { return 1; }

  /// Throws if processes cannot do together the operation `what`, since each goes its own pace.
  static constexpr void require_together(char const*) {}

  /// A readable description of how far results agree if a run resumes with other processes or threads.
  std::string moved_agreement() const {
    if (model_.description().mixes_replica)
      return "differ as BatchNormalization does, whose statistics are those of a replica's rows";
    return "agree to rounding";
  }

  /// f(ChiefScope const&, arguments...) on the chief alone. Collective.
  template <class F, class... Arguments>
  auto on_chief(F&& f, Arguments&&... arguments) const {
    return group_->on_chief(std::forward<F>(f), std::forward<Arguments>(arguments)...);
  }

  /// True if each process acquires whole batches of an epoch instead of drawing its shard of every one.
  static constexpr bool acquires_batches() { return false; }
  /// The batch of the epoch that this process trains on next, where `next` follows its last one.
  static constexpr std::optional<std::size_t> acquire(std::size_t next) { return next; }
  /// Ends the epoch before the batch that was acquired last.
  static constexpr void release() {}

 protected:
  EngineBase(Model model, std::shared_ptr<Group const> group) : model_(std::move(model)), group_(std::move(group)) {}

  /// The positions of a global batch, over which the mean of each output's loss is taken. Collective if the loss leaves
  /// some out. \param counts  true if this process counts those of its rows: one process for each row does.
  template <class Batch>
  auto global_positions(Batch const& batch, bool counts = true) const {
    auto positions = model_.positions(batch.global_rows);
    if (model_.masks_positions()) {
      positions = counts ? model_.counted_positions(batch.y, batch.rows) : decltype(positions){};
      group_->allreduce_sum(positions);
    }
    return positions;
  }

  /// Throws message(rank) on all processes if some rank's sum is not the chief's. Collective.
  template <class Message>
  void require_same(std::uint64_t sum, Message const& message) const {
    if (group_->allreduce_min(sum).value() == group_->allreduce_max(sum).value()) return;
    std::vector<std::uint64_t> const sums = group_->allgather(sum);
    auto const differs = std::find_if(sums.begin(), sums.end(), [&](std::uint64_t s) { return s != sums[0]; });
    raise_uniform(Error(message(static_cast<std::size_t>(differs - sums.begin()))));
  }

  Model model_;
  std::shared_ptr<Group const> group_;
};

}  // namespace trireme
