/// Order of a model's layers in Keras, which numbers its files' groups and lists optimizer state in it.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/models/weight_table.hpp"

namespace trireme::detail {

/// Models of Keras that a model's layers lie in. Steps are its layers and joins of branches, in their own order.
class KerasModels {
 public:
  static constexpr std::size_t outermost = 0, none = std::numeric_limits<std::size_t>::max();

  struct Model {
    std::size_t parent = none;
    std::string class_name{};
    std::size_t eaches = 0;  ///< number of Each around it
  };
  struct Step {
    std::size_t model;
    std::size_t layer;  ///< in the description; of a join `none`
    std::size_t eaches;
  };

  /// Adds a model that stands in `parent`.
  std::size_t add_model(std::size_t parent, std::string_view class_name, std::size_t eaches) {
    models_.push_back({parent, std::string(class_name), eaches});
    return models_.size() - 1;
  }
  void add_layer(std::size_t model, std::size_t eaches) { steps_.push_back({model, layers_++, eaches}); }
  void add_join(std::size_t model, std::size_t eaches) { steps_.push_back({model, none, eaches}); }

  std::vector<Model> const& models() const { return models_; }
  std::vector<Step> const& steps() const { return steps_; }

 private:
  std::vector<Model> models_{1};
  std::vector<Step> steps_;
  std::size_t layers_ = 0;
};

/// One run of a step in a pass. Those within Each run once for each part.
struct StepCall {
  std::size_t step;
  std::vector<std::size_t> parts;  ///< those that each Each around it is at, from the outermost
  std::vector<std::size_t> from;   ///< calls whose outputs it takes
};

/// Calls that the outputs of a model come from, in the order of these. The model is the steps from `begin` to `end`.
struct StepResults {
  std::size_t begin, end;
  std::vector<std::size_t> calls;
};

/// Writes places in Keras's files into the rows of layers. Keras lists the layers of a model by their depth, the number
/// of layers up to the outputs, and those of one depth as a search from the outputs meets them.
/// \param results  those of each model in each of its runs
/// Source: Keras 3.15, `keras.src.ops.function.map_graph`.
void place_as_keras(ModelDescription& description, KerasModels const& models, std::vector<StepCall> const& calls,
                    std::vector<StepResults> const& results);

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/models/keras_order.ipp"
#endif
