/// The fixed tree of the sums over a batch's shards, independent of the processes that hold them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"

namespace trireme {

/// Sums over `shards` summands: a node of the tree adds up its two halves; if they differ, the first is the longer one.
/// Process r of n has the shards [shards * r / n, shards * (r + 1) / n).
template <class Group>
class ShardTree {
 public:
  /// Tree over `shards` summands of the processes of a group.
  ShardTree(Group const& group, std::size_t shards)
      : group_(&group),
        own_{first_shard(shards, group.rank(), group.size()), first_shard(shards, group.rank() + 1, group.size())} {
    std::vector<std::size_t> owners(shards);
    for (std::size_t rank = 0; rank < group.size(); ++rank)
      for (std::size_t s = first_shard(shards, rank, group.size()); s < first_shard(shards, rank + 1, group.size());
           ++s)
        owners[s] = rank;
    add_node({0, shards}, owners);
  }

  /// First shard of a rank; its last one is before that of the next rank.
  static constexpr std::size_t first_shard(std::size_t shards, std::size_t rank, std::size_t ranks) {
    return shards * rank / ranks;
  }

  /// Shards of this process.
  RowRange const& own() const { return own_; }
  /// Number of shards of this process.
  std::size_t partitions() const { return own_.end - own_.begin; }

  /// Sums of nodes within this process: a partition for each of its shards.
  std::vector<PartitionPair> const& local() const { return local_; }

  /// The other sums, after the local ones: partition 0 becomes the sum over all shards, on all processes.
  /// `values(partition)` points to n numbers in host memory; `received` is room for as many. Collective.
  template <class T, class Values>
  void combine(Values const& values, std::size_t n, std::vector<T>& received) const {
    if constexpr (sends<T>) {
      received.resize(n);
      for (Exchange const& exchange : exchanges_) {
        if (exchange.kind == Exchange::send) {
          group_->send(std::span<T const>(values(exchange.partition), n), exchange.other);
          continue;
        }
        T const* from = received.data();
        if (exchange.kind == Exchange::receive)
          group_->receive(std::span<T>(received), exchange.other);
        else
          from = values(exchange.other);
        T* const to = values(exchange.partition);
        for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
      }
      group_->broadcast(std::span<T>(values(0), n));
    }
  }

  /// All sums, for rows of n numbers, one a partition: the first becomes the sum over all shards. Collective.
  template <class T>
  void sum(std::vector<T>& rows, std::size_t n, std::vector<T>& received) const {
    for (PartitionPair const& s : local_)
      for (std::size_t i = 0; i < n; ++i) rows[s.to * n + i] += rows[s.from * n + i];
    combine([&](std::size_t partition) { return rows.data() + partition * n; }, n, received);
  }

 private:
  template <class T>
  static constexpr bool sends =
      requires(Group const& group, std::span<T> values) { group.send(values, std::size_t{0}); };

  /// A node that another process has a part of: `partition` is sent to `other`, or adds what `other` sends, or adds the
  /// values of the partition `other`.
  struct Exchange {
    enum Kind { send, receive, add } kind;
    std::size_t partition, other;
  };

  void add_node(RowRange const& node, std::vector<std::size_t> const& owners) {
    if (node.end - node.begin < 2) return;
    std::size_t const middle = (node.begin + node.end + 1) / 2, rank = group_->rank();
    add_node({node.begin, middle}, owners);
    add_node({middle, node.end}, owners);
    std::size_t const to = owners[node.begin], from = owners[middle];
    std::size_t const first = node.begin - own_.begin, second = middle - own_.begin;
    if (to == rank && owners[node.end - 1] == rank)
      local_.push_back({first, second});
    else if (to == rank)
      exchanges_.push_back(from == rank ? Exchange{Exchange::add, first, second}
                                        : Exchange{Exchange::receive, first, from});
    else if (from == rank)
      exchanges_.push_back({Exchange::send, second, to});
  }

  Group const* group_;
  RowRange own_;
  std::vector<PartitionPair> local_;
  std::vector<Exchange> exchanges_;
};

}  // namespace trireme
