/// A model made of layers: architecture, optimizer, loss and metrics, and the mathematics of a slice of rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/concepts/layer.hpp"
#include "trireme/concepts/metric.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/layers/activation.hpp"
#include "trireme/layers/call.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/log_names.hpp"
#include "trireme/models/logits.hpp"
#include "trireme/models/score_kernel.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// A slice of a batch in the memory of the execution space.
template <class T, class L>
struct Slice {
  T const* x;
  L const* y;
  double const* weight;
  std::size_t rows;
  T const* const* x_rows = nullptr;  ///< where x is null: the inputs of each row, which are put together first
};

/// What a strategy trains; it owns no state. Any other class with these members trains as well (TrainableModel).
template <class T, class Architecture, class OptimizerType, class Loss, class... Metrics>
class Model {
 public:
  using scalar = T;
  using Optimizer = OptimizerType;
  using label = typename Loss::target::template value_type<T>;
  using InputExtents = decltype(std::declval<Architecture>().input());
  using OutputExtents = decltype(std::declval<Architecture>().output(std::declval<InputExtents>()));

  /// Whether the loss takes what the model's last activation is applied to; `architecture_` ends before it then.
  static constexpr bool on_logits = detail::takes_logits<Loss, Architecture>();

  /// Sums that a step adds to: loss, number of positions, states of the metrics.
  static constexpr std::size_t totals_width = 2 + (std::size_t{0} + ... + Metrics::state_size);
  static constexpr std::array<std::string_view, 1 + sizeof...(Metrics)> log_names =
      detail::metric_log_names<Metrics...>;
  static constexpr std::array<Direction, 1 + sizeof...(Metrics)> log_directions{Direction::down, Metrics::direction...};

  Model(Architecture architecture, OptimizerType optimizer, Loss loss, std::uint64_t seed, Metrics... metrics)
      : architecture_(detail::trained_part<Loss>(architecture)),
        input_(architecture_.input()),
        output_(architecture_.output(input_)),
        optimizer_(std::move(optimizer)),
        loss_(detail::trained_loss<Architecture>(std::move(loss))),
        metrics_(std::move(metrics)...),
        seed_(seed),
        cost_(model_cost<T>(architecture)),
        description_(std::make_shared<ModelDescription const>(trireme::describe<T>(architecture))) {
    static_assert(detail::require_loss<Loss, OutputExtents>());
    static_assert((detail::require_metric<Metrics, typename Loss::target, OutputExtents>() && ...));
    static_assert(detail::are_different(log_names),
                  "trireme: two metrics of a model have the same name in the logs; leave one out");
  }

  ModelDescription const& description() const { return *description_; }
  ModelCost const& cost() const { return cost_; }
  OptimizerType const& optimizer() const { return optimizer_; }
  std::uint64_t seed() const { return seed_; }
  std::size_t input_size() const { return input_.size(); }
  std::size_t output_size() const { return output_.size(); }
  std::size_t positions_per_row() const { return output_.size() / output_.back(); }
  std::size_t classes() const { return output_.back(); }
  static constexpr bool class_labels = std::is_same_v<typename Loss::target, ClassIndex>;
  /// Numbers of a sample's target.
  std::size_t target_size() const { return class_labels ? positions_per_row() : output_.size(); }

  /// True if the loss leaves some positions out of its mean, so that their number is only known from the targets.
  bool masks_positions() const {
    if constexpr (requires { loss_.masks(); })
      return loss_.masks();
    else
      return requires(label const* target) { loss_.counts(target); };
  }
  /// Positions of these targets (host memory) that the mean is over.
  std::size_t counted_positions(label const* targets, std::size_t rows) const {
    std::size_t const size = target_size() / positions_per_row();
    std::size_t count = 0;
    for (std::size_t p = 0; p < rows * positions_per_row(); ++p)
      count += kernels::counts_position(loss_, targets + p * size) ? 1 : 0;
    return count;
  }

  /// What the samples of a dataset have to be.
  data::SampleRequirements sample_requirements() const {
    std::vector<std::size_t> target = description_->output;
    if (class_labels) target.pop_back();
    return {description_->input, std::move(target), class_labels ? classes() : 0};
  }

  /// Fills the arena (host memory) with initial values.
  void initialize(std::span<T> arena) const {
    std::fill(arena.begin(), arena.end(), T{0});
    std::vector<double> values;
    for (ParameterInfo const& parameter : description_->parameters) {
      values.assign(parameter.size, 0.0);
      parameter.initializer(values, {parameter.shape.to_vector(), seed_, parameter.path});
      std::transform(values.begin(), values.end(), arena.begin() + static_cast<std::ptrdiff_t>(parameter.offset),
                     [](double value) { return static_cast<T>(value); });
    }
    for (StateInfo const& state : description_->states)
      std::fill_n(arena.begin() + static_cast<std::ptrdiff_t>(state.offset), state.size, static_cast<T>(state.initial));
  }

