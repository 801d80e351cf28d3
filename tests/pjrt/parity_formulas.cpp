// Losses, metrics and optimizers as programs give Keras's numbers, in float and double.
#define BOOST_TEST_MODULE pjrt_parity_formulas
#include "support/kokkos_fixture.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "parity/loss_cases.hpp"
#include "parity/metric_cases.hpp"
#include "parity/optimizer_cases.hpp"
#include "parity/reference.hpp"
#include "pjrt/run_program.hpp"
#include "trireme/pjrt/lowering/losses.hpp"
#include "trireme/pjrt/lowering/metrics.hpp"
#include "trireme/pjrt/lowering/update.hpp"

namespace trireme::test {

namespace {

using Positions = Extents<dynamic>;
using Outputs = Extents<dynamic, dynamic>;

/// The argument of a program with targets: class indices, or a number for each output.
template <class T>
auto target_argument(lowering::Builder& b, Outputs const& outputs) {
  if constexpr (std::is_integral_v<T>)
    return b.argument<T>(Positions{{outputs[0]}});
  else
    return b.argument<T>(outputs);
}

template <class T, class Loss>
ProgramRun loss_program(Loss const& loss, Outputs const& outputs) {
  lowering::Builder b;
  auto const prediction = b.argument<T>(outputs);
  auto const truth = target_argument<typename Loss::target::template value_type<T>>(b, outputs);
  auto const scale = b.argument<T>(Positions{{outputs[0]}});
  auto const losses = lowering::LossLowering<Loss>::positions(b, loss, prediction, truth, scale);
  b.result(losses.values);
  b.result(losses.gradient);
  if (losses.counts) b.result(b.convert<T>(*losses.counts));
  return ProgramRun(b.finish());
}

}  // namespace

/// Formulas as programs of the plugin.
struct OnPlugin {
  static constexpr bool runs_programs = true;

  /// With one weight for each position, or several positions that share one.
  template <class T, class Loss>
  static void check_loss(ReferenceCase const& c, Loss const& loss) {
    auto const prediction = c.array<T>("y_pred");
    auto const truth = c.array<typename Loss::target::template value_type<T>>("y_true").values;
    std::size_t const size = prediction.last_extent(), positions = prediction.values.size() / size;
    ProgramRun program = loss_program<T>(loss, {{positions, size}});
    auto const run = [&](std::vector<T> const& scale) {
      program.with(prediction.values).with(truth).with(scale).run();
      auto values = program.template take<T>(), gradient = program.template take<T>();
      std::vector<T> counts(positions, T{1});
      if constexpr (requires { loss.masks(); })
        if (loss.masks()) counts = program.template take<T>();
      return std::tuple{std::move(values), std::move(gradient), std::move(counts)};
    };
    auto const check = [&](std::optional<std::string> const& weights, std::string const& suffix) {
      std::vector<double> const given =
          weights ? c.array<double>(*weights).values : std::vector<double>(positions, 1.0);
      auto const counts = std::get<2>(run(std::vector<T>(positions, T{1})));
      std::vector<T> weight(positions);
      double count = 0, weight_sum = 0, sum = 0;
      for (std::size_t p = 0; p < positions; ++p) {
        weight[p] = static_cast<T>(given[p * given.size() / positions]);
        count += static_cast<double>(counts[p]);
        weight_sum += static_cast<double>(counts[p] * weight[p]);
      }
      // Keras divides by the sum of the weights as they were given, unless some positions do not count.
      if (count == static_cast<double>(positions)) weight_sum = std::accumulate(given.begin(), given.end(), 0.0);
      std::vector<T> scale(positions);
      for (std::size_t p = 0; p < positions; ++p) scale[p] = static_cast<T>(static_cast<double>(weight[p]) / count);
      auto const [values, gradient, same] = run(scale);
      for (std::size_t p = 0; p < positions; ++p)
        sum += static_cast<double>(weight[p]) * static_cast<double>(values[p]);
      auto const& expected = c.description.at("expected");
      c.compare<T>("sum" + suffix, expected.at("sum" + suffix).get<double>(), sum);
      c.compare<T>("mean" + suffix, expected.at("sum_over_batch_size" + suffix).get<double>(), sum / count);
      c.compare<T>("weighted mean" + suffix, expected.at("mean_with_sample_weight" + suffix).get<double>(),
                   sum / weight_sum);
      c.compare<T>("gradient" + suffix, c.array<double>("gradient" + suffix).values, gradient);
      if (!weights) c.compare<T>("values", c.array<double>("values").values, values);
    };
    check(std::nullopt, "");
    if (c.has("gradient_weighted")) check("sample_weight", "_weighted");
    if (c.has("gradient_elementwise")) check("sample_weight_elementwise", "_elementwise");
  }

