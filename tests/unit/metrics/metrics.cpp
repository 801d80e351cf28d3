#define BOOST_TEST_MODULE metrics
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/binary_accuracy.hpp"
#include "trireme/metrics/categorical_accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/metrics/sparse_categorical_accuracy.hpp"
#include "trireme/metrics/sparse_top_k_categorical_accuracy.hpp"
#include "trireme/metrics/top_k_categorical_accuracy.hpp"
#include "trireme/metrics/weighted.hpp"
#include "trireme/tensor/extents.hpp"

namespace tr = trireme;

namespace {

template <class Metric, class Label, std::size_t N>
double once(Metric const& metric, std::array<double, N> const& prediction, Label const* target) {
  std::array<double, Metric::state_size> state{};
  metric.update(prediction.data(), target, N, 1.0, state.data());
  return metric.result(state.data());
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_metrics_are_in_the_namespace_metrics) {
  BOOST_TEST((std::is_same_v<tr::metrics::Accuracy, tr::Accuracy>));
  BOOST_TEST((std::is_same_v<tr::metrics::BinaryAccuracy, tr::BinaryAccuracy>));
  BOOST_TEST((std::is_same_v<tr::metrics::CategoricalAccuracy, tr::CategoricalAccuracy>));
  BOOST_TEST((std::is_same_v<tr::metrics::SparseCategoricalAccuracy, tr::SparseCategoricalAccuracy>));
  BOOST_TEST((std::is_same_v<tr::metrics::TopKCategoricalAccuracy, tr::TopKCategoricalAccuracy>));
  BOOST_TEST((std::is_same_v<tr::metrics::SparseTopKCategoricalAccuracy, tr::SparseTopKCategoricalAccuracy>));
}

BOOST_AUTO_TEST_CASE(accuracy_is_resolved_by_shapes) {
  std::int32_t const index = 2;
  std::array<double, 3> const one_hot{0, 0, 1};
  BOOST_TEST(once(tr::Accuracy{}, std::array{0.1, 0.2, 0.7}, &index) == 1.0);
  BOOST_TEST(once(tr::Accuracy{}, std::array{0.7, 0.2, 0.1}, &index) == 0.0);
  BOOST_TEST(once(tr::Accuracy{}, std::array{0.1, 0.2, 0.7}, one_hot.data()) == 1.0);
  double const yes = 1;
  BOOST_TEST(once(tr::Accuracy{}, std::array{0.6}, &yes) == 1.0);
  BOOST_TEST(once(tr::Accuracy{}, std::array{0.5}, &yes) == 0.0);  // strictly above the threshold
  std::int32_t const one = 1;
  BOOST_TEST(once(tr::Accuracy{}, std::array{0.6}, &one) == 1.0);
}

BOOST_AUTO_TEST_CASE(the_first_of_several_largest_predictions_counts) {
  std::int32_t const first = 0, second = 1;
  BOOST_TEST(once(tr::SparseCategoricalAccuracy{}, std::array{0.4, 0.4, 0.2}, &first) == 1.0);
  BOOST_TEST(once(tr::SparseCategoricalAccuracy{}, std::array{0.4, 0.4, 0.2}, &second) == 0.0);
}

BOOST_AUTO_TEST_CASE(a_prediction_that_is_nan_is_not_the_largest) {  // as on TensorFlow
  double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  auto const chosen = [](std::array<double, 3> const& prediction) {
    for (std::int32_t label = 0; label < 3; ++label)
      if (once(tr::SparseCategoricalAccuracy{}, prediction, &label) == 1.0) return label;
    return -1;
  };
  BOOST_TEST(chosen({nan, -3, -2}) == 2);
  BOOST_TEST(chosen({nan, nan, -2}) == 2);
  BOOST_TEST(chosen({1, nan, 0}) == 0);
  BOOST_TEST(chosen({nan, nan, nan}) == 0);
  BOOST_TEST(chosen({nan, -infinity, -infinity}) == 0);
  std::array<int, 3> const target{0, 1, 0};
  BOOST_TEST(once(tr::CategoricalAccuracy{}, std::array{nan, 0.1, -0.1}, target.data()) == 1.0);
}

BOOST_AUTO_TEST_CASE(top_k_counts_ties_as_inside_and_nothing_that_is_not_finite) {
  std::int32_t const last = 3, outside = 7, negative = -1;
  std::array const tied{0.4, 0.2, 0.2, 0.2};
  BOOST_TEST(once(tr::SparseTopKCategoricalAccuracy{.k = 2}, tied, &last) == 1.0);
  BOOST_TEST(once(tr::SparseTopKCategoricalAccuracy{.k = 1}, tied, &last) == 0.0);
  BOOST_TEST(once(tr::SparseTopKCategoricalAccuracy{.k = 9}, tied, &outside) == 0.0);
  BOOST_TEST(once(tr::SparseTopKCategoricalAccuracy{.k = 9}, tied, &negative) == 0.0);
  std::array const broken{0.4, std::numeric_limits<double>::quiet_NaN(), 0.2, 0.9};
  BOOST_TEST(once(tr::SparseTopKCategoricalAccuracy{.k = 4}, broken, &last) == 0.0);
  std::array const one_hot{0.0, 0.0, 0.0, 1.0};
  BOOST_TEST(once(tr::TopKCategoricalAccuracy{.k = 2}, tied, one_hot.data()) == 1.0);
}

BOOST_AUTO_TEST_CASE(states_of_replicas_add_to_the_result_of_all_positions) {
  tr::metrics::RootMeanSquaredError const metric;
  std::array<double, 2> left{}, right{}, whole{};
  std::array<double, 3> const prediction{1, 5, -2}, truth{0, 2, 2};
  for (std::size_t p = 0; p < 3; ++p) {
    metric.update(&prediction[p], &truth[p], 1, 1.0, p == 0 ? left.data() : right.data());
    metric.update(&prediction[p], &truth[p], 1, 1.0, whole.data());
  }
  for (std::size_t i = 0; i < 2; ++i) left[i] += right[i];
  BOOST_TEST(metric.result(left.data()) == metric.result(whole.data()));
  BOOST_TEST(metric.result(whole.data()) == std::sqrt(26.0 / 3), boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(a_result_over_nothing_is_zero) {
  std::array<double, 2> const nothing{};
  BOOST_TEST(tr::Accuracy{}.result(nothing.data()) == 0.0);
  BOOST_TEST(tr::metrics::MeanSquaredError{}.result(nothing.data()) == 0.0);
}

BOOST_AUTO_TEST_CASE(a_mean_leaves_out_the_positions_that_its_loss_ignores) {
  tr::metrics::SparseCategoricalCrossentropy const metric{.loss = {.from_logits = true, .ignore_class = 0}};
  std::array<double, 2> const logits{0, 0};
  std::array<double, 2> state{};
  std::int32_t const ignored = 0, counted = 1;
  metric.update(logits.data(), &ignored, 2, 1.0, state.data());
  BOOST_TEST(metric.result(state.data()) == 0.0);
  metric.update(logits.data(), &counted, 2, 1.0, state.data());
  BOOST_TEST(metric.result(state.data()) == std::log(2.0), boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(names_and_directions_are_those_of_keras) {
  BOOST_TEST(tr::metrics::MeanAbsoluteError::name.view() == "mean_absolute_error");
  BOOST_TEST(tr::metrics::RootMeanSquaredError::name.view() == "root_mean_squared_error");
  BOOST_TEST(tr::metrics::LogCoshError::name.view() == "logcosh");
  static_assert(tr::metrics::RootMeanSquaredError::direction == tr::Direction::down);
  static_assert(tr::metrics::CosineSimilarity::direction == tr::Direction::up);
  static_assert(tr::metrics::KLDivergence::direction == tr::Direction::none);
  static_assert(tr::Accuracy::direction == tr::Direction::up);
}

BOOST_AUTO_TEST_CASE(metrics_say_which_targets_they_fit) {
  using Ten = tr::Extents<10>;
  static_assert(tr::SparseCategoricalAccuracy::fits<tr::ClassIndex, Ten>);
  static_assert(!tr::SparseCategoricalAccuracy::fits<tr::DenseTarget, Ten>);
  static_assert(!tr::CategoricalAccuracy::fits<tr::ClassIndex, Ten>);
  static_assert(!tr::BinaryAccuracy::fits<tr::ClassIndex, Ten>);
  static_assert(tr::BinaryAccuracy::fits<tr::ClassIndex, tr::Extents<1>>);
  static_assert(!tr::metrics::MeanSquaredError::fits<tr::ClassIndex, Ten>);
  static_assert(tr::metrics::MeanSquaredError::require_fit<tr::DenseTarget, Ten>());
}

BOOST_AUTO_TEST_CASE(a_weighted_metric_is_its_metric_and_says_so) {
  auto const metric = tr::Weighted{tr::BinaryAccuracy{.threshold = 0.25}};
  static_assert(tr::is_weighted<tr::Weighted<tr::BinaryAccuracy>>);
  static_assert(!tr::is_weighted<tr::BinaryAccuracy>);
  double const yes = 1;
  BOOST_TEST(once(metric, std::array{0.3}, &yes) == 1.0);
}