  template <class Context>
  std::size_t workspace_bytes(std::size_t rows) const {
    return detail::step_workspace<T, Context, on_logits>(architecture_, rows);
  }

  /// Forward, loss, metrics and backward. `gradients` (overwritten) is the gradient of scale * sum of losses; `totals`
  /// are added to. Not collective.
  template <class Context>
  void train(Context& context, Slice<T, label> const& slice, double scale, T const* parameters, T* gradients,
             std::byte* memory, double* totals, StepKeys const& keys, GradientListener* listener) const {
    Workspace workspace(memory);
    T* const z = workspace.template take<T>(slice.rows * output_size());
    T* const y = take_output(workspace, slice.rows, z);
    T* const dz = workspace.template take<T>(slice.rows * output_size());
    std::byte* const inner = workspace.template take<std::byte>(0);
    architecture_.forward(context, input_,
                          Forward<T>{slice.rows, slice.x, z, parameters, inner, keys, true,
                                     parameters + description_->elements, gradients + description_->elements});
    activate(context, slice.rows, z, y);
    score(context, slice, z, y, static_cast<T>(scale), dz, totals);
    architecture_.backward(
        context, input_,
        Backward<T>{slice.rows, slice.x, z, dz, nullptr, parameters, gradients, inner, keys, listener});
  }

  /// Forward, loss and metrics.
  template <class Context>
  void test(Context& context, Slice<T, label> const& slice, T const* parameters, std::byte* memory,
            double* totals) const {
    Workspace workspace(memory);
    T* const z = workspace.template take<T>(slice.rows * output_size());
    T* const y = take_output(workspace, slice.rows, z);
    std::byte* const inner = workspace.template take<std::byte>(0);
    architecture_.forward(
        context, input_,
        Forward<T>{slice.rows, slice.x, z, parameters, inner, {}, false, parameters + description_->elements});
    activate(context, slice.rows, z, y);
    score(context, slice, z, y, T{1}, static_cast<T*>(nullptr), totals);
  }

  /// y (rows, output) for x (rows, input); needs no more memory than workspace_bytes(rows).
  template <class Context>
  void predict(Context& context, std::size_t rows, T const* x, T* y, T const* parameters, std::byte* memory) const {
    architecture_.forward(context, input_,
                          Forward<T>{rows, x, y, parameters, memory, {}, false, parameters + description_->elements});
    activate(context, rows, y, y);
  }

  /// Values of the metrics from merged totals, in the order of log_names; the loss is the mean, without penalties.
  std::array<double, 1 + sizeof...(Metrics)> results(double const* totals) const {
    std::array<double, 1 + sizeof...(Metrics)> values{totals[1] > 0 ? totals[0] / totals[1] : 0.0};
    std::size_t offset = 2, index = 1;
    std::apply(
        [&](auto const&... metric) {
          ((values[index++] = metric.result(totals + offset), offset += std::decay_t<decltype(metric)>::state_size),
           ...);
        },
        metrics_);
    return values;
  }

 private:
  using TrainedPart = decltype(detail::trained_part<Loss>(std::declval<Architecture const&>()));

  /// The model's output, beside `z` which the loss takes: the same unless that is logits.
  T* take_output(Workspace& workspace, std::size_t rows, T* z) const {
    return on_logits ? workspace.template take<T>(rows * output_size()) : z;
  }

  template <class Context>
  void activate(Context& context, std::size_t rows, T const* z, T* y) const {
    if constexpr (on_logits)
      Activation<typename Loss::link>{}.forward(context, output_, Forward<T>{rows, z, y, nullptr, nullptr, {}, false});
  }

  template <class Context>
  void score(Context& context, Slice<T, label> const& slice, T const* z, T const* y, T scale, T* dz,
             double* totals) const {
    auto const metrics = std::apply([](auto const&... metric) { return kernels::pack_metrics(metric...); }, metrics_);
    kernels::Score<T, label, Loss, Metrics...> const kernel{
        loss_, metrics, z, y, slice.y, slice.weight, output_.back(), positions_per_row(), scale, dz};
    context.accumulate("trireme::score", slice.rows * positions_per_row(), kernel, totals);
  }

  TrainedPart architecture_;
  InputExtents input_;
  OutputExtents output_;
  OptimizerType optimizer_;
  Loss loss_;
  std::tuple<Metrics...> metrics_;
  std::uint64_t seed_;
  ModelCost cost_;
  std::shared_ptr<ModelDescription const> description_;  // copies of the model share it
};

}  // namespace trireme
