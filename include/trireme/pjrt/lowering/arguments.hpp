/// Arguments and results of a model's programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/models/model.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/update.hpp"

namespace trireme::lowering {

/// Layout of a step's arguments besides its batch. `words`: integers; `numbers`: in double precision.
struct StepLayout {
  static constexpr std::size_t rows = 0, first_row = 1, keys = 3;        ///< words: rows, first row (low, high), keys
  static constexpr std::size_t scale = 0, positions = 1, optimizer = 2;  ///< numbers
};

/// Arguments of a model's programs: tensors of its parameters and of a batch of `rows` rows.
template <class Model>
class ModelArguments {
  static_assert(
      requires(Model const& model) { model.architecture(); },
      "trireme: a PJRT device takes a model that is made of layers and computes in one number type: not Mixed, and no "
      "model of your own");
  static_assert(Model::outputs == 1, "trireme: a PJRT device takes a model of one output");

 public:
  std::vector<std::size_t> input_extents() const {
    std::vector<std::size_t> extents = model_.description().input;
    extents.insert(extents.begin(), rows_);
    return extents;
  }
  std::vector<std::size_t> target_extents() const {
    return Model::class_labels ? std::vector{positions()} : std::vector{positions(), model_.classes()};
  }

  /// Elements of all gradients.
  std::size_t gradient_size() const {
    std::size_t sum = 0;
    for (auto const& info : infos()) sum += info.size;
    return sum;
  }

 protected:
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Architecture = std::remove_cvref_t<decltype(std::declval<Model const&>().architecture())>;
  using Positions = Extents<dynamic>;
  static constexpr std::size_t width = Model::OutputExtents::static_extents[Model::OutputExtents::rank - 1];

  /// A batch as arguments of a program.
  struct StepArguments {
    Value<T, decltype(with_rows(0, std::declval<Architecture const&>().input()))> x;
    std::conditional_t<Model::class_labels, Value<L, Positions>, Value<L, Extents<dynamic, width>>> y;
    Value<double, Positions> weight;
    Value<std::uint32_t, Positions> words;
  };
  using Target = decltype(StepArguments::y);

  ModelArguments(Model const& model, std::size_t rows) : model_(model), rows_(rows) {}

  std::vector<ParameterInfo> const& infos() const { return model_.description().parameters; }
  bool penalized() const {
    for (auto const& info : infos())
      if (info.regularizer.active()) return true;
    return false;
  }
  /// Number of positions of a batch at which the loss is computed.
  std::size_t positions() const { return rows_ * model_.head().positions_per_row(); }

  // ---- arguments

  Tensors<T> take_parameters(Builder& b) const {
    Tensors<T> tensors;
    for (auto const& info : infos()) tensors.push_back(b.argument<T>(AnyExtents{info.shape.to_vector()}));
    return tensors;
  }
  /// Weights of frozen layers, which no program changes.
  Tensors<T> take_frozen(Builder& b) const {
    Tensors<T> tensors;
    for (auto const& info : model_.description().frozen)
      tensors.push_back(b.argument<T>(AnyExtents{info.shape.to_vector()}));
    return tensors;
  }
  Tensors<T> take_slots(Builder& b) const {
    Tensors<T> tensors;
    for (std::size_t slot = 0; slot < model_.optimizer().slots(); ++slot)
      for (auto const& tensor : take_parameters(b)) tensors.push_back(tensor);
    return tensors;
  }
  static auto take_totals(Builder& b) { return b.argument<double>(Extents<Model::totals_width>{}); }
  std::vector<Scalar<double>> take_penalty(Builder& b) const {
    if (!penalized()) return {};
    return {b.argument<double>(NoExtents{})};
  }
  auto take_input(Builder& b) const { return b.argument<T>(with_rows(rows_, model_.architecture().input())); }
  StepArguments take_batch(Builder& b, std::size_t words) const {
    auto const x = take_input(b);
    typename Target::extents_type target{};
    target.values[0] = positions();
    if constexpr (!Model::class_labels) target.values[1] = model_.classes();
    auto const y = b.argument<L>(target);
    auto const weight = b.argument<double>(Positions{{rows_}});
    return {x, y, weight, b.argument<std::uint32_t>(Positions{{words}})};
  }

  // ---- results that replace arguments

  static void give(Builder& b, Tensors<T> const& now, Tensors<T> const& before) {
    for (std::size_t i = 0; i < now.size(); ++i) b.result(now[i], before[i]);
  }
  /// Adds the penalty of the weights before the step to the sum of penalties, once for each position of the batch.
  template <class Numbers>
  void give_penalty(Builder& b, std::vector<Scalar<double>> const& before, Tensors<T> const& weights,
                    Numbers const& numbers) const {
    for (auto const& sum : before) {
      auto const times = b.element(numbers, StepLayout::positions);
      b.result(b.add(sum, b.multiply(times, penalty(b, infos(), weights))), sum);
    }
  }

  Model const& model_;
  std::size_t rows_;
};

}  // namespace trireme::lowering
