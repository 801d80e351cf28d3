/// Arguments and results of a model's programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/models/model.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/division.hpp"
#include "trireme/pjrt/lowering/optimizers.hpp"
#include "trireme/pjrt/lowering/own_model.hpp"
#include "trireme/pjrt/lowering/tuples.hpp"
#include "trireme/pjrt/lowering/update.hpp"

namespace trireme::lowering {

/// Layout of a step's words, integers besides its batch: rows, first row (low, high), keys.
struct StepLayout {
  static constexpr std::size_t rows = 0, first_row = 1, global_rows = 3, keys = 4;
};
/// Layout of a step's numbers, in double precision: a scale for each output, the rows of the global batch, and the
/// optimizer's.
template <std::size_t outputs>
struct NumberLayout {
  static constexpr std::size_t scale = 0, rows = outputs, optimizer = outputs + 1;
};

/// Arguments of a model's programs: tensors of its parameters and of a batch of `rows` rows for each of `replicas`,
/// whose devices divide some of them.
template <class Model>
class ModelArguments {
  static_assert(require_model_lowering<Model>());

 public:
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Positions = Extents<dynamic>;
  using Numbers = NumberLayout<Model::outputs>;
  /// Counts of numbers that the training programs take.
  static constexpr std::size_t number_count = Numbers::optimizer + OptimizerLowering<typename Model::Optimizer>::count;
  /// True if the targets of a row lie one after the other: those of Outputs.
  static constexpr bool joined_targets = requires(Model const& model) { model.head().target_parts(); };

  /// The model has to outlive the arguments.
  ModelArguments(Model const& model, std::size_t rows, std::size_t replicas, Division division = {})
      : model_(model), rows_(rows), replicas_(replicas), division_(std::move(division)) {}

  Model const& model() const { return model_; }
  std::size_t rows() const { return rows_; }
  std::size_t replicas() const { return replicas_; }
  Division const& division() const { return division_; }

  /// (rows, extents of the input), or of several inputs (rows, all elements).
  std::vector<std::size_t> input_extents() const {
    std::vector<std::size_t> extents = model_.description().input;
    extents.insert(extents.begin(), rows_);
    return extents;
  }
  std::vector<std::size_t> target_extents() const { return targets().to_vector(); }

  /// Elements that a step sums over the rows: of all gradients, and of the means that states move towards.
  std::size_t change_size() const {
    std::size_t sum = 0;
    for (auto const& info : infos()) sum += info.size;
    for (auto const& info : model_.description().states) sum += info.size;
    return sum;
  }

  std::vector<ParameterInfo> const& infos() const { return model_.description().parameters; }

  // ---- arguments

  /// Weights that a step changes: parameters, then states.
  Tensors<T> take_weights(Builder& b) const {
    Tensors<T> tensors = take_parameters(b);
    for (auto const& info : model_.description().states)
      tensors.push_back(b.argument<T>(AnyExtents{info.shape.to_vector()}));
    return tensors;
  }
  /// Weights of frozen layers, which no program changes.
  Tensors<T> take_frozen(Builder& b) const {
    Tensors<T> tensors;
    for (auto const& info : model_.description().frozen)
      tensors.push_back(take_weight(b, info, division_.of_frozen(tensors.size())));
    return tensors;
  }
  Tensors<T> take_slots(Builder& b) const {
    Tensors<T> tensors;
    for (std::size_t slot = 0; slot < model_.optimizer().slots(); ++slot)
      for (auto const& tensor : take_parameters(b)) tensors.push_back(tensor);
    return tensors;
  }
  static auto take_totals(Builder& b) { return b.argument<double>(Extents<Model::totals_width>{}); }
  static auto take_numbers(Builder& b) { return b.argument<double>(Extents<number_count>{}); }
  std::vector<Scalar<double>> take_penalty(Builder& b) const {
    if (!penalized()) return {};
    return {b.argument<double>(NoExtents{})};
  }
  /// The model's input, or the tuple of several, whose rows are in one argument.
  auto take_input(Builder& b) const {
    auto const in = layers_of(model_).input();
    if constexpr (Model::several_inputs) {
      auto const all = b.argument<T>(Extents<dynamic, dynamic>{{rows_, in.size()}});
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        auto const part = [&](std::size_t before, auto const& sample) {
          auto const own = b.columns(all, before, Extents<dynamic, dynamic>{{rows_, sample.size()}});
          return b.reshape(own, with_rows(rows_, sample));
        };
        return std::tuple{part(in.template before<I>(), in.template part<I>())...};
      }(std::make_index_sequence<parts_count<typename Model::InputExtents>>());
    } else {
      return b.argument<T>(with_rows(rows_, in));
    }
  }

  /// Extents of the targets: (positions), or (positions, elements of a position); of Outputs (rows, numbers of all
  /// targets).
  auto targets() const {
    if constexpr (joined_targets) {
      return Extents<dynamic, dynamic>{{rows_, model_.target_size()}};
    } else {
      constexpr std::size_t width = Model::OutputExtents::static_extents[Model::OutputExtents::rank - 1];
      std::size_t const positions = rows_ * model_.head().positions_per_row();
      if constexpr (Model::class_labels)
        return Positions{{positions}};
      else
        return Extents<dynamic, width>{{positions, model_.classes()}};
    }
  }

  /// A batch as arguments of a program.
  template <class X, class Y>
  struct Arguments {
    X x;
    Y y;
    Value<double, Positions> weight;
    Value<std::uint32_t, Positions> words;
  };
  auto take_batch(Builder& b, std::size_t words) const {
    auto const x = take_input(b);
    auto const y = b.argument<L>(targets());
    auto const weight = b.argument<double>(Positions{{rows_}});
    return Arguments<std::remove_const_t<decltype(x)>, std::remove_const_t<decltype(y)>>{
        x, y, weight, b.argument<std::uint32_t>(Positions{{words}})};
  }

  // ---- results that replace arguments

  static void give(Builder& b, Tensors<T> const& now, Tensors<T> const& before) {
    for (std::size_t i = 0; i < now.size(); ++i) b.result(now[i], before[i]);
  }
  /// Adds the penalty of the weights before the step to the sum of penalties, once for each row of the global batch.
  template <class N>
  void give_penalty(Builder& b, std::vector<Scalar<double>> const& before, Tensors<T> const& weights,
                    N const& numbers) const {
    for (auto const& sum : before) {
      auto const times = b.element(numbers, Numbers::rows);
      b.result(b.add(sum, b.multiply(times, penalty(b, infos(), weights))), sum);
    }
  }

 private:
  Tensors<T> take_parameters(Builder& b) const {
    Tensors<T> tensors;
    for (auto const& info : infos()) tensors.push_back(take_weight(b, info, division_.of_parameter(tensors.size())));
    return tensors;
  }
  static Value<T, AnyExtents> take_weight(Builder& b, WeightInfo const& info, Division::Weight const& divided) {
    if (divided) return b.argument<T>(AnyExtents{divided->extents}, divided->axis);
    return b.argument<T>(AnyExtents{info.shape.to_vector()});
  }
  bool penalized() const {
    for (auto const& info : infos())
      if (info.regularizer.active()) return true;
    return false;
  }

  Model const& model_;
  std::size_t rows_, replicas_;
  Division division_;
};

}  // namespace trireme::lowering
