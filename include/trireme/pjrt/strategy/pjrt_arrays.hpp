/// ArenaArrays: an arena's tensors as arrays on the devices of a PJRT client.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "trireme/models/description.hpp"
#include "trireme/pjrt/lowering/division.hpp"
#include "trireme/pjrt/runtime/executable.hpp"

namespace trireme::pjrt {

/// One array for each tensor on each device; the replicas hold the same values, and the devices of a replica divide
/// some tensors. Tensors are the model's parameters and states in the order of its table, which programs replace, and
/// behind them frozen weights, which they only read.
template <class T>
class ArenaArrays {
 public:
  ArenaArrays() = default;
  /// Copies of an arena, of all weights or (of an optimizer's) of the parameters alone. Not collective.
  ArenaArrays(Client const& client, std::size_t replicas, lowering::Division const& division,
              ModelDescription const& model, std::span<T const> arena, bool all_weights)
      : of_(replicas * division.shards),
        shards_(division.shards),
        replaced_(model.parameters.size() + (all_weights ? model.states.size() : 0)) {
    std::vector<T> part;
    auto const copy = [&](WeightInfo const& info, lowering::Division::Weight const& divided) {
      divided_.push_back(divided);
      auto const type = divided ? lowering::tensor_type<T>(divided->extents).divided(divided->axis, shards_)
                                : lowering::tensor_type<T>(info.shape.to_vector());
      for (std::size_t shard = 0; shard < shards_; ++shard) {
        T const* values = arena.data() + info.offset;
        if (divided) {
          part.resize(info.size / shards_);
          for_each_run(*divided, shard, [&](std::size_t in_tensor, std::size_t in_part, std::size_t count) {
            std::copy_n(values + in_tensor, count, part.begin() + static_cast<std::ptrdiff_t>(in_part));
          });
          values = part.data();
        }
        for (std::size_t device = shard; device < of_.size(); device += shards_)
          of_[device].push_back(copy_to_device(client, device, type, values));
      }
    };
    for (std::size_t p = 0; p < model.parameters.size(); ++p) copy(model.parameters[p], division.of_parameter(p));
    if (!all_weights) return;
    for (WeightInfo const& info : model.states) copy(info, std::nullopt);
    for (std::size_t i = 0; i < model.frozen.size(); ++i) copy(model.frozen[i], division.of_frozen(i));
  }
  /// The results of a program that copies others.
  ArenaArrays(Executable& program, ArenaArrays const& others)
      : of_(program.devices()), divided_(others.divided_), shards_(others.shards_), replaced_(others.replaced_) {
    for (std::size_t device = 0; device < of_.size(); ++device)
      for (std::size_t index = 0; index < divided_.size(); ++index) of_[device].push_back(program.take(device, index));
  }

  /// Sets arguments of a program from `index` on. \return the index after them
  template <class Program>
  std::size_t give(Program& program, std::size_t device, std::size_t index) const {
    for (Buffer const& buffer : of_[device]) program.set(device, index++, buffer);
    return index;
  }
  /// Takes a program's results from `index` on for the arrays that it replaces. \return the index after them
  template <class Program>
  std::size_t take(Program& program, std::size_t device, std::size_t index) {
    for (std::size_t i = 0; i < replaced_; ++i) of_[device][i] = program.take(device, index++);
    return index;
  }

  /// A replica's values, laid out as an arena; waits for them.
  std::vector<T> to_host(std::size_t replica, ModelDescription const& model) const {
    std::vector<T> arena(model.arena_elements()), part;
    std::size_t const device = replica * shards_;
    std::size_t index = 0;
    auto const copy = [&](WeightInfo const& info) {
      T* const values = arena.data() + info.offset;
      if (auto const& divided = divided_[index]) {
        part.resize(info.size / shards_);
        for (std::size_t shard = 0; shard < shards_; ++shard) {
          of_[device + shard][index].to_host(part.data());
          for_each_run(*divided, shard, [&](std::size_t in_tensor, std::size_t in_part, std::size_t count) {
            std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(in_part), count, values + in_tensor);
          });
        }
      } else {
        of_[device][index].to_host(values);
      }
      ++index;
    };
    for (WeightInfo const& info : model.parameters) copy(info);
    if (index == divided_.size()) return arena;
    for (WeightInfo const& info : model.states) copy(info);
    for (WeightInfo const& info : model.frozen) copy(info);
    return arena;
  }

  /// True if the devices of a replica hold the same bits of the tensors that they do not divide, any NaN as another;
  /// waits for them.
  bool copies_agree(std::size_t replica) const {
    std::vector<T> first, other;
    for (std::size_t index = 0; index < divided_.size(); ++index) {
      if (divided_[index]) continue;
      Buffer const& buffer = of_[replica * shards_][index];
      first.resize(buffer.type().size());
      other.resize(first.size());
      buffer.to_host(first.data());
      for (std::size_t shard = 1; shard < shards_; ++shard) {
        of_[replica * shards_ + shard][index].to_host(other.data());
        bool const same = std::equal(first.begin(), first.end(), other.begin(), [](T a, T b) {
          return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
        });
        if (!same) return false;
      }
    }
    return true;
  }

  /// Elements that a device holds.
  std::size_t elements_on_device() const {
    std::size_t sum = 0;
    for (Buffer const& buffer : of_.at(0)) sum += buffer.type().size();
    return sum;
  }

 private:
  /// f(place in the tensor, place in the shard's part, count) for runs of elements of a tensor.
  template <class F>
  void for_each_run(lowering::DividedWeight const& weight, std::size_t shard, F const& f) const {
    std::size_t before = 1, count = 1;
    for (std::size_t axis = 0; axis < weight.extents.size(); ++axis)
      (axis < weight.axis ? before : count) *= weight.extents[axis];
    std::size_t const own = count / shards_;
    for (std::size_t i = 0; i < before; ++i) f(i * count + shard * own, i * own, own);
  }

  std::vector<std::vector<Buffer>> of_;              ///< by device and tensor
  std::vector<lowering::Division::Weight> divided_;  ///< by tensor
  std::size_t shards_ = 1, replaced_ = 0;
};

}  // namespace trireme::pjrt
