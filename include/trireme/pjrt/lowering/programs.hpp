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
    with_trace([&](Trace<T> const& trace) {
      auto const& [trained, frozen] = trace.divisible();
      for (auto const& weight : trained) division.trained.push_back(Division::divided(weight, shards));
      auto weight = frozen.begin();
      for (auto const& info : arguments_.model().description().frozen)
        division.frozen.push_back(info.is_state || weight == frozen.end() ? std::nullopt
                                                                          : Division::divided(*weight++, shards));
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
      vectors.push_back(b.reshape(b.whole(change), AnyExtents{{size(change)}}));
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
    auto next = update(b, arguments_.model().optimizer(), arguments_.infos(), apart(b, first(weights)), apart(b, slots),
                       apart(b, whole(b, first(changes))), optimizer_numbers(b, numbers));
    together(b, next.weights, weights);
    together(b, next.slots, slots);
    for (std::size_t i = 0; i < states.size(); ++i) {
      T const decay = static_cast<T>(states[i].decay);
      next.weights.push_back(b.add(b.scale(weights[arguments_.infos().size() + i], decay),
                                   b.scale(changes[arguments_.infos().size() + i], T{1} - decay)));
    }
    return next;
  }

  /// True if the devices of a replica hold copies of tensor `i` of those that follow the table of parameters.
  bool is_copied(std::size_t i) const {
    return arguments_.division().shards > 1 && !arguments_.division().of_parameter(i % arguments_.infos().size());
  }
  /// Gradients, whole where the weights are.
  Tensors<T> whole(Builder& b, Tensors<T> gradients) const {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (is_copied(i)) gradients[i] = b.whole(gradients[i]);
    return gradients;
  }
  /// Tensors with another axis where they are whole. The compiler shares the broadcasts of an optimizer's numbers
  /// between tensors of the same extents, and would divide whole tensors as it does others, to gather each result.
  Tensors<T> apart(Builder& b, Tensors<T> tensors) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!is_copied(i)) continue;
      AnyExtents extents = tensors[i].extents;
      extents.values.insert(extents.values.begin(), 1);
      tensors[i] = b.reshape(tensors[i], extents);
    }
    return tensors;
  }
  /// The inverse of `apart`: tensors with the extents of others.
  static void together(Builder& b, Tensors<T>& tensors, Tensors<T> const& others) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].extents.values != others[i].extents.values) tensors[i] = b.reshape(tensors[i], others[i].extents);
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