  /// One program for the batches of a case, whose positions beyond the batch weigh 0.
  template <class T, class Label, class Metric>
  static void check_metric(ReferenceCase const& c, Metric const& metric) {
    struct Batch {
      ReferenceArray<T> prediction;
      std::vector<Label> truth;
      std::vector<double> weight;
      std::size_t size() const { return prediction.extents.size() < 2 ? 1 : prediction.last_extent(); }
      std::size_t positions() const { return prediction.values.size() / size(); }
    };
    std::vector<Batch> batches;
    Outputs outputs{{0, 0}};
    for (auto const& batch : c.description.at("batches")) {
      auto const name = [&](char const* key) { return batch.at(key).template get<std::string>(); };
      batches.push_back({c.array<T>(name("y_pred")), c.array<Label>(name("y_true")).values,
                         c.array<double>(name("sample_weight")).values});
      outputs = {{std::max(outputs[0], batches.back().positions()), batches.back().size()}};
    }
    std::size_t const positions = outputs[0];
    lowering::Builder b;
    auto const p = b.argument<T>(outputs);
    auto const t = target_argument<Label>(b, outputs);
    auto const w = b.argument<double>(Positions{{positions}});
    auto const exists = b.compare<"NE">(w, b.constant_like<double>(0, w));
    if constexpr (requires { lowering::MetricLowering<Metric>::sums(b, metric, p, t, w, exists); })
      for (auto const& sum : lowering::MetricLowering<Metric>::sums(b, metric, p, t, w, exists)) b.result(sum);
    else
      BOOST_REQUIRE_MESSAGE(false, c.name() << " has targets of another kind");
    ProgramRun program(b.finish());

    std::vector<double> results, weighted_results;
    std::array<double, Metric::state_size> state{}, weighted_state{};
    for (Batch& batch : batches) {
      std::size_t const own = batch.positions();
      batch.truth.resize(std::is_integral_v<Label> ? positions : outputs.size());
      batch.prediction.values.resize(outputs.size());
      auto const add = [&](auto const& weight_of, auto& sums) {
        std::vector<double> weights(positions);
        for (std::size_t i = 0; i < own; ++i) weights[i] = weight_of(i);
        program.with(batch.prediction.values).with(batch.truth).with(weights).run();
        for (double& sum : sums) sum += program.template take<double>()[0];
      };
      add([](std::size_t) { return 1.0; }, state);
      add([&](std::size_t i) { return batch.weight[i * batch.weight.size() / own]; }, weighted_state);
      results.push_back(metric.result(state.data()));
      weighted_results.push_back(metric.result(weighted_state.data()));
    }
    auto const& expected = c.description.at("expected");
    c.compare<T>("results", expected.at("results").template get<std::vector<double>>(), results);
    c.compare<T>("weighted results", expected.at("results_weighted").template get<std::vector<double>>(),
                 weighted_results);
  }

  template <class T, class Optimizer>
  static void check_steps(ReferenceCase const& c, Optimizer const& optimizer) {
    using Lowering = lowering::OptimizerLowering<Optimizer>;
    auto const& variables = c.description.at("variables");
    std::vector<std::vector<T>> weights, gradients, slots, steps;
    std::vector<ParameterInfo> infos(variables.size());
    for (auto const& variable : variables) {
      weights.push_back(c.array<T>(variable.at("start").template get<std::string>()).values);
      gradients.push_back(c.array<T>(variable.at("gradients").template get<std::string>()).values);
    }
    steps.resize(weights.size());
    lowering::Builder b;
    auto const arguments = [&] {
      lowering::Tensors<T> tensors;
      for (auto const& values : weights) tensors.push_back(b.argument<T>(lowering::AnyExtents{{values.size()}}));
      return tensors;
    };
    auto const before = arguments();
    lowering::Tensors<T> slots_before;
    for (std::size_t slot = 0; slot < optimizer.slots(); ++slot)
      for (std::size_t i = 0; auto const& tensor : arguments()) {
        slots_before.push_back(tensor);
        slots.emplace_back(weights[i++].size(), static_cast<T>(optimizer.initial(slot)));
      }
    auto const step_gradients = arguments();
    auto const numbers = b.argument<double>(Extents<Lowering::count>{});
    std::vector<lowering::Scalar<T>> scalars;
    for (std::size_t i = 0; i < Lowering::count; ++i) scalars.push_back(b.convert<T>(b.element(numbers, i)));
    auto const after = lowering::update(b, optimizer, infos, before, slots_before, step_gradients, scalars);
    for (auto const& weight : after.weights) b.result(weight);
    for (auto const& slot : after.slots) b.result(slot);
    ProgramRun program(b.finish());

    std::size_t const count = gradients.at(0).size() / weights[0].size();
    for (std::size_t done = 0; done < count; ++done) {
      for (auto const& values : weights) program.with(values);
      for (auto const& values : slots) program.with(values);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        auto const begin = gradients[i].begin() + static_cast<std::ptrdiff_t>(done * weights[i].size());
        program.with(std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(weights[i].size())));
      }
      auto const step = Lowering::numbers(optimizer, done + 1, optimizer.learning_rate(done));
      program.with(std::vector<double>(step.begin(), step.end())).run();
      for (auto& values : weights) values = program.template take<T>();
      for (auto& values : slots) values = program.template take<T>();
      for (std::size_t i = 0; i < weights.size(); ++i)
        steps[i].insert(steps[i].end(), weights[i].begin(), weights[i].end());
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::string const name = variables[i].at("steps");
      c.compare<T>(name, c.array<double>(name).values, steps[i]);
    }
  }
};

}  // namespace trireme::test

using namespace trireme::test;

BOOST_AUTO_TEST_CASE(losses_have_keras_values_and_gradients) { check_losses<OnPlugin>(); }
BOOST_AUTO_TEST_CASE(metrics_have_keras_results) { check_metrics<OnPlugin>(); }
BOOST_AUTO_TEST_CASE(optimizers_take_keras_steps) { check_optimizers<OnPlugin>(); }
