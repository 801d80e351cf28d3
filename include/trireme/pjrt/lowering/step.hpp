/// The mathematics of a step within a program: forward, loss and metrics, backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "trireme/pjrt/lowering/arguments.hpp"
#include "trireme/pjrt/lowering/graph.hpp"
#include "trireme/pjrt/lowering/score.hpp"
#include "trireme/pjrt/lowering/trace.hpp"

namespace trireme::lowering {

/// Step of a model. A program has a fixed number of rows. A batch with fewer is padded, and the number of its rows is
/// an argument: padded rows take no part in loss, gradients, counts or metrics.
template <class Model>
class ModelStep : public ModelScore<Model> {
  using Base = ModelScore<Model>;

 protected:
  using Base::Base;
  using Base::infos;
  using Base::model_;
  using Base::scales;
  using Base::score;
  using typename Base::T;

  /// A trace that hands the weights to the layers; `frozen`: all frozen ones.
  Trace<T> trace_of(Builder& b, Tensors<T> weights, Tensors<T> const& frozen, bool training) const {
    Tensors<T> frozen_parameters;
    for (std::size_t i = 0; i < frozen.size(); ++i)
      if (!model_.description().frozen[i].is_state) frozen_parameters.push_back(frozen[i]);
    std::optional<NumberFormat> stored;
    if constexpr (requires { typename Model::storage; }) {
      stored = number_format<typename Model::storage>;
      for (auto* const tensors : {&weights, &frozen_parameters})
        for (auto& tensor : *tensors) tensor = b.round(tensor, *stored);
    }
    return Trace<T>(b, std::move(weights), std::move(frozen_parameters), training, stored);
  }

  template <class Batch>
  auto forward(Trace<T>& trace, Batch const& batch) const {
    Builder& b = trace.builder();
    auto const low = b.convert<std::uint64_t>(b.element(batch.words, StepLayout::first_row));
    auto const high = b.convert<std::uint64_t>(b.element(batch.words, StepLayout::first_row + 1));
    auto const shifted = b.binary<"shift_left">(high, b.constant<std::uint64_t>(32));
    trace.set_random(batch.words, StepLayout::keys, b.binary<"or">(shifted, low));
    return lower_graph(trace, layers_of(model_), batch.x, false);
  }

  /// Gradients of this replica's rows, and its totals.
  template <class Batch, class Numbers>
  auto differentiate(Builder& b, Tensors<T> const& weights, Tensors<T> const& frozen, Batch const& batch,
                     Numbers const& numbers) const {
    Trace<T> trace = trace_of(b, weights, frozen, true);
    auto const pass = forward(trace, batch);
    auto const scored = score(b, pass.y, batch, scales(b, numbers));
    pass.nodes->backward(trace, scored.gradients);
    return std::pair{trace.gradients([&](std::size_t index) { return infos()[index].path; }), scored.totals};
  }
};

}  // namespace trireme::lowering
