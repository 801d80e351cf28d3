/// ErrorBarrier: a barrier for processes that an error takes out of a call which all of them have entered.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "trireme/core/forked_child.hpp"
#include "trireme/mpi/communicator.hpp"

namespace trireme::detail {

/// The barriers of a group have a communicator of their own, since the other processes may wait in any collective of
/// the group. Those of all its models share it: where processes have left calls of different models, all end.
class ErrorBarrier {
 public:
  /// Collective.
  explicit ErrorBarrier(Communicator const& group);

  /// Work of each process when all have left a call after an error: none, or `call(engine)`, which may be collective.
  struct CleanUp {
    void (*call)(void* engine) = nullptr;
    void* engine = nullptr;
  };

  /// Scope of a call that all processes of the group have entered.
  class Scope {
   public:
    explicit Scope(ErrorBarrier* barrier) : barrier_(barrier) {}
    /// Awaits the other processes after an error, and cleans up. Destructors run only if a caller catches the error;
    /// one that nothing catches ends all processes at once.
    ~Scope() {
      if (fails_ && !is_forked_child()) barrier_->await(what_, begun_, clean_up_);
    }
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;

    /// Notes the error that leaves the call. Its mark as an error of all processes is not trusted: if all throw, none
    /// waits. \param error  not null
    /// \param begun  exchanges that this process has begun. Where all have left the call with other numbers, the next
    /// exchange of one would meet that of another one's last step: all end with the messages of their errors.
    void note(std::exception_ptr const& error, std::uint64_t begun, CleanUp clean_up);

   private:
    ErrorBarrier* barrier_;
    bool fails_ = false;
    std::string what_;
    std::uint64_t begun_ = 0;
    CleanUp clean_up_;
  };

 private:
  /// Awaits the other processes, compares what they have begun, and cleans up.
  void await(std::string const& what, std::uint64_t begun, CleanUp clean_up) noexcept;
  /// Returns when an error has taken all processes of the group out of the call. Until then it waits as long as one of
  /// them does not wait in a call, and for the Environment's patience after that. Then, or at the deadline, which
  /// alone ends the wait for processes of other nodes, all processes end with the message `what`.
  void await(std::string const& what) noexcept;
  /// True if the states of all other processes of the group can be read, as on one node.
  bool sees_all() const;
  /// True if another process of the group, and of this node, does not wait in a call.
  bool others_work() const;
  [[noreturn]] void end(std::string const& what) const noexcept;

  std::shared_ptr<Communicator const> communicator_;
  std::uint64_t number_;                ///< of this barrier among those of the group
  std::vector<std::uint32_t> members_;  ///< ranks of the group in the run's registry, in order
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/environment/error_barrier.ipp"
#endif
