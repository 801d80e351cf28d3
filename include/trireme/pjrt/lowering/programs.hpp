/// Programs of a model: a training step, its two halves (gradients, update), a test step, a prediction, a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trireme/pjrt/lowering/all_reduce.hpp"
#include "trireme/pjrt/lowering/graph.hpp"
#include "trireme/pjrt/lowering/step.hpp"
#include "trireme/pjrt/lowering/update.hpp"

namespace trireme::lowering {

template <class Model>
class ModelPrograms {
  using Arguments = ModelArguments<Model>;
  using T = typename Arguments::T;

 public:
  /// `rows` of each replica, whose devices divide weights.
  ModelPrograms(Model const& model, std::size_t rows, std::size_t replicas, Division division = {})
      : arguments_(model, rows, replicas, std::move(division)), score_(arguments_), step_(arguments_) {}

  Arguments const& arguments() const { return arguments_; }
  /// Count of words that the training programs take.
  std::size_t word_count() const { return StepLayout::keys + 2 * streams().size(); }
  /// Layers that draw random numbers, in the order of their keys among the words.
  std::vector<StreamUse> const& streams() const {
    if (!found_streams_) {
      with_trace([this](Trace<T> const& trace) { streams_ = trace.streams(); });
      found_streams_ = true;
    }
    return streams_;
  }
  /// The division of the weights over so many devices.
  Division division(std::size_t shards) const {
    Division division{shards, {}, {}};
    if (shards == 1) return division;
    auto const divisible = [shards](Division::Axis axis, WeightInfo const& info) {
      return axis && info.shape.to_vector().at(*axis) % shards == 0 ? axis : std::nullopt;
    };
    with_trace([&](Trace<T> const& trace) {
      auto const& model = arguments_.model().description();
      for (std::size_t p = 0; p < trace.axes().trained.size(); ++p)
        division.trained.push_back(divisible(trace.axes().trained[p], model.parameters.at(p)));
      auto axis = trace.axes().frozen.begin();
      for (auto const& info : model.frozen)
        division.frozen.push_back(info.is_state || axis == trace.axes().frozen.end() ? std::nullopt
                                                                                     : divisible(*axis++, info));
    });
    return division;
  }

  /// (weights, frozen weights, slots, train totals, [penalty], x, y, sample weights, words, numbers) -> new values of
  /// the weights, slots, totals and penalty.
  Program train() const {
    Builder b(arguments_.division().shards);
    auto const weights = arguments_.take_weights(b), frozen = arguments_.take_frozen(b),
               slots = arguments_.take_slots(b);
    auto const totals = arguments_.take_totals(b);
    auto const penalty = arguments_.take_penalty(b);
    auto const batch = arguments_.take_batch(b, word_count());
    auto const numbers = Arguments::take_numbers(b);

    auto const [changes, sums] = step_.differentiate(b, weights, frozen, batch, numbers, false);
    auto const next = changed(b, weights, slots, sum_replicas(b, changes, arguments_.replicas()), numbers);
    Arguments::give(b, next.weights, weights);
    Arguments::give(b, next.slots, slots);
    b.result(b.add(totals, sums), totals);
    arguments_.give_penalty(b, penalty, weights, numbers);
    return b.finish();
  }

  /// (weights, frozen weights, train totals, x, y, sample weights, words, numbers) -> (train totals, all gradients and
  /// means of states in one vector). A segment ends at each sum over processes.
  SegmentedProgram gradients() const {
    Builder b(arguments_.division().shards);
    auto const weights = arguments_.take_weights(b), frozen = arguments_.take_frozen(b);
    auto const totals = arguments_.take_totals(b);
    auto const batch = arguments_.take_batch(b, word_count());
    auto const numbers = Arguments::take_numbers(b);
    auto const [changes, sums] = step_.differentiate(b, weights, frozen, batch, numbers, true);
    b.result(b.add(totals, sums), totals);
    Tensors<T> vectors;
    for (auto const& change : sum_replicas(b, changes, arguments_.replicas()))
      vectors.push_back(b.reshape(change, AnyExtents{{size(change)}}));
    b.result(b.concatenate(vectors));
    return b.finish_segments();
  }

