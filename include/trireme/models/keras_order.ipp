/// Definitions of trireme/models/keras_order.hpp.
#pragma once

#include "trireme/models/keras_order.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/linkage.hpp"
#include "trireme/models/layer_names.hpp"
#include "trireme/models/weight_table.hpp"

namespace trireme::detail {

/// Order of what stands in one model: its layers, its joins, and the models nested in it, each of which is one layer.
class KerasOrder {
 public:
  static constexpr std::size_t none = KerasModels::none;

  KerasOrder(KerasModels const& models, std::vector<StepCall> const& calls, std::vector<StepResults> const& results,
             std::size_t model)
      : models_(models), model_(model) {
    std::vector<std::size_t> nodes;
    std::size_t begin = models.steps().size(), end = 0;  // of its steps
    for (StepCall const& call : calls) {
      nodes.push_back(node_of(call));
      if (nodes.back() == none) continue;
      begin = std::min(begin, call.step);
      end = std::max(end, call.step + 1);
    }
    for (StepResults const& made : results)
      if (made.begin == begin && made.end == end)
        for (std::size_t const call : made.calls) connect(nodes[call], none);
    for (std::size_t call = 0; call < calls.size(); ++call)
      for (std::size_t const from : calls[call].from) connect(nodes[from], nodes[call]);
  }

  /// Numbers of steps, or behind those of all steps of models. What no output comes from stands last.
  std::vector<std::size_t> operations() {
    for (std::size_t const output : outputs_) search(output);
    std::map<std::size_t, std::size_t> depths;
    for (std::size_t i = finished_.size(); i-- > 0;) {
      Node& node = nodes_[finished_[i]];
      std::size_t& depth = depths[node.operation];
      depth = node.depth = std::max(depth, node.depth);
      for (std::size_t const from : node.from) nodes_[from].depth = std::max(nodes_[from].depth, depth + 1);
    }
    for (Node const& node : nodes_)
      if (std::ranges::find(met_, node.operation) == met_.end()) met_.push_back(node.operation);
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> ordered;  // the deepest first, then as they were met
    for (std::size_t i = 0; i < met_.size(); ++i) {
      auto const depth = depths.find(met_[i]);
      ordered[{depth == depths.end() ? none : none - 1 - depth->second, i}] = met_[i];
    }
    std::vector<std::size_t> operations;
    for (auto const& [place, operation] : ordered) operations.push_back(operation);
    return operations;
  }

 private:
  /// One call of an operation.
  struct Node {
    std::size_t operation;
    std::vector<std::size_t> from{};
    std::size_t depth = 0;
    bool is_met = false;
  };

  /// The node that a call is part of, if it is one of the model's where it runs first.
  std::size_t node_of(StepCall const& call) {
    KerasModels::Step const& step = models_.steps()[call.step];
    std::size_t operation = call.step, eaches = step.eaches, model = step.model;
    while (model != model_) {
      if (model == KerasModels::outermost) return none;
      operation = models_.steps().size() + model;
      eaches = models_.models()[model].eaches;
      model = models_.models()[model].parent;
    }
    auto const own = call.parts.begin() + static_cast<std::ptrdiff_t>(models_.models()[model_].eaches);
    if (std::any_of(call.parts.begin(), own, [](std::size_t part) { return part != 0; })) return none;
    std::vector<std::size_t> const parts(own, call.parts.begin() + static_cast<std::ptrdiff_t>(eaches));
    auto const [found, is_new] = numbers_.try_emplace(std::pair(operation, parts), nodes_.size());
    if (is_new) nodes_.push_back({operation});
    return found->second;
  }

  void connect(std::size_t from, std::size_t to) {
    if (from == none || from == to) return;
    auto& known = to == none ? outputs_ : nodes_[to].from;
    if (std::ranges::find(known, from) == known.end()) known.push_back(from);
  }

  /// Lists what `first` comes from: operations when they are met, and nodes when all before them are finished.
  void search(std::size_t first) {
    Node& node = nodes_[first];
    if (std::exchange(node.is_met, true)) return;
    if (std::ranges::find(met_, node.operation) == met_.end()) met_.push_back(node.operation);
    for (std::size_t const from : node.from) search(from);
    finished_.push_back(first);
  }

  KerasModels const& models_;
  std::size_t model_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> outputs_, met_, finished_;
  std::map<std::pair<std::size_t, std::vector<std::size_t>>, std::size_t> numbers_;  ///< nodes by operation and parts
};

TRIREME_INLINE void place_as_keras(ModelDescription& description, KerasModels const& models,
                                   std::vector<StepCall> const& calls, std::vector<StepResults> const& results) {
  std::size_t rank = 0;
  std::function<void(std::size_t, std::string const&)> const place = [&](std::size_t model, std::string const& path) {
    LayerNames names;
    for (std::size_t const operation : KerasOrder(models, calls, results, model).operations()) {
      if (operation >= models.steps().size()) {
        std::size_t const nested = operation - models.steps().size();
        place(nested, path + "layers/" + names.next(models.models()[nested].class_name) + "/");
      } else if (std::size_t const row = models.steps()[operation].layer; row != KerasModels::none) {
        LayerInfo& layer = description.layers[row];
        layer.keras_path = path + "layers/" + names.next(layer.class_name);
        layer.keras_rank = rank++;
      }
    }
  };
  place(KerasModels::outermost, "");
}

}  // namespace trireme::detail
