/// The mathematics of a step within a program: forward, loss and metrics, backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "trireme/pjrt/lowering/arguments.hpp"
#include "trireme/pjrt/lowering/graph.hpp"
#include "trireme/pjrt/lowering/score.hpp"
#include "trireme/pjrt/lowering/trace.hpp"
#include "trireme/tensor/bfloat16.hpp"

namespace trireme::lowering {

/// Step of a model. A program has a fixed number of rows. A batch with fewer is padded, and the number of its rows is
/// an argument: padded rows take no part in loss, gradients, counts or metrics.
template <class Model>
class ModelStep {
  using Arguments = ModelArguments<Model>;
  using T = typename Arguments::T;

 public:
  explicit ModelStep(Arguments const& arguments) : arguments_(arguments), score_(arguments) {}

  /// A trace that hands the weights to the layers; `frozen`: all frozen ones.
  Trace<T> trace_of(Builder& b, Tensors<T> const& weights, Tensors<T> const& frozen, bool training) const {
    typename Trace<T>::LayerWeights trained, untrained;
    for (std::size_t i = 0; i < weights.size(); ++i)
      (i < arguments_.infos().size() ? trained.parameters : trained.states).push_back(weights[i]);
    for (std::size_t i = 0; i < frozen.size(); ++i)
      (arguments_.model().description().frozen[i].is_state ? untrained.states : untrained.parameters)
          .push_back(frozen[i]);
    std::optional<NumberFormat> stored;
    if constexpr (requires { typename Model::storage; }) {
      stored = number_format<typename Model::storage>;
      if (std::is_same_v<typename Model::storage, BFloat16>) b.allow_short_operands();
      for (auto* const tensors : {&trained.parameters, &untrained.parameters})
        for (auto& tensor : *tensors) tensor = b.round(tensor, *stored);
    }
    return Trace<T>(b, std::move(trained), std::move(untrained), training, stored);
  }

  /// \param several_processes  true if other processes have rows of the global batch
  template <class Batch>
  auto forward(Trace<T>& trace, Batch const& batch, bool several_processes) const {
    Builder& b = trace.builder();
    auto const low = b.convert<std::uint64_t>(b.element(batch.words, StepLayout::first_row));
    auto const high = b.convert<std::uint64_t>(b.element(batch.words, StepLayout::first_row + 1));
    auto const shifted = b.binary<"shift_left">(high, b.constant<std::uint64_t>(32));
    trace.set_random(batch.words, StepLayout::keys, b.binary<"or">(shifted, low));
    if (!arguments_.model().description().states.empty() && trace.training()) {
      auto const own = b.element(batch.words, StepLayout::rows), all = b.element(batch.words, StepLayout::global_rows);
      Extents<dynamic> const rows{{arguments_.rows()}};
      auto const there = b.compare<"LT">(b.iota<std::uint32_t>(0, rows), b.fill(own, rows));
      auto const global_rows = b.convert<double>(all);
      trace.set_rows({there, b.convert<T>(b.divide(b.convert<double>(own), global_rows)), global_rows,
                      arguments_.replicas(), several_processes});
    }
    return lower_graph(trace, layers_of(arguments_.model()), batch.x, false);
  }

  /// Gradients of this replica's rows followed by their part of the means that states move towards, and its totals.
  template <class Batch, class Numbers>
  auto differentiate(Builder& b, Tensors<T> const& weights, Tensors<T> const& frozen, Batch const& batch,
                     Numbers const& numbers, bool several_processes) const {
    Trace<T> trace = trace_of(b, weights, frozen, true);
    auto const pass = forward(trace, batch, several_processes);
    auto const scored = score_.score(b, pass.y, batch, score_.scales(b, numbers));
    pass.nodes->backward(trace, scored.gradients);
    auto changes = trace.gradients([&](std::size_t index) { return arguments_.infos()[index].path; });
    for (auto const& mean : trace.state_means()) changes.push_back(mean);
    return std::pair{std::move(changes), scored.totals};
  }

 private:
  Arguments arguments_;
  ModelScore<Model> score_;
};

}  // namespace trireme::lowering
