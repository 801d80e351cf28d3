/// EngineBase: the engine of a process, composed of parts: what the process holds of a model, and its group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "trireme/core/phase.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

/// Base of the engines that strategies build, which add the steps. `Parts` hold all that lasts from step to step:
///   model(), group()     the model's description and mathematics; SingleProcess or Communicator
///   weights()            the weights, whole or divided: snapshots, and reads and writes on the host
///   optimizer()          the learning rate, and the number of steps done
///   slots(), set_slot(slot, values), gather_state(state)   the optimizer's state, to and from the chief
///   reset_metrics(phase), metrics(phase)   the totals of loss and metrics
///   verify_replicas(), placement(), memory_use(rows)
template <class PartsType>
class EngineBase {
 public:
  using Parts = PartsType;
  using Model = typename Parts::Model;
  using Group = typename Parts::Group;
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Snapshot = typename Parts::Snapshot;

  Model const& model() const { return parts_.model(); }
  Group const& group() const { return parts_.group(); }

  decltype(auto) weights() { return parts_.weights(); }
  decltype(auto) weights() const { return parts_.weights(); }
  decltype(auto) optimizer() { return parts_.optimizer(); }
  decltype(auto) optimizer() const { return parts_.optimizer(); }
  /// Optimizer steps so far.
  std::uint64_t iteration() const { return optimizer().iteration(); }

  /// Number of the optimizer's slots; the values of one from those of the chief. Collective.
  std::size_t slots() const { return parts_.slots(); }
  template <class Values>
  void set_slot(std::size_t slot, Values&& values) {
    parts_.set_slot(slot, values);
  }
  /// Sends the complete state to the chief: fills `state` there (parameters, slots, iteration, learning_rate).
  /// Collective.
  template <class State>
  void gather_state(State& state) const {
    parts_.gather_state(state);
  }

  /// Loss and metrics since the reset, exact over all processes. Collective.
  auto metrics(Phase phase) { return parts_.metrics(phase); }
  void reset_metrics(Phase phase) { parts_.reset_metrics(phase); }

  /// For evaluation and predictions: until the result ends, processes with weights of their own have the mean of these,
  /// as files do. Collective.
  auto show_mean()
    requires requires(Parts& parts) { parts.weights().show_mean(); }
  {
    return parts_.weights().show_mean();
  }

  /// Throws if processes that hold the same weights have others, to the bit: then some reduction went wrong.
  /// Collective.
  void verify_replicas() const { parts_.verify_replicas(); }
  /// A readable description of what the bits of a result depend on; a run resumes where it is the same. Not collective.
  std::string placement() const
    requires requires(Parts const& parts) { parts.placement(); }
  {
    return parts_.placement();
  }
  /// Memory of this process for batches of up to `rows` rows of its own, and its contribution to a step's reduction.
  auto memory_use(std::size_t rows) const { return parts_.memory_use(rows); }
  /// A readable description of how far results agree if a run resumes with other processes or threads.
  std::string moved_agreement() const {
    if (model().description().mixes_replica)
      return "differ as BatchNormalization does, whose statistics are those of a replica's rows";
    return "agree to rounding";
  }

  /// Turns a request of this process into a decision of all. Collective.
  Uniform<bool> agree(bool request) const { return group().allreduce_or(request); }

  /// Turns requests of callbacks into the decision of all processes; collective only if some hook may decide alone.
  template <class StopRequests>
  bool resolve(StopRequests const& requests) {
    if constexpr (StopRequests::needs_vote)
      return agree(requests.local_request).value() || requests.uniform_request;
    else
      return requests.uniform_request;
  }

  /// f(ChiefScope const&, arguments...) on the chief alone. Collective.
  template <class F, class... Arguments>
  auto on_chief(F&& f, Arguments&&... arguments) const {
    return group().on_chief(std::forward<F>(f), std::forward<Arguments>(arguments)...);
  }

  /// Devices of this process that may keep a copy of the memory that inputs lie in (InputMemory).
  std::size_t input_copies() const {
    if constexpr (requires { parts_.input_copies(); }) return parts_.input_copies();
    return 0;
  }

  /// Optimizer steps of all processes since the previous batch of this one.
  static constexpr std::size_t updates() { return 1; }

  /// Throws if processes cannot do together the operation `what`, since each goes its own pace.
  static constexpr void require_together(char const*) {}
  /// True if a file that this process saves is there once `save_weights` has returned.
  static constexpr bool saves_here() { return true; }

  /// True if each process acquires whole batches of an epoch instead of drawing its shard of every one.
  static constexpr bool acquires_batches() { return false; }
  /// The batch of the epoch that this process trains on next, where `next` follows its last one.
  static constexpr std::optional<std::size_t> acquire(std::size_t next) { return next; }
  /// Ends the epoch before the batch that was acquired last.
  static constexpr void release() {}

 protected:
  explicit EngineBase(Parts parts) : parts_(std::move(parts)) {}

  Parts parts_;
};

}  // namespace trireme
