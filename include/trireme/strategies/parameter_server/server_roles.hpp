/// Roles under ParameterServerStrategy: workers, servers, and the range of the arena of each server.
#pragma once

#include <algorithm>
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
  static ServerRoles of(std::size_t ranks, std::size_t servers, bool evaluator) {
    require_in(intervals::positive_count, "ParameterServerOptions::servers", static_cast<double>(servers));
    if (ranks == 1) return {};
    std::size_t const others = servers + (evaluator ? 1 : 0);
    if (others >= ranks)
      throw ValueError(formatted("ParameterServerStrategy: {} server{}{} leave no worker among {} ranks", servers,
                                 servers == 1 ? "" : "s", evaluator ? " and an evaluator" : "", ranks));
    return {ranks, ranks - others, servers, evaluator};
  }

  bool is_worker(std::size_t rank) const { return rank < workers; }
  bool is_server(std::size_t rank) const { return ranks == 1 || (rank >= workers && rank < workers + servers); }
  bool is_evaluator(std::size_t rank) const { return evaluator && rank + 1 == ranks; }
  /// Workers and the evaluator hold all weights.
  bool is_replica(std::size_t rank) const { return is_worker(rank) || is_evaluator(rank); }
  std::size_t server_rank(std::size_t server) const { return ranks == 1 ? 0 : workers + server; }
  std::size_t server_index(std::size_t rank) const { return ranks == 1 ? 0 : rank - workers; }
};

/// Elements [begin, end) of the arena.
struct ElementRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// Cuts the elements of an arena that a step changes (parameters and states, not frozen weights) into ranges of about
/// the same size, one per server: between two tensors if one ends near enough, so that no range is larger than the even
/// one by more than a quarter, otherwise within a tensor.
///
/// \param alignment  ranges begin at multiples of so many elements.
inline std::vector<ElementRange> cut_arena(ModelDescription const& model, std::size_t servers, std::size_t alignment) {
  std::size_t const total = model.reduced_elements();
  std::vector<std::size_t> ends;
  auto const note = [&](auto const& infos) {
    for (WeightInfo const& info : infos) ends.push_back(info.offset);
  };
  note(model.parameters);
  note(model.states);
  std::vector<ElementRange> ranges;
  std::size_t begin = 0;
  for (std::size_t server = 1; server <= servers; ++server) {
    std::size_t end = server == servers ? total : total / servers * server + total % servers * server / servers;
    if (server < servers) {
      std::size_t const slack = total / (8 * servers);
      auto const distance = [end](std::size_t at) { return at > end ? at - end : end - at; };
      auto const nearest =
          std::min_element(ends.begin(), ends.end(), [&](auto a, auto b) { return distance(a) < distance(b); });
      end = nearest != ends.end() && distance(*nearest) <= slack ? *nearest : end / alignment * alignment;
    }
    end = std::max(end, begin);
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

/// The part of a model's description that lies in a range, with offsets from the range's beginning. Parameters that lie
/// outside are listed with no elements, so that all servers list the same ones.
inline ModelDescription describe_range(ModelDescription const& model, ElementRange range) {
  ModelDescription part = model;
  auto const cut = [&](WeightInfo& info) {
    std::size_t const begin = std::clamp(info.offset, range.begin, range.end);
    std::size_t const end = std::clamp(info.offset + info.size, range.begin, range.end);
    info.offset = begin - range.begin;
    info.size = end - begin;
  };
  for (WeightInfo& info : part.parameters) cut(info);
  for (WeightInfo& info : part.states) cut(info);
  std::size_t const trained = std::clamp(model.elements, range.begin, range.end);
  part.elements = trained - range.begin;
  part.state_elements = range.end - trained;
  part.frozen.clear();
  part.frozen_elements = 0;
  return part;
}

}  // namespace trireme
