/// A model made of layers: architecture, optimizer, loss and metrics, and the mathematics of a slice of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/data/requirements.hpp"
#include "trireme/layers/activation.hpp"
#include "trireme/layers/join_kernels.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/head.hpp"
#include "trireme/models/logits.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/models/sample_requirements.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Model of layers with optimizer, loss and metrics, for a strategy to train; it owns no state. Any other class with
/// these members trains as well (TrainableModel). Inputs of a batch are (rows, input extents), outputs (rows, output
/// extents), targets (rows, target numbers). Parameters, states and frozen weights share one arena of
/// `description().arena_elements()` numbers.
/// \throws ShapeError from its constructor if `dynamic` extents do not fit; ValueError if a number is outside of its
/// range.
template <class T, class Architecture, class OptimizerType, class Loss, class... Metrics>
class Model {
 public:
  using scalar = T;
  using Optimizer = OptimizerType;
  using InputExtents = decltype(std::declval<Architecture>().input());
  using OutputExtents = decltype(std::declval<Architecture>().output(std::declval<InputExtents>()));
  using Head = detail::Head<T, OutputExtents, Loss, Metrics...>;
  using label = typename Head::label;

  /// The outputs, bit I for output I, whose loss takes the argument of their last activation; `architecture_` then ends
  /// before that.
  static constexpr std::size_t outputs_on_logits = detail::outputs_on_logits<Loss, Architecture>;
  /// True if there is one.
  static constexpr bool on_logits = outputs_on_logits != 0;

  /// True if some weights may have sparse gradients: of the rows that occur alone.
  static constexpr bool has_tables = detail::has_tables<Architecture>();
  /// True if other models may have some of the weights.
  static constexpr bool has_shared = detail::has_shared<Architecture>();
  static constexpr bool several_inputs = is_parts<InputExtents>, several_outputs = is_parts<OutputExtents>;
  /// Losses, each with a mean of its own.
  static constexpr std::size_t outputs = Head::outputs;
  /// Sums that a step adds to.
  static constexpr std::size_t totals_width = Head::totals_width;
  static constexpr auto log_names = Head::log_names;
  static constexpr auto log_directions = Head::log_directions;

  /// Model of these layers, with what trains and measures it. Weights are the engine's.
  Model(Architecture architecture, OptimizerType optimizer, Loss loss, std::uint64_t seed, Metrics... metrics)
      : description_(std::make_shared<ModelDescription const>(trireme::describe<T>(architecture))),
        architecture_(detail::trained_part<Loss>(architecture)),
        input_(architecture_.input()),
        output_(architecture_.output(input_)),
        optimizer_(std::move(optimizer)),
        head_(output_, detail::trained_loss<Architecture>(std::move(loss)), std::move(metrics)...),
        seed_(seed),
        cost_(model_cost<T>(architecture)) {}

  /// Numbers of its optimizer, loss and metrics, and its seed; those of the layers are in the description.
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
  /// The layers that are trained, up to what the loss takes.
  auto const& architecture() const { return architecture_; }
  /// Loss and metrics, with the extents of the output.
  Head const& head() const { return head_; }
  /// Seed of initial weights and of what layers draw.
  std::uint64_t seed() const { return seed_; }
  /// Numbers of one sample.
  std::size_t input_size() const { return input_.size(); }
  /// Numbers of a sample's output.
  std::size_t output_size() const { return output_.size(); }
  /// Number of classes, where targets are class indices.
  std::size_t classes() const { return head_.classes(); }
  static constexpr bool class_labels = Head::class_labels;
  /// Numbers of a sample's target.
  std::size_t target_size() const { return head_.target_size(); }

  /// True if a loss leaves some positions out of its mean, so that their number is only known from the targets.
  bool masks_positions() const { return head_.masks_positions(); }
  /// Positions of so many rows, where none is left out.
  PerOutput<outputs> positions(std::size_t rows) const { return head_.positions(rows); }
  /// Positions of these targets (host memory) that the means are over.
  PerOutput<outputs> counted_positions(label const* targets, std::size_t rows) const {
    return head_.counted_positions(targets, rows);
  }

