/// ArenaArrays: an arena's tensors as arrays on the devices of a PJRT client.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/models/description.hpp"
#include "trireme/pjrt/runtime/executable.hpp"

namespace trireme::pjrt {

/// One array for each tensor on each replica; the replicas hold the same values. Tensors are the model's parameters
/// and states in the order of its table, which programs replace, and behind them frozen weights, which they only read.
template <class T>
class ArenaArrays {
 public:
  ArenaArrays() = default;
  /// Copies of an arena, of all weights or (of an optimizer's) of the parameters alone. Not collective.
  ArenaArrays(Client const& client, std::size_t replicas, ModelDescription const& model, std::span<T const> arena,
              bool all_weights)
      : of_(replicas), replaced_(model.parameters.size() + (all_weights ? model.states.size() : 0)) {
    for (std::size_t r = 0; r < replicas; ++r) {
      auto const copy = [&](WeightInfo const& info) {
        of_[r].push_back(
            copy_to_device(client, r, lowering::tensor_type<T>(info.shape.to_vector()), arena.data() + info.offset));
      };
      for (WeightInfo const& info : model.parameters) copy(info);
      if (!all_weights) continue;
      for (WeightInfo const& info : model.states) copy(info);
      for (WeightInfo const& info : model.frozen) copy(info);
    }
  }
  /// The results of a program that copies others.
  ArenaArrays(Executable& program, ArenaArrays const& others) : of_(program.replicas()), replaced_(others.replaced_) {
    for (std::size_t r = 0; r < of_.size(); ++r)
      for (std::size_t index = 0; index < others.of_[r].size(); ++index) of_[r].push_back(program.take(r, index));
  }

  /// Sets arguments of a program from `index` on. \return the index after them
  template <class Program>
  std::size_t give(Program& program, std::size_t replica, std::size_t index) const {
    for (Buffer const& buffer : of_[replica]) program.set(replica, index++, buffer);
    return index;
  }
  /// Takes a program's results from `index` on for the arrays that it replaces. \return the index after them
  template <class Program>
  std::size_t take(Program& program, std::size_t replica, std::size_t index) {
    for (std::size_t i = 0; i < replaced_; ++i) of_[replica][i] = program.take(replica, index++);
    return index;
  }

  /// A replica's values, laid out as an arena; waits for them.
  std::vector<T> to_host(std::size_t replica, ModelDescription const& model) const {
    std::vector<T> arena(model.arena_elements());
    auto buffer = of_[replica].begin();
    for (WeightInfo const& info : model.parameters) (buffer++)->to_host(arena.data() + info.offset);
    if (buffer == of_[replica].end()) return arena;
    for (WeightInfo const& info : model.states) (buffer++)->to_host(arena.data() + info.offset);
    for (WeightInfo const& info : model.frozen) (buffer++)->to_host(arena.data() + info.offset);
    return arena;
  }

 private:
  std::vector<std::vector<Buffer>> of_;  ///< by replica and tensor
  std::size_t replaced_ = 0;
};

}  // namespace trireme::pjrt
