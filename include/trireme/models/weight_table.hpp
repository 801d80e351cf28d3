/// The weights and layers of a model, as tables.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/layers/regularizer.hpp"
#include "trireme/tensor/shape.hpp"

namespace trireme {

/// Weight of a model: its path, its extents, and its place in the arena, in numbers of the scalar.
struct WeightInfo {
  std::string path;  ///< "conv2d_1/kernel"; nested models are further folders
  std::size_t layer = 0;
  Shape shape;
  std::size_t offset = 0;
  std::size_t size = 0;
  std::string keras_group{};   ///< within the layer's group in `.weights.h5`: "cell" of an LSTM; mostly empty
  std::size_t input_axes = 0;  ///< of compute_fans, for its initializer
};

/// Parameter of a model, as a row of its table.
struct ParameterInfo : WeightInfo {
  Initializer initializer{};
  Regularizer regularizer{};
  bool by_rows = false;  ///< a table with sparse gradients: a step touches some rows only
};

/// State of a model, as a row of its table; states lie behind all parameters. `initial` is its first value, `decay`
/// that of StateShape.
struct StateInfo : WeightInfo {
  double initial = 0;
  double decay = 0;
};

/// Parameter or state of a Frozen layer, as a row of the table; they lie behind the states, and only setting or loading
/// weights changes them.
struct FrozenInfo : WeightInfo {
  Initializer initializer{};
  bool is_state = false;
};

/// Layer of a model, as a row of its table; `output` is its extents of one sample, or (all its numbers) of a tuple.
struct LayerInfo {
  std::string path;        ///< the user's name, or Keras's: "conv2d_1"
  std::string keras_path;  ///< in `.weights.h5`: "layers/conv2d_1", whatever the user's name
  std::string class_name;
  std::vector<std::size_t> output;
  std::size_t parameters = 0;  ///< number of its parameters and states, frozen or not
  std::size_t flops = 0;       ///< operations of forward, for one sample, as `layer_flops` counts them
  /// Names of the models around it and its own, one for each group in `keras_path`; `path` is all of them.
  std::vector<std::string> names{};
  std::size_t keras_rank = 0;  ///< place among all layers in Keras's order, that of optimizer state in files
};

/// Step of a value's way through a model: an input, a layer, or a join of branches, which is no layer of its own.
/// `output` is its extents of one sample.
struct NodeInfo {
  enum class Kind { input, layer, join };
  Kind kind = Kind::layer;
  std::size_t index = 0;  ///< of the input or the layer
  std::string class_name;
  std::vector<std::size_t> output;
  std::vector<std::size_t>
      from;  ///< nodes whose outputs it takes, each once; those within Each take values of all parts
};

namespace detail {
class SharedWeights;
}

/// Range [first, last) of layers that other models may have as well (Shared).
struct SharedLayers {
  std::shared_ptr<detail::SharedWeights> weights;
  std::size_t first = 0, last = 0;
};

/// Description of a model as a table of its extents, layers and weights, equal on all processes. Sizes are in numbers
/// of the scalar.
struct ModelDescription {
  std::vector<std::size_t> input, output;                 ///< of one sample; of a tuple, (all its elements)
  std::vector<std::vector<std::size_t>> inputs, outputs;  ///< of each part of a tuple; a tensor is its own only one
  std::vector<LayerInfo> layers;
  std::vector<NodeInfo> nodes;         ///< inputs, layers and joins
  std::vector<std::size_t> results{};  ///< of the outputs, the nodes that they come from
  std::vector<ParameterInfo> parameters;
  std::vector<StateInfo> states;
  std::vector<FrozenInfo> frozen;
  std::vector<SharedLayers> shared;
  std::size_t elements = 0;         ///< of all parameters, padding included
  std::size_t state_elements = 0;   ///< of the states, which follow them in the arena
  std::size_t frozen_elements = 0;  ///< of the frozen weights, which come last
  std::vector<std::size_t>
      vocabularies;  ///< of each input: it holds indices below it, which are looked up; 0: any numbers
  StatisticsScope row_scope = StatisticsScope::none;  ///< the widest over which some layer adds up rows
  bool mixes_replica = false;                         ///< true if some layer does so over its replica's rows only
  Config config{};                                    ///< of its layers, their initializers and regularizers

  /// Elements of the arena: parameters, states and frozen weights.
  std::size_t arena_elements() const { return reduced_elements() + frozen_elements; }
  /// Elements that a step sums up over the rows: gradients of the parameters, and means that the states move towards.
  std::size_t reduced_elements() const { return elements + state_elements; }

  /// Operations of forward, for one sample: those of its layers, or of a model without layers two for each weight.
  std::size_t flops() const {
    std::size_t sum = 0;
    for (LayerInfo const& layer : layers) sum += layer.flops;
    return sum > 0 ? sum : 2 * parameter_count();
  }

  /// Number of all weights, padding not counted.
  std::size_t parameter_count() const { return trainable_count() + non_trainable_count(); }
  /// Number of parameters, padding not counted.
  std::size_t trainable_count() const { return count(parameters); }
  /// Number of states and frozen weights.
  std::size_t non_trainable_count() const { return count(states) + count(frozen); }

 private:
  template <class Infos>
  static std::size_t count(Infos const& infos) {
    std::size_t sum = 0;
    for (WeightInfo const& info : infos) sum += info.size;
    return sum;
  }
};

/// Calls f(weight) for each weight: layer after layer, its parameters before its states.
template <class F>
void for_each_weight(ModelDescription const& model, F const& f) {
  auto parameter = model.parameters.begin();
  auto state = model.states.begin();
  auto frozen = model.frozen.begin();
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    for (; parameter != model.parameters.end() && parameter->layer == layer; ++parameter) f(*parameter);
    for (; state != model.states.end() && state->layer == layer; ++state) f(*state);
    for (; frozen != model.frozen.end() && frozen->layer == layer; ++frozen) f(*frozen);
  }
}

}  // namespace trireme
