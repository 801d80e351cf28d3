/// Every rank's array, on every rank, in memory that is there already.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trireme/mpi/communicator.hpp"

namespace trireme {

/// Messages between all pairs of ranks, with a count of what this rank sends. Reuses its memory.
class AllToAll {
 public:
  explicit AllToAll(Communicator const& communicator) : communicator_(&communicator) {}

  std::size_t rank() const { return communicator_->rank(); }
  std::size_t ranks() const { return communicator_->size(); }
  /// Payload of all messages of this rank so far.
  std::uint64_t bytes_sent() const { return bytes_; }

  /// Starts sending to rank `to`; `values` must stay until `wait`. Nothing travels if there are none.
  template <class T>
  void send(std::size_t to, std::span<T const> values, int tag) {
    if (values.empty()) return;
    bytes_ += values.size_bytes();
    requests_.push(communicator_->isend(values, to, tag));
  }
  /// The other side of `send`, with a span of the same length.
  template <class T>
  void receive(std::size_t from, std::span<T> values, int tag) {
    if (!values.empty()) requests_.push(communicator_->ireceive(values, from, tag));
  }
  /// Returns when all that was started is complete.
  void wait() { requests_.wait_all(); }

  /// Starts giving `own` to all, and collecting all ranks' arrays, which have the same length, in `all` by rank.
  template <class T>
  void gather(std::span<T const> own, std::span<T> all, int tag) {
    for (std::size_t other = 0; other < ranks(); ++other)
      if (other != rank()) receive(other, all.subspan(other * own.size(), own.size()), tag);
    for (std::size_t other = 0; other < ranks(); ++other)
      if (other != rank()) send(other, own, tag);
    std::ranges::copy(own, all.subspan(rank() * own.size()).begin());
  }

 private:
  Communicator const* communicator_;
  Requests requests_;
  std::uint64_t bytes_ = 0;
};

}  // namespace trireme