  /// (weights, frozen weights, slots, [penalty], that vector, numbers) -> new values of the weights, slots
  /// and penalty.
  Program apply() const {
    Builder b(arguments_.division().shards);
    auto const weights = arguments_.take_weights(b), frozen = arguments_.take_frozen(b),
               slots = arguments_.take_slots(b);
    auto const penalty = arguments_.take_penalty(b);
    auto const all = b.argument<T>(AnyExtents{{arguments_.change_size()}});
    auto const numbers = Arguments::take_numbers(b);
    Tensors<T> changes;
    std::size_t begin = 0;
    for (auto const& weight : weights) {
      std::size_t const end = begin + size(weight);
      changes.push_back(b.reshape(b.slice(all, AnyExtents{{end - begin}}, {{begin, end, 1}}), weight.extents));
      begin = end;
    }
    auto const next = changed(b, weights, slots, changes, numbers);
    Arguments::give(b, next.weights, weights);
    Arguments::give(b, next.slots, slots);
    arguments_.give_penalty(b, penalty, weights, numbers);
    return b.finish();
  }

  /// (weights, frozen weights, test totals, x, y, sample weights, words) -> test totals.
  Program test() const {
    Builder b(arguments_.division().shards);
    auto const weights = arguments_.take_weights(b), frozen = arguments_.take_frozen(b);
    auto const totals = arguments_.take_totals(b);
    auto const batch = arguments_.take_batch(b, StepLayout::keys);
    Trace<T> trace = step_.trace_of(b, weights, frozen, false);
    auto const forward_pass = step_.forward(trace, batch, false);
    b.result(b.add(totals, score_.score(b, forward_pass.y, batch, score_.unscaled(b)).totals), totals);
    return b.finish();
  }

  /// (weights, frozen weights, x) -> (rows, outputs).
  Program predict() const {
    Builder b(arguments_.division().shards);
    auto const weights = arguments_.take_weights(b), frozen = arguments_.take_frozen(b);
    auto const x = arguments_.take_input(b);
    Trace<T> trace = step_.trace_of(b, weights, frozen, false);
    auto const y = lower_graph(trace, layers_of(arguments_.model()), x, false).y;
    b.result(score_.predictions(b, y));
    return b.finish();
  }

  /// (weights, frozen weights) -> copies of them.
  Program copy() const {
    Builder b(arguments_.division().shards);
    for (auto const& weight : arguments_.take_weights(b)) b.result(weight);
    for (auto const& weight : arguments_.take_frozen(b)) b.result(weight);
    return b.finish();
  }

 private:
  static constexpr std::size_t max_streams = 1024;

  /// f(trace) of a training step's forward pass.
  template <class F>
  void with_trace(F const& f) const {
    Builder b;
    auto const batch = arguments_.take_batch(b, StepLayout::keys + 2 * max_streams);
    auto const weights = arguments_.take_weights(b), frozen = arguments_.take_frozen(b);
    Trace<T> trace = step_.trace_of(b, weights, frozen, true);
    step_.forward(trace, batch, false);
    f(trace);
  }

  static std::size_t size(Value<T, AnyExtents> const& value) { return tensor_type<T>(value.extents.values).size(); }

  /// Weights and slots after a step. `changes`: gradients, and the means that states move towards.
  template <class Numbers>
  Updated<T> changed(Builder& b, Tensors<T> const& weights, Tensors<T> const& slots, Tensors<T> const& changes,
                     Numbers const& numbers) const {
    auto const& states = arguments_.model().description().states;
    auto const parameters = static_cast<std::ptrdiff_t>(arguments_.infos().size());
    auto const first = [&](Tensors<T> const& all) { return Tensors<T>(all.begin(), all.begin() + parameters); };
    auto next = update(b, arguments_.model().optimizer(), arguments_.infos(), first(weights), slots, first(changes),
                       optimizer_numbers(b, numbers));
    for (std::size_t i = 0; i < states.size(); ++i) {
      T const decay = static_cast<T>(states[i].decay);
      next.weights.push_back(b.add(b.scale(weights[arguments_.infos().size() + i], decay),
                                   b.scale(changes[arguments_.infos().size() + i], T{1} - decay)));
    }
    return next;
  }

  template <class Numbers>
  static std::vector<Scalar<T>> optimizer_numbers(Builder& b, Numbers const& numbers) {
    std::vector<Scalar<T>> result;
    for (std::size_t i = Arguments::Numbers::optimizer; i < Arguments::number_count; ++i)
      result.push_back(b.convert<T>(b.element(numbers, i)));
    return result;
  }

  Arguments arguments_;
  ModelScore<Model> score_;
  ModelStep<Model> step_;
  mutable std::vector<StreamUse> streams_;
  mutable bool found_streams_ = false;
};

}  // namespace trireme::lowering
