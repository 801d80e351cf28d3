/// Definitions of trireme/strategies/parameter_server/server_roles.hpp.
#pragma once

#include "trireme/strategies/parameter_server/server_roles.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"

namespace trireme {

TRIREME_INLINE ServerRoles ServerRoles::of(std::size_t ranks, std::size_t servers, bool evaluator) {
  require_in(intervals::positive_count, "ParameterServerOptions::servers", static_cast<double>(servers));
  if (ranks == 1) return {};
  std::size_t const others = servers + (evaluator ? 1 : 0);
  if (others >= ranks)
    throw ValueError(formatted("ParameterServerStrategy: {} server{}{} leave no worker among {} ranks", servers,
                               servers == 1 ? "" : "s", evaluator ? " and an evaluator" : "", ranks));
  return {ranks, ranks - others, servers, evaluator};
}

TRIREME_INLINE std::vector<ElementRange> cut_arena(ModelDescription const& model, std::size_t servers,
                                                   std::size_t alignment) {
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

TRIREME_INLINE ModelDescription describe_range(ModelDescription const& model, ElementRange range) {
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
