/// GradientExchange: the sum of several processes' gradients, between the programs that compute and apply them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "trireme/pjrt/runtime/executable.hpp"
#include "trireme/pjrt/strategy/pjrt_batch.hpp"

namespace trireme::pjrt {

/// Gradients on the host, where MPI sums them: one vector of all gradients for each replica, which its devices share.
template <class T>
class GradientExchange {
 public:
  /// `size`: elements of all gradients; `numbers`: count of a step's numbers.
  GradientExchange(std::size_t replicas, std::size_t shards, std::size_t size, std::size_t numbers)
      : size_(size), shards_(shards), done_(replicas * shards) {
    for (std::size_t r = 0; r < replicas; ++r) {
      gradients_.emplace_back(lowering::tensor_type<T>({size}));
      numbers_.emplace_back(lowering::tensor_type<double>({numbers}));
    }
  }

  /// Sums gradients over the processes; `of_this_process`: the value that all its replicas hold. Collective.
  template <class Group>
  void sum(Group const& group, Buffer const& of_this_process) {
    T* const sum = gradients_[0].template write<T>();
    of_this_process.to_host(sum);
    group.allreduce_sum(std::span<T>(sum, size_));
    for (std::size_t r = 1; r < gradients_.size(); ++r) std::copy_n(sum, size_, gradients_[r].template write<T>());
  }

  /// Sets the sum and the step's numbers, which `write(to)` writes, as arguments of a program from `index` on, on all
  /// devices of a replica.
  template <class Write>
  void give(Client const& client, Executable& program, std::size_t replica, std::size_t index, Write const& write) {
    DeviceRange const own{replica * shards_, shards_};
    write(numbers_[replica].template write<double>());
    auto const &gradients = gradients_[replica].lend(client, own), &numbers = numbers_[replica].lend(client, own);
    for (std::size_t i = 0; i < own.count; ++i) {
      program.set(own.first + i, index, gradients[i].buffer);
      program.set(own.first + i, index + 1, numbers[i].buffer);
    }
  }

  /// Records the event of the program in flight.
  void set_done(std::size_t device, Event event) { done_[device] = std::move(event); }
  /// Waits for the programs in flight.
  void wait_all() {
    for (Event& event : done_) event.await();
  }

 private:
  std::size_t size_, shards_;
  std::vector<Lent> gradients_, numbers_;
  std::vector<Event> done_;
};

}  // namespace trireme::pjrt
