/// Roles under ParameterServerStrategy: workers, servers, and the range of the arena of each server.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"

namespace trireme {

/// Workers come first, then the servers, then the evaluator. A single process is both worker and server.
struct ServerRoles {
  std::size_t ranks = 1, workers = 1, servers = 1;
  bool evaluator = false;

  /// \throws ValueError if no rank is left for a worker.
  static ServerRoles of(std::size_t ranks, std::size_t servers, bool evaluator);

  /// True if the rank trains on rows of the batches.
  bool is_worker(std::size_t rank) const { return rank < workers; }
  /// True if the rank updates a range of the weights.
  bool is_server(std::size_t rank) const { return ranks == 1 || (rank >= workers && rank < workers + servers); }
  /// True if the rank runs tests and predictions alone.
  bool is_evaluator(std::size_t rank) const { return evaluator && rank + 1 == ranks; }
  /// Workers and the evaluator hold all weights.
  bool is_replica(std::size_t rank) const { return is_worker(rank) || is_evaluator(rank); }
  /// Rank of a server.
  std::size_t server_rank(std::size_t server) const { return ranks == 1 ? 0 : workers + server; }
  /// Index of the server that a rank is.
  std::size_t server_index(std::size_t rank) const { return ranks == 1 ? 0 : rank - workers; }
};

/// Elements [begin, end) of the arena.
struct ElementRange {
  std::size_t begin = 0, end = 0;
  /// Number of elements.
  std::size_t size() const { return end - begin; }
};

/// Cuts the elements of an arena that a step changes (parameters and states, not frozen weights) into ranges of about
/// the same size, one per server: between two tensors if one ends near enough, so that no range is larger than the even
/// one by more than a quarter, otherwise within a tensor.
///
/// \param alignment  ranges begin at multiples of so many elements.
std::vector<ElementRange> cut_arena(ModelDescription const& model, std::size_t servers, std::size_t alignment);

/// The part of a model's description that lies in a range, with offsets from the range's beginning. Parameters that lie
/// outside are listed with no elements, so that all servers list the same ones.
ModelDescription describe_range(ModelDescription const& model, ElementRange range);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/strategies/parameter_server/server_roles.ipp"
#endif
