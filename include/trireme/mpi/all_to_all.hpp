/// AllToAll: exchange of arrays between all ranks, into memory that the caller provides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trireme/mpi/communicator.hpp"

namespace trireme {

/// Messages between all pairs of ranks, with a count of the bytes that this rank sends. Reuses its memory.
class AllToAll {
 public:
  /// Messages among the ranks of a communicator, which has to outlive this object.
  explicit AllToAll(Communicator const& communicator) : communicator_(&communicator) {}

  /// Rank of this process.
  std::size_t rank() const { return communicator_->rank(); }
  /// Number of ranks.
  std::size_t ranks() const { return communicator_->size(); }
  /// Payload of all messages of this rank so far.
  std::uint64_t bytes_sent() const { return bytes_; }

  /// Starts sending to rank `to`; `values` must stay until `wait`. Sends no message if `values` is empty.
  template <class T>
  void send(std::size_t to, std::span<T const> values, int tag) {
    if (values.empty()) return;
    bytes_ += values.size_bytes();
    requests_.push(communicator_->isend(values, to, tag));
  }
  /// Starts receiving what rank `from` sends; `values` has the length of the sender's span.
  template <class T>
  void receive(std::size_t from, std::span<T> values, int tag) {
    if (!values.empty()) requests_.push(communicator_->ireceive(values, from, tag));
  }
  /// Returns when all started messages are complete.
  void wait() { requests_.wait_all(); }

  /// Starts an all-gather: sends `own` to all ranks and collects their arrays, of the same length, in `all` by rank.
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
