/// OwnModel: a base for models that are not made of layers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/head.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/models/sample_requirements.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Description of a model of the user's own: its inputs, its outputs and its parameters. Designated initializers name
/// the members in this order.
/// \throws ValueError from the constructor of OwnModel if `inputs`, `outputs` or the size of a parameter is 0.
struct OwnModelTable {
  std::string name = "model";
  std::size_t inputs = 1;   ///< numbers of a sample
  std::size_t outputs = 1;  ///< numbers that it predicts from them
  struct Parameter {
    std::string name;
    std::size_t size;

    void config(Config& c) const { c("size", size, intervals::positive_count); }
  };
  std::vector<Parameter> parameters{};  ///< they follow each other in the arena, without gaps

  void config(Config& c) const {
    c("inputs", inputs, intervals::positive_count);
    c("outputs", outputs, intervals::positive_count);
    for (Parameter const& parameter : parameters) c("parameter", parameter);
  }
};

/// Base of a TrainableModel that is not made of layers: it has description, loss and metrics. A derived class adds
/// `parameter_view()` (or initialize, where the parameters are not the application's), workspace_bytes, train, test and
/// predict; train and test end in `score`. See examples/own_model.
///
/// Inputs are (rows, inputs) and outputs (rows, outputs), as the OwnModelTable says.
template <class T, class OptimizerType, class Loss, class... Metrics>
class OwnModel {
  using Head = detail::Head<T, Extents<dynamic>, Loss, Metrics...>;

 public:
  using scalar = T;
  using label = typename Head::label;
  using Optimizer = OptimizerType;
  using OutputExtents = Extents<dynamic>;
  static constexpr bool several_inputs = false, several_outputs = false, on_logits = false;
  static constexpr std::size_t outputs = 1;
  static constexpr std::size_t totals_width = Head::totals_width;
  static constexpr auto log_names = Head::log_names;
  static constexpr auto log_directions = Head::log_directions;
  static constexpr bool class_labels = Head::class_labels;

  /// Model of the table's sizes, with what trains and measures it.
  OwnModel(OwnModelTable const& table, OptimizerType optimizer, Loss loss, std::uint64_t seed = 0, Metrics... metrics)
      : input_(table.inputs),
        output_(table.outputs),
        optimizer_(std::move(optimizer)),
        head_({{table.outputs}}, std::move(loss), std::move(metrics)...),
        seed_(seed),
        description_(std::make_shared<ModelDescription const>(describe(table))) {
    cost_.parameters = description_->elements;
    cost_.arena_bytes = description_->elements * sizeof(T);
    cost_.activation_bytes = output_ * sizeof(T);
  }

  void config(Config& c) const {
    list_optimizer(c, optimizer_);
    head_.config(c);
    c("seed", seed_);
  }

  /// Table of layers, extents and weights.
  ModelDescription const& description() const { return *description_; }
  /// Memory and communication of the model.
  ModelCost const& cost() const { return cost_; }
  /// Optimizer with its numbers, without state.
  OptimizerType const& optimizer() const { return optimizer_; }
  /// Loss and metrics, with the extents of the output.
  Head const& head() const { return head_; }
  /// Seed of initial weights and of what layers draw.
  std::uint64_t seed() const { return seed_; }
  /// Numbers of one sample.
  std::size_t input_size() const { return input_; }
  /// Numbers of a sample's output.
  std::size_t output_size() const { return output_; }
  /// Numbers of a sample's target.
  std::size_t target_size() const { return head_.target_size(); }
  /// Number of classes, where targets are class indices.
  std::size_t classes() const { return head_.classes(); }
  /// Requirements on the samples of a dataset.
  data::SampleRequirements sample_requirements() const { return detail::sample_requirements(*description_, head_); }
  /// True if the loss leaves some positions out of its mean.
  bool masks_positions() const { return head_.masks_positions(); }
  /// Positions of so many rows, where none is left out.
  PerOutput<1> positions(std::size_t rows) const { return head_.positions(rows); }
  /// Positions of these targets (host memory) that the mean is over.
  PerOutput<1> counted_positions(label const* targets, std::size_t rows) const {
    return head_.counted_positions(targets, rows);
  }
  /// Loss and metrics of the sums over all rows.
  auto results(double const* totals) const { return head_.results(totals); }

 protected:
  /// Adds loss and metrics of the predictions y (rows, outputs) to the totals; `dy`, unless null, becomes the gradient
  /// of scale * sum of losses with respect to y.
  template <class Context>
  void score(Context& context, Slice<T, label> const& slice, T const* y, PerOutput<1> const& scales, T* dy,
             double* totals) const {
    head_.score(context, slice, y, y, scales, dy, totals);
  }

 private:
  static ModelDescription describe(OwnModelTable const& table) {
    ModelDescription description;
    description.config.object("the table of the model", table);
    description.input = {table.inputs};
    description.output = {table.outputs};
    for (auto const& [name, size] : table.parameters) {
      description.parameters.push_back({{table.name + "/" + name, 0, Shape{size}, description.elements, size}, {}, {}});
      description.elements += size;
    }
    description.layers.push_back(
        {table.name, "layers/" + table.name, "OwnModel", {table.outputs}, description.elements, 0, {table.name}});
    description.nodes = {{NodeInfo::Kind::input, 0, "Input", {table.inputs}, {}},
                         {NodeInfo::Kind::layer, 0, "OwnModel", {table.outputs}, {0}}};
    description.results = {1};
    return description;
  }

  std::size_t input_, output_;
  OptimizerType optimizer_;
  Head head_;
  std::uint64_t seed_;
  ModelCost cost_;
  std::shared_ptr<ModelDescription const> description_;  // copies of the model share it
};

}  // namespace trireme
