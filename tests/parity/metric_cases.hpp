/// Metrics by the configuration of a reference case, in one execution context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "parity/context_memory.hpp"
#include "parity/reference.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/binary_accuracy.hpp"
#include "trireme/metrics/categorical_accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/metrics/sparse_categorical_accuracy.hpp"
#include "trireme/metrics/sparse_top_k_categorical_accuracy.hpp"
#include "trireme/metrics/top_k_categorical_accuracy.hpp"

namespace trireme::test {

/// The state of a metric after one position.
template <class T, class Label, class Metric>
struct MetricAt {
  static constexpr std::size_t width = Metric::state_size;
  Metric metric;
  T const* prediction;
  Label const* truth;
  std::size_t size, truth_size;  ///< of a position
  double const* weight;
  KOKKOS_FUNCTION void operator()(std::size_t p, double* state) const {
    metric.update(prediction + p * size, truth + p * truth_size, size, weight[p], state);
  }
};

template <class Context, class T, class Label, class Metric>
void check_in_context(ReferenceCase const& c, Metric const& metric) {
  std::vector<double> results, weighted_results;
  auto const state = in_memory_of<Context>(std::vector<double>(Metric::state_size));
  auto const weighted_state = in_memory_of<Context>(std::vector<double>(Metric::state_size));
  Context context;
  for (nlohmann::json const& batch : c.description.at("batches")) {
    auto const prediction = c.array<T>(batch.at("y_pred"));
    auto const truth = c.array<Label>(batch.at("y_true"));
    auto const weight = c.array<double>(batch.at("sample_weight")).values;
    std::size_t const size = prediction.extents.size() < 2 ? 1 : prediction.last_extent();
    std::size_t const positions = prediction.values.size() / size;
    std::size_t const truth_size = positions == 0 ? 0 : truth.values.size() / positions;
    auto const from = in_memory_of<Context>(prediction.values);
    auto const to = in_memory_of<Context>(truth.values);
    auto const add = [&](std::vector<double> const& weights, auto const& totals) {
      auto const own = in_memory_of<Context>(weights);
      context.accumulate("trireme::metric_of_a_case", positions,
                         MetricAt<T, Label, Metric>{metric, from.data(), to.data(), size, truth_size, own.data()},
                         totals.data());
      Kokkos::fence("trireme: weights of a case are read");
    };
    add(std::vector<double>(positions, 1.0), state);
    std::vector<double> of_positions(positions);
    for (std::size_t p = 0; p < positions; ++p) of_positions[p] = weight[p * weight.size() / positions];
    add(of_positions, weighted_state);
    results.push_back(metric.result(to_host(state).data()));
    weighted_results.push_back(metric.result(to_host(weighted_state).data()));
  }
  auto const& expected = c.description.at("expected");
  c.compare<T>("results", expected.at("results").get<std::vector<double>>(), results);
  c.compare<T>("weighted results", expected.at("results_weighted").get<std::vector<double>>(), weighted_results);
}

template <class Context, class T, class Label, class Metric>
void check_labels(ReferenceCase const& c, Metric const& metric) {
  if constexpr (RunsPrograms<Context>)
    Context::template check_metric<T, Label>(c, metric);
  else
    check_in_context<Context, T, Label>(c, metric);
}

template <class Context, class T, class Metric>
void check_metric(ReferenceCase const& c, Metric const& metric) {
  if (c.is_integer("b0_y_true")) {
    check_labels<Context, T, std::int32_t>(c, metric);
  } else {
    check_labels<Context, T, T>(c, metric);
  }
}

/// False if the library has no such metric.
template <class Context, class T>
bool run_metric(ReferenceCase const& c) {
  nlohmann::json const& config = c.description.at("config");
  std::string const name = c.class_name();
  bool const from_logits = option(config, "from_logits", false);
  double const smoothing = option(config, "label_smoothing", 0.0);
  if (name == "BinaryAccuracy") {
    check_metric<Context, T>(c, BinaryAccuracy{.threshold = option(config, "threshold", 0.5)});
    if (config.empty()) check_metric<Context, T>(c, Accuracy{});  // "accuracy" resolves to it by shape
  } else if (name == "CategoricalAccuracy") {
    check_metric<Context, T>(c, CategoricalAccuracy{});
    check_metric<Context, T>(c, Accuracy{});
  } else if (name == "SparseCategoricalAccuracy") {
    check_metric<Context, T>(c, SparseCategoricalAccuracy{});
    check_metric<Context, T>(c, Accuracy{});
  } else if (name == "TopKCategoricalAccuracy") {
    check_metric<Context, T>(c, TopKCategoricalAccuracy{.k = option<std::size_t>(config, "k", 5)});
  } else if (name == "SparseTopKCategoricalAccuracy") {
    check_metric<Context, T>(c, SparseTopKCategoricalAccuracy{.k = option<std::size_t>(config, "k", 5)});
  } else if (name == "BinaryCrossentropy") {
    check_labels<Context, T, T>(
        c, metrics::BinaryCrossentropy{.loss = {.from_logits = from_logits, .label_smoothing = smoothing}});
  } else if (name == "CategoricalCrossentropy") {
    check_labels<Context, T, T>(
        c, metrics::CategoricalCrossentropy{.loss = {.from_logits = from_logits, .label_smoothing = smoothing}});
  } else if (name == "SparseCategoricalCrossentropy") {
    check_labels<Context, T, std::int32_t>(
        c, metrics::SparseCategoricalCrossentropy{.loss = {.from_logits = from_logits}});
  } else if (name == "MeanSquaredError") {
    check_labels<Context, T, T>(c, metrics::MeanSquaredError{});
  } else if (name == "RootMeanSquaredError") {
    check_labels<Context, T, T>(c, metrics::RootMeanSquaredError{});
  } else if (name == "MeanAbsoluteError") {
    check_labels<Context, T, T>(c, metrics::MeanAbsoluteError{});
  } else if (name == "MeanAbsolutePercentageError") {
    check_labels<Context, T, T>(c, metrics::MeanAbsolutePercentageError{});
  } else if (name == "MeanSquaredLogarithmicError") {
    check_labels<Context, T, T>(c, metrics::MeanSquaredLogarithmicError{});
  } else if (name == "LogCoshError") {
    check_labels<Context, T, T>(c, metrics::LogCoshError{});
  } else if (name == "CosineSimilarity") {
    check_labels<Context, T, T>(c, metrics::CosineSimilarity{});
  } else if (name == "Hinge") {
    check_labels<Context, T, T>(c, metrics::Hinge{});
  } else if (name == "SquaredHinge") {
    check_labels<Context, T, T>(c, metrics::SquaredHinge{});
  } else if (name == "CategoricalHinge") {
    check_labels<Context, T, T>(c, metrics::CategoricalHinge{});
  } else if (name == "KLDivergence") {
    check_labels<Context, T, T>(c, metrics::KLDivergence{});
  } else if (name == "Poisson") {
    check_labels<Context, T, T>(c, metrics::Poisson{});
  } else {
    return false;  // Keras's class Accuracy too: it compares for equality, while "accuracy" resolves by shapes
  }
  return true;
}

template <class Context>
void check_metrics() {
  Tally tally({"BinaryAccuracy",
               "BinaryCrossentropy",
               "CategoricalAccuracy",
               "CategoricalCrossentropy",
               "CategoricalHinge",
               "CosineSimilarity",
               "Hinge",
               "KLDivergence",
               "LogCoshError",
               "MeanAbsoluteError",
               "MeanAbsolutePercentageError",
               "MeanSquaredError",
               "MeanSquaredLogarithmicError",
               "Poisson",
               "RootMeanSquaredError",
               "SparseCategoricalAccuracy",
               "SparseCategoricalCrossentropy",
               "SparseTopKCategoricalAccuracy",
               "SquaredHinge",
               "TopKCategoricalAccuracy"});
  for (ReferenceCase const& c : reference_cases("metrics")) {
    if (run_metric<Context, double>(c) && run_metric<Context, float>(c)) {
      tally.ran(c);
    } else {
      tally.missing(c, c.class_name());
    }
  }
  tally.check();
}

}  // namespace trireme::test