  /// Requirements on the samples of a dataset.
  data::SampleRequirements sample_requirements() const {
    return detail::sample_requirements(*description_, head_, detail::index_columns(input_, *description_));
  }

  /// Of one parameter or state.
  template <class Weight>
  std::vector<T> initial_values(Weight const& weight) const {
    if constexpr (requires { weight.initializer; })
      return initial_values(weight, weight.initializer);
    else
      return std::vector<T>(weight.size, static_cast<T>(weight.initial));
  }

  /// Fills the arena (host memory) with initial values.
  void initialize(std::span<T> arena) const {
    std::fill(arena.begin(), arena.end(), T{0});
    for_each_weight(*description_, [&](auto const& weight) {
      std::ranges::copy(initial_values(weight), arena.begin() + static_cast<std::ptrdiff_t>(weight.offset));
    });
  }

  /// Bytes of a step of `rows` rows: activations, their gradients and what kernels need.
  template <class Context>
  std::size_t workspace_bytes(std::size_t rows) const {
    return detail::step_workspace<T, Context, on_logits>(architecture_, rows);
  }

  /// True if `train` and `test` take `rows` scattered rows (Slice::x).
  template <class Context>
  bool takes_scattered_rows(std::size_t rows) const {
    if constexpr (several_inputs)
      return false;
    else
      return detail::takes_scattered_rows<T, Context>(architecture_, input_, rows);
  }

  /// Forward, loss, metrics and backward. `gradients` (overwritten) is the gradient of scale * sum of losses, added up
  /// over the outputs; `totals` are added to. Not collective.
  template <class Context>
  void train(Context& context, Slice<T, label> const& slice, PerOutput<outputs> const& scales, T const* parameters,
             T* gradients, std::byte* memory, double* totals, StepKeys const& keys, GradientSink<T>* sink) const {
    Workspace workspace(memory);
    T* const z = workspace.template take<T>(slice.rows * output_size());
    T* const y = take_output(workspace, slice.rows, z);
    T* const dz = workspace.template take<T>(slice.rows * output_size());
    RowsView<T> const x = take_input(context, slice.rows, slice.x, workspace);
    std::byte* const inner = workspace.template take<std::byte>(0);
    ForwardPass<T> pass = forward_pass(slice.rows, x, z, parameters, inner);
    pass.keys = keys;
    pass.training = true;
    pass.state_updates = gradients + description_->elements;
    architecture_.forward(context, input_, pass);
    activate(context, slice.rows, z, y);
    head_.score(context, slice, z, y, scales, dz, totals);
    architecture_.backward(context, input_,
                           BackwardPass<T>{.rows = slice.rows,
                                           .x = x,
                                           .y = z,
                                           .dy = dz,
                                           .dx = nullptr,
                                           .parameters = parameters,
                                           .gradients = gradients,
                                           .workspace = inner,
                                           .keys = keys,
                                           .sink = sink,
                                           .states = pass.states,
                                           .frozen_weights = pass.frozen_weights});
  }

  /// Forward, loss and metrics.
  template <class Context>
  void test(Context& context, Slice<T, label> const& slice, T const* parameters, std::byte* memory,
            double* totals) const {
    Workspace workspace(memory);
    T* const z = workspace.template take<T>(slice.rows * output_size());
    T* const y = take_output(workspace, slice.rows, z);
    RowsView<T> const x = take_input(context, slice.rows, slice.x, workspace);
    std::byte* const inner = workspace.template take<std::byte>(0);
    ForwardPass<T> pass = forward_pass(slice.rows, x, z, parameters, inner);
    architecture_.forward(context, input_, pass);
    activate(context, slice.rows, z, y);
    head_.score(context, slice, z, y, {}, static_cast<T*>(nullptr), totals);
  }

