// Every metric gives Keras's results after each batch, with and without weights, in float and double.
#define BOOST_TEST_MODULE parity_metrics
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "parity/reference.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/binary_accuracy.hpp"
#include "trireme/metrics/categorical_accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/metrics/sparse_categorical_accuracy.hpp"
#include "trireme/metrics/sparse_top_k_categorical_accuracy.hpp"
#include "trireme/metrics/top_k_categorical_accuracy.hpp"

namespace tr = trireme;
using namespace trireme::test;
using nlohmann::json;

namespace {

template <class T, class Label, class Metric>
void check_labels(ReferenceCase const& c, Metric const& metric) {
  std::vector<double> results, weighted_results;
  std::array<double, Metric::state_size> state{}, weighted_state{};
  for (json const& batch : c.description.at("batches")) {
    auto const prediction = c.array<T>(batch.at("y_pred"));
    auto const truth = c.array<Label>(batch.at("y_true"));
    auto const weight = c.array<double>(batch.at("sample_weight"));
    std::size_t const size = prediction.extents.size() < 2 ? 1 : prediction.last_extent();
    std::size_t const positions = prediction.values.size() / size;
    for (std::size_t p = 0; p < positions; ++p) {
      T const* const from = prediction.values.data() + p * size;
      Label const* const to = truth.values.data() + p * truth.values.size() / positions;
      metric.update(from, to, size, 1.0, state.data());
      metric.update(from, to, size, weight.values[p * weight.values.size() / positions], weighted_state.data());
    }
    results.push_back(metric.result(state.data()));
    weighted_results.push_back(metric.result(weighted_state.data()));
  }
  json const& expected = c.description.at("expected");
  c.compare<T>("results", expected.at("results").get<std::vector<double>>(), results);
  c.compare<T>("weighted results", expected.at("results_weighted").get<std::vector<double>>(), weighted_results);
}

template <class T, class Metric>
void check(ReferenceCase const& c, Metric const& metric) {
  if (c.is_integer("b0_y_true")) {
    check_labels<T, std::int32_t>(c, metric);
  } else {
    check_labels<T, T>(c, metric);
  }
}

/// False if the library has no such metric.
template <class T>
bool run(ReferenceCase const& c) {
  json const& config = c.description.at("config");
  std::string const name = c.class_name();
  bool const from_logits = option(config, "from_logits", false);
  double const smoothing = option(config, "label_smoothing", 0.0);
  if (name == "BinaryAccuracy") {
    check<T>(c, tr::BinaryAccuracy{.threshold = option(config, "threshold", 0.5)});
    if (config.empty()) check<T>(c, tr::Accuracy{});  // "accuracy" resolves to it by shape
  } else if (name == "CategoricalAccuracy") {
    check<T>(c, tr::CategoricalAccuracy{});
    check<T>(c, tr::Accuracy{});
  } else if (name == "SparseCategoricalAccuracy") {
    check<T>(c, tr::SparseCategoricalAccuracy{});
    check<T>(c, tr::Accuracy{});
  } else if (name == "TopKCategoricalAccuracy") {
    check<T>(c, tr::TopKCategoricalAccuracy{.k = option<std::size_t>(config, "k", 5)});
  } else if (name == "SparseTopKCategoricalAccuracy") {
    check<T>(c, tr::SparseTopKCategoricalAccuracy{.k = option<std::size_t>(config, "k", 5)});
  } else if (name == "BinaryCrossentropy") {
    check_labels<T, T>(
        c, tr::metrics::BinaryCrossentropy{.loss = {.from_logits = from_logits, .label_smoothing = smoothing}});
  } else if (name == "CategoricalCrossentropy") {
    check_labels<T, T>(
        c, tr::metrics::CategoricalCrossentropy{.loss = {.from_logits = from_logits, .label_smoothing = smoothing}});
  } else if (name == "SparseCategoricalCrossentropy") {
    check_labels<T, std::int32_t>(c, tr::metrics::SparseCategoricalCrossentropy{.loss = {.from_logits = from_logits}});
  } else if (name == "MeanSquaredError") {
    check_labels<T, T>(c, tr::metrics::MeanSquaredError{});
  } else if (name == "RootMeanSquaredError") {
    check_labels<T, T>(c, tr::metrics::RootMeanSquaredError{});
  } else if (name == "MeanAbsoluteError") {
    check_labels<T, T>(c, tr::metrics::MeanAbsoluteError{});
  } else if (name == "MeanAbsolutePercentageError") {
    check_labels<T, T>(c, tr::metrics::MeanAbsolutePercentageError{});
  } else if (name == "MeanSquaredLogarithmicError") {
    check_labels<T, T>(c, tr::metrics::MeanSquaredLogarithmicError{});
  } else if (name == "LogCoshError") {
    check_labels<T, T>(c, tr::metrics::LogCoshError{});
  } else if (name == "CosineSimilarity") {
    check_labels<T, T>(c, tr::metrics::CosineSimilarity{});
  } else if (name == "Hinge") {
    check_labels<T, T>(c, tr::metrics::Hinge{});
  } else if (name == "SquaredHinge") {
    check_labels<T, T>(c, tr::metrics::SquaredHinge{});
  } else if (name == "CategoricalHinge") {
    check_labels<T, T>(c, tr::metrics::CategoricalHinge{});
  } else if (name == "KLDivergence") {
    check_labels<T, T>(c, tr::metrics::KLDivergence{});
  } else if (name == "Poisson") {
    check_labels<T, T>(c, tr::metrics::Poisson{});
  } else {
    return false;  // Keras's class Accuracy too: it compares for equality, while "accuracy" resolves by shapes
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(metrics_have_keras_results) {
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
    if (run<double>(c) && run<float>(c)) {
      tally.ran(c);
    } else {
      tally.missing(c, c.class_name());
    }
  }
  tally.check();
}
