/// The Synchronization policy of data-parallel strategies: how processes that each hold the whole model agree on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/backend/execution/space_context.hpp"

namespace trireme {

/// The weights of one process between two of its steps, in the space's memory; kernels of `context` may change them.
template <class T, class Space>
struct LocalWeights {
  SpaceContext<Space>& context;
  T* values;            ///< of the parameters that train, then of the states
  T* scratch;           ///< room for as many numbers: the gradients, which nothing needs until the next step
  std::size_t trained;  ///< elements of the parameters
  std::size_t size;     ///< with the states
  std::uint64_t step;   ///< optimizer steps that were done
  /// For synchronizations with an anchor: true from when they take it until the weights are brought together, on all
  /// processes. A restored snapshot sets it to its value at that time.
  bool& changing;
};

/// True if each process takes optimizer steps on its own rows, with weights of its own until the synchronization brings
/// them together. A synchronization either adds up the gradients of each step:
///   begin(gradients)        called before backward; the sums are to be in this arena
///   sink()                  the sink of the gradients of backward, or null: they are stored
///   finish()                called after backward; returns when the sums over all processes are there. Collective.
///   shared()                the arena that other processes read, or null. If there is one, and each weight's update
///                           depends on its own gradient alone, ranks divide the update and do not call `finish`
/// or says `static constexpr bool local_steps = true` and changes weights between steps:
///   before_step(weights)    (optional)
///   after_update(weights)   on all processes after each step, also on those without rows
///   at_epoch_end(weights)   after which the weights are the same on all processes, to the bit. Collective. Also called
///                           when errors have taken all processes out of a call in different steps; may not throw
///   steps()                 (optional) those of this process since then, which have to be the same on all processes
///   anchor()                (optional) an arena of `size` elements, the weights from which those of each process have
///                           changed. Weights that are set meanwhile are set there too; snapshots have a copy of it
/// Both have
///   placement()             a text of what the bits of a result depend on
///   state(archive)          (optional) what a checkpoint holds of it; see Archive
///   resumed()               (optional) called when all of a checkpoint has been set
///   memory_bytes()          (optional) what it keeps, for memory_use
///   message_path()          (optional) the way of messages from a device's memory, the end of the placement
///   carries()               (optional) true if it keeps a part of the gradients for later steps
template <class Synchronization>
inline constexpr bool steps_locally = false;
template <class Synchronization>
  requires requires { requires Synchronization::local_steps; }
inline constexpr bool steps_locally<Synchronization> = true;

namespace detail {

template <class S, class T, class Space>
consteval bool require_local_synchronization() {
  static_assert(
      requires(S& s, LocalWeights<T, Space> const& weights) {
        s.after_update(weights);
        s.at_epoch_end(weights);
      },
      "trireme: a synchronization with local_steps needs after_update(weights) and at_epoch_end(weights), which bring "
      "the processes' weights together");
  static_assert(
      requires(S const& s) { s.placement(); },
      "trireme: a synchronization needs placement(), a text of what the bits of a result depend on");
  return true;
}

}  // namespace detail
}  // namespace trireme
