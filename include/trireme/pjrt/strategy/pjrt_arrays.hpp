/// ArenaArrays: an arena's tensors as arrays on the devices of a PJRT client.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/models/description.hpp"
#include "trireme/pjrt/runtime/executable.hpp"

namespace trireme::pjrt {

/// One array for each parameter on each replica, in the order of the model's table; the replicas hold the same values.
template <class T>
class ArenaArrays {
 public:
  ArenaArrays() = default;
  /// Copies of an arena. Not collective.
  ArenaArrays(Client const& client, std::size_t replicas, ModelDescription const& model, std::span<T const> arena)
      : of_(replicas) {
    for (std::size_t r = 0; r < replicas; ++r)
      for (ParameterInfo const& info : model.parameters)
        of_[r].push_back(
            copy_to_device(client, r, lowering::tensor_type<T>(info.shape.to_vector()), arena.data() + info.offset));
  }
  /// The results of a program, from the first one on.
  ArenaArrays(Executable& program, std::size_t parameters) : of_(program.replicas()) {
    for (std::size_t r = 0; r < of_.size(); ++r) {
      of_[r].resize(parameters);
      take(program, r, 0);
    }
  }

  /// Sets arguments of a program from `index` on. \return the index after them
  std::size_t give(Executable& program, std::size_t replica, std::size_t index) const {
    for (Buffer const& buffer : of_[replica]) program.set(replica, index++, buffer);
    return index;
  }
  /// Takes results of a program from `index` on. \return the index after them
  std::size_t take(Executable& program, std::size_t replica, std::size_t index) {
    for (Buffer& buffer : of_[replica]) buffer = program.take(replica, index++);
    return index;
  }

  /// A replica's values, laid out as an arena; waits for them.
  std::vector<T> to_host(std::size_t replica, ModelDescription const& model) const {
    std::vector<T> arena(model.arena_elements());
    for (std::size_t p = 0; p < model.parameters.size(); ++p)
      of_[replica][p].to_host(arena.data() + model.parameters[p].offset);
    return arena;
  }

 private:
  std::vector<std::vector<Buffer>> of_;  ///< by replica and parameter
};

}  // namespace trireme::pjrt
