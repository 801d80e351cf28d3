/// The numbers of a whole model as one list, and of the calls that take it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/inference_model.hpp"
#include "trireme/models/shared_weights.hpp"
#include "trireme/mpi/same_config.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Lists an optimizer's numbers: those that the library reads of any, then its own.
/// \throws ValueError if one is outside of its range, or if there is more than one of clipnorm, global_clipnorm and
/// clipvalue.
template <class Optimizer>
void list_optimizer(Config& c, Optimizer const& optimizer) {
  c.object("the optimizer", optimizer);
  Config::Scope const scope(c, type_name<Optimizer>(), {});
  if constexpr (requires { optimizer.learning_rate; }) c("learning_rate", optimizer.learning_rate);
  if constexpr (requires { optimizer.weight_decay; })
    c("weight_decay", optimizer.weight_decay, intervals::not_negative);
  int limits = 0;
  auto const limit = [&](std::string_view name, double value) {
    c(name, value, intervals::not_negative);
    limits += value != 0 ? 1 : 0;
  };
  if constexpr (requires { optimizer.clipnorm; }) limit("clipnorm", optimizer.clipnorm);
  if constexpr (requires { optimizer.global_clipnorm; }) limit("global_clipnorm", optimizer.global_clipnorm);
  if constexpr (requires { optimizer.clipvalue; }) limit("clipvalue", optimizer.clipvalue);
  c.require(limits <= 1, "takes one of clipnorm, global_clipnorm and clipvalue, and was given several");
}

/// Lists layers, weights, optimizer, loss, metrics and seed of any TrainableModel; one of a user's own adds to them by
/// a member `config`. Not collective.
/// \throws ValueError that names the number that is outside of its range.
template <class Model>
void list_model(Config& c, Model const& model) {
  ModelDescription const& description = model.description();
  c.add("the scalar", type_text<typename Model::scalar>());
  c.add(description.config.entries());
  for (LayerInfo const& layer : description.layers)
    c.add(formatted("the output of layer '{}'", layer.path), format_extents(layer.output));
  for_each_weight(description, [&](WeightInfo const& weight) {
    c.add(formatted("the extents of '{}'", weight.path), format_extents(weight.shape.to_vector()));
  });
  for (SharedLayers const& shared : description.shared) {
    if (shared.first == shared.last) continue;
    std::string const& path = description.layers[shared.first].path;
    std::vector<std::string> extents;
    for (auto const& tensor : shared.weights->tensors) extents.push_back(format_extents(tensor.extents));
    c.add(formatted("the number of models that share layer '{}'", path), formatted("{}", shared.weights->models()),
          true);
    c.add(formatted("the weights that layer '{}' shares", path), extents.empty() ? "none" : joined(extents, ", "));
  }
  c.add("the logs", joined({Model::log_names.begin(), Model::log_names.end()}, ", "));
  if constexpr (requires { model.config(c); })
    model.config(c);
  else if constexpr (requires { model.optimizer(); })
    list_optimizer(c, model.optimizer());
}

namespace detail {

/// Lists the learning rate of the next step, unless a schedule gives it or the model is for inference. Not collective.
template <class Engine>
void list_learning_rate(Config& c, Engine const& engine) {
  if constexpr (is_trainable<typename Engine::Model>)
    if (!engine.optimizer().has_schedule())
      c.add("the learning rate", formatted("{}", engine.optimizer().learning_rate()));
}

/// Throws on all processes where a number of `given`, options and callbacks, is outside of its range, or where not all
/// processes make this call with the same numbers for the same model; in training that is also the learning rate.
/// Collective.
template <class Engine, class... Given>
void require_same_call(char const* call, Phase phase, Engine const& engine, Given const&... given) {
  require_same_config(engine.group(), call, [&](Config& c) {
    list_model(c, engine.model());
    if (phase == Phase::train) list_learning_rate(c, engine);
    (c.object("the argument", given), ...);
  });
}

}  // namespace detail
}  // namespace trireme