  /// y (rows, output) for x (rows, input), where a row holds several inputs or outputs one after the other; needs no
  /// more memory than workspace_bytes(rows).
  template <class Context>
  void predict(Context& context, std::size_t rows, T const* x, T* y, T const* parameters, std::byte* memory) const {
    Workspace workspace(memory);
    RowsView<T> const own_x = take_input(context, rows, x, workspace);
    T* const own_y = several_outputs ? workspace.template take<T>(rows * output_size()) : y;
    architecture_.forward(context, input_,
                          forward_pass(rows, own_x, own_y, parameters, workspace.template take<std::byte>(0)));
    activate(context, rows, own_y, own_y);
    if constexpr (several_outputs) join_outputs(context, rows, own_y, y);
  }

  /// Values of the metrics from merged totals, in the order of log_names; the loss is the mean, without penalties.
  auto results(double const* totals) const { return head_.results(totals); }

  /// Computes the model's output y from z, the output of the trained part: the same memory unless the loss takes
  /// logits.
  template <class Context>
  void activate(Context& context, std::size_t rows, T const* z, T* y) const {
    if constexpr (on_logits) detail::activate_outputs<Loss, Architecture>(context, output_, rows, z, y);
  }

  /// The inputs of rows as layers take them: several of them each apart in `memory` (rows, input), one as `x` itself.
  template <class Context>
  T const* split_inputs(Context& context, std::size_t rows, T const* x, T* memory) const {
    if constexpr (several_inputs) {
      for_each_part(input_, [&](auto const& part, std::size_t before) {
        context.for_each("trireme::split_inputs", rows, part.size(),
                         kernels::CopyColumns<T>{x + before, input_size(), memory + rows * before, part.size(), false});
      });
      return memory;
    } else {
      return x;
    }
  }

  /// From outputs as layers leave them in `parts`, several one after the other, to rows of all of them.
  template <class Context>
  void join_outputs(Context& context, std::size_t rows, T const* parts, T* y) const {
    for_each_part(output_, [&](auto const& part, std::size_t before) {
      context.for_each("trireme::join_outputs", rows, part.size(),
                       kernels::CopyColumns<T>{parts + rows * before, part.size(), y + before, output_size(), false});
    });
  }

 private:
  using TrainedPart = decltype(detail::trained_part<Loss>(std::declval<Architecture const&>()));

  std::vector<T> initial_values(WeightInfo const& weight, Initializer const& initializer) const {
    std::vector<double> values(weight.size, 0.0);
    initializer(values, {weight.shape.to_vector(), seed_, weight.path, weight.input_axes});
    return {values.begin(), values.end()};
  }

  /// Forward without training through the trained part, from the arena of weights at `parameters`, if it has any.
  ForwardPass<T> forward_pass(std::size_t rows, RowsView<T> const& x, T* y, T const* parameters,
                              std::byte* memory) const {
    return {.rows = rows,
            .x = x,
            .y = y,
            .parameters = parameters,
            .workspace = memory,
            .keys = {},
            .training = false,
            .states = parameters ? parameters + description_->elements : nullptr,
            .frozen_weights = parameters ? parameters + description_->reduced_elements() : nullptr};
  }

  template <class Context>
  RowsView<T> take_input([[maybe_unused]] Context& context, [[maybe_unused]] std::size_t rows, RowsView<T> const& x,
                         [[maybe_unused]] Workspace& workspace) const {
    if constexpr (several_inputs)
      return split_inputs(context, rows, x.block(), workspace.template take<T>(rows * input_size()));
    else
      return x;
  }

  /// The model's output, beside `z` which the loss takes: the same unless that is logits.
  T* take_output(Workspace& workspace, std::size_t rows, T* z) const {
    return on_logits ? workspace.template take<T>(rows * output_size()) : z;
  }

  // Initialized first: the description rejects numbers of layers that would break the computation of the other members.
  std::shared_ptr<ModelDescription const> description_;  // copies of the model share it
  TrainedPart architecture_;
  InputExtents input_;
  OutputExtents output_;
  OptimizerType optimizer_;
  Head head_;
  std::uint64_t seed_;
  ModelCost cost_;
};

}  // namespace trireme
