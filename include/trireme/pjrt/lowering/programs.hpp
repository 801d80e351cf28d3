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
class ModelPrograms : public ModelStep<Model> {
  using Base = ModelStep<Model>;
  using Base::differentiate;
  using Base::forward;
  using Base::give;
  using Base::give_penalty;
  using Base::infos;
  using Base::model_;
  using Base::predictions;
  using Base::rows_;
  using Base::score;
  using Base::take_batch;
  using Base::take_frozen;
  using Base::take_input;
  using Base::take_parameters;
  using Base::take_penalty;
  using Base::take_slots;
  using Base::take_totals;
  using Base::trace_of;
  using Base::unscaled;
  using typename Base::T;
  using Optimizer = typename Model::Optimizer;

 public:
  using Base::gradient_size;

  /// `rows` of each replica.
  ModelPrograms(Model const& model, std::size_t rows, std::size_t replicas) : Base(model, rows), replicas_(replicas) {}

  using Base::number_count;
  /// Count of words that the training programs take.
  std::size_t word_count() const { return StepLayout::keys + 2 * streams().size(); }
  /// Layers that draw random numbers, in the order of their keys among the words.
  std::vector<StreamUse> const& streams() const {
    if (!found_streams_) {
      Builder b;
      auto const arguments = take_batch(b, StepLayout::keys + 2 * max_streams);
      auto const weights = take_parameters(b), frozen = take_frozen(b);
      Trace<T> trace = trace_of(b, weights, frozen, true);
      forward(trace, arguments);
      streams_ = trace.streams();
      found_streams_ = true;
    }
    return streams_;
  }

  /// (weights, frozen weights, slots, train totals, [penalty], x, y, sample weights, words, numbers) -> new values of
  /// the weights, slots, totals and penalty.
  Program train() const {
    Builder b;
    auto const weights = take_parameters(b), frozen = take_frozen(b), slots = take_slots(b);
    auto const totals = take_totals(b);
    auto const penalty = take_penalty(b);
    auto const arguments = take_batch(b, word_count());
    auto const numbers = b.argument<double>(Extents<number_count>{});

    auto const [gradients, sums] = differentiate(b, weights, frozen, arguments, numbers);
    auto const next = update(b, model_.optimizer(), infos(), weights, slots, sum_replicas(b, gradients, replicas_),
                             optimizer_numbers(b, numbers));
    give(b, next.weights, weights);
    give(b, next.slots, slots);
    b.result(b.add(totals, sums), totals);
    give_penalty(b, penalty, weights, numbers);
    return b.finish();
  }

  /// (weights, frozen weights, train totals, x, y, sample weights, words, numbers) -> (train totals, all gradients in
  /// one vector).
  Program gradients() const {
    Builder b;
    auto const weights = take_parameters(b), frozen = take_frozen(b);
    auto const totals = take_totals(b);
    auto const arguments = take_batch(b, word_count());
    auto const numbers = b.argument<double>(Extents<number_count>{});
    auto const [gradients, sums] = differentiate(b, weights, frozen, arguments, numbers);
    b.result(b.add(totals, sums), totals);
    Tensors<T> vectors;
    for (auto const& gradient : sum_replicas(b, gradients, replicas_))
      vectors.push_back(b.reshape(gradient, AnyExtents{{size(gradient)}}));
    b.result(b.concatenate(vectors));
    return b.finish();
  }

  /// (weights, frozen weights, slots, [penalty], gradients in one vector, numbers) -> new values of the weights, slots
  /// and penalty.
  Program apply() const {
    Builder b;
    auto const weights = take_parameters(b), frozen = take_frozen(b), slots = take_slots(b);
    auto const penalty = take_penalty(b);
    auto const all = b.argument<T>(AnyExtents{{gradient_size()}});
    auto const numbers = b.argument<double>(Extents<number_count>{});
    Tensors<T> gradients;
    std::size_t begin = 0;
    for (auto const& weight : weights) {
      std::size_t const end = begin + size(weight);
      gradients.push_back(b.reshape(b.slice(all, AnyExtents{{end - begin}}, {{begin, end, 1}}), weight.extents));
      begin = end;
    }
    auto const next = update(b, model_.optimizer(), infos(), weights, slots, gradients, optimizer_numbers(b, numbers));
    give(b, next.weights, weights);
    give(b, next.slots, slots);
    give_penalty(b, penalty, weights, numbers);
    return b.finish();
  }

  /// (weights, frozen weights, test totals, x, y, sample weights, words) -> test totals.
  Program test() const {
    Builder b;
    auto const weights = take_parameters(b), frozen = take_frozen(b);
    auto const totals = take_totals(b);
    auto const arguments = take_batch(b, StepLayout::keys);
    Trace<T> trace = trace_of(b, weights, frozen, false);
    auto const forward_pass = forward(trace, arguments);
    b.result(b.add(totals, score(b, forward_pass.y, arguments, unscaled(b)).totals), totals);
    return b.finish();
  }

  /// (weights, frozen weights, x) -> (rows, outputs).
  Program predict() const {
    Builder b;
    auto const weights = take_parameters(b), frozen = take_frozen(b);
    auto const x = take_input(b);
    Trace<T> trace = trace_of(b, weights, frozen, false);
    auto const y = lower_graph(trace, layers_of(model_), x, false).y;
    b.result(predictions(b, y));
    return b.finish();
  }

  /// (weights, frozen weights) -> copies of them.
  Program copy() const {
    Builder b;
    for (auto const& weight : take_parameters(b)) b.result(weight);
    for (auto const& weight : take_frozen(b)) b.result(weight);
    return b.finish();
  }

 private:
  static constexpr std::size_t max_streams = 1024;

  static std::size_t size(Value<T, AnyExtents> const& value) { return tensor_type<T>(value.extents.values).size(); }

  template <class Numbers>
  static std::vector<Scalar<T>> optimizer_numbers(Builder& b, Numbers const& numbers) {
    std::vector<Scalar<T>> result;
    for (std::size_t i = Base::Numbers::optimizer; i < number_count; ++i)
      result.push_back(b.convert<T>(b.element(numbers, i)));
    return result;
  }

  std::size_t replicas_;
  mutable std::vector<StreamUse> streams_;
  mutable bool found_streams_ = false;
};

}  // namespace trireme::lowering
