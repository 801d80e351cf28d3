/// The head of a model: what its output is compared with, and the sums of loss, positions and metrics that a step adds
/// to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/core/config.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/losses/targets.hpp"
#include "trireme/metrics/metric.hpp"
#include "trireme/models/log_names.hpp"
#include "trireme/models/score_kernel.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Slice of a batch in the memory of the execution space: x (rows, input extents), targets y (rows, target numbers) and
/// `weight` (rows), which is null where all weights are 1.
template <class T, class L>
struct Slice {
  RowsView<T> x;
  L const* y;
  double const* weight;
  std::size_t rows;
};

/// One number for each output of a model, such as the positions that the mean of its loss is over.
template <std::size_t Outputs>
using PerOutput = std::array<double, Outputs>;

/// Reciprocal 1 / n of each number, 0 for 0.
template <std::size_t Outputs>
constexpr PerOutput<Outputs> reciprocals(PerOutput<Outputs> numbers) {
  for (double& n : numbers) n = n > 0 ? 1.0 / n : 0.0;
  return numbers;
}

namespace detail {

/// Place of an output among those of a model.
struct OutputPlace {
  std::size_t index = 0;
  std::size_t before = 0;       ///< elements of a sample's outputs before it
  std::size_t size = 0;         ///< of a position
  std::size_t positions = 0;    ///< of a row
  std::size_t target = 0;       ///< numbers of a sample's targets before its own
  std::size_t target_size = 0;  ///< its own
  std::size_t totals = 0;       ///< sums before its own
};

/// The loss and the metrics of a model's only output, in the form of an Output.
template <class LossType, class... Metrics>
struct OnlyOutput {
  using Loss = LossType;
  static constexpr double weight = 1;
  Loss const& loss;
  std::tuple<Metrics...> const& metrics;
};

/// Label beside the classes that a loss leaves out, if there is one.
template <class L>
std::optional<std::int32_t> ignored_label_of(L const& loss) {
  if constexpr (requires { loss.ignored_label(); })
    return loss.ignored_label();
  else
    return std::nullopt;
}

/// One output of a model with its loss and its metrics. Sums: loss, number of positions, states of the metrics.
template <class T, class Extents, class LossType, class... Metrics>
class Head {
  static_assert(
      !is_parts<Extents>,
      "trireme: a model of several outputs needs a loss for each of them: compile(strategy, model, optimizer, "
      "Outputs{output<\"name\">(loss, metrics...), ...})");

 public:
  using Loss = LossType;
  using label = typename Loss::target::template value_type<T>;
  static constexpr std::size_t outputs = 1;
  static constexpr bool class_labels = std::is_same_v<typename Loss::target, ClassIndex>;
  static constexpr std::size_t totals_width = 2 + (std::size_t{0} + ... + Metrics::state_size);
  static constexpr std::array<std::string_view, 1 + sizeof...(Metrics)> log_names = metric_log_names<Metrics...>;
  static constexpr std::array<Direction, 1 + sizeof...(Metrics)> log_directions{Direction::down, Metrics::direction...};

  Head(Extents const& output, Loss loss, Metrics... metrics)
      : output_(output), loss_(std::move(loss)), metrics_(std::move(metrics)...) {
    static_assert(require_loss<Loss, Extents>());
    static_assert((require_metric<Metrics, typename Loss::target, Extents>() && ...));
    static_assert(are_different(log_names),
                  "trireme: two metrics of a model have the same name in the logs; leave one out");
  }

  Loss const& loss() const { return loss_; }
  std::tuple<Metrics...> const& metrics() const { return metrics_; }

  /// f(output, its extents, its place), as for each of several outputs.
  template <class F>
  void for_each_output(F const& f) const {
    f(OnlyOutput<Loss, Metrics...>{loss_, metrics_}, output_,
      OutputPlace{.size = classes(), .positions = positions_per_row(), .target_size = target_size()});
  }

  void config(Config& c) const {
    c.object("the loss", loss_);
    std::apply([&](auto const&... metric) { (c.object("the metric", metric), ...); }, metrics_);
  }

  std::size_t positions_per_row() const { return output_.size() / output_.back(); }
  std::size_t classes() const { return output_.back(); }
  /// Numbers of a sample's target.
  std::size_t target_size() const { return class_labels ? positions_per_row() : output_.size(); }

  /// True if the loss leaves some positions out of its mean, so that their number is only known from the targets.
  bool masks_positions() const {
    if constexpr (requires { loss_.masks(); })
      return loss_.masks();
    else
      return requires(label const* target) { loss_.counts(target); };
  }
  /// Label beside the classes that the loss leaves out.
  std::optional<std::int32_t> ignored_label() const { return ignored_label_of(loss_); }
  /// Positions of so many rows, where none is left out.
  PerOutput<1> positions(std::size_t rows) const { return {static_cast<double>(rows * positions_per_row())}; }
  /// Positions of these targets (host memory) that the mean is over.
  PerOutput<1> counted_positions(label const* targets, std::size_t rows) const {
    std::size_t const size = target_size() / positions_per_row();
    std::size_t count = 0;
    for (std::size_t p = 0; p < rows * positions_per_row(); ++p)
      count += kernels::counts_position(loss_, targets + p * size) ? 1 : 0;
    return {static_cast<double>(count)};
  }

  /// Adds to the totals. `z` is what the loss takes and `y` what the metrics take, (rows, output); `dz`, unless null,
  /// becomes the gradient of scale * sum of losses.
  template <class Context>
  void score(Context& context, Slice<T, label> const& slice, T const* z, T const* y, PerOutput<1> const& scales, T* dz,
             double* totals) const {
    auto const metrics = std::apply([](auto const&... metric) { return kernels::pack_metrics(metric...); }, metrics_);
    kernels::Score<T, label, Loss, Metrics...> const kernel{
        loss_, metrics, z, y, slice.y, slice.weight, output_.back(), positions_per_row(), static_cast<T>(scales[0]),
        dz};
    context.accumulate("trireme::score", slice.rows * positions_per_row(), kernel, totals);
  }

  /// In the order of log_names.
  std::array<double, log_names.size()> results(double const* totals) const {
    std::array<double, log_names.size()> values{totals[1] > 0 ? totals[0] / totals[1] : 0.0};
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
  Extents output_;
  Loss loss_;
  std::tuple<Metrics...> metrics_;
};

}  // namespace detail
}  // namespace trireme
