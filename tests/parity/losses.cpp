// Every loss gives Keras's values, reductions and gradients, weighted and not, in float and double.
#define BOOST_TEST_MODULE parity_losses
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "parity/reference.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/binary_focal_crossentropy.hpp"
#include "trireme/losses/categorical_crossentropy.hpp"
#include "trireme/losses/categorical_focal_crossentropy.hpp"
#include "trireme/losses/categorical_hinge.hpp"
#include "trireme/losses/cosine_similarity.hpp"
#include "trireme/losses/hinge.hpp"
#include "trireme/losses/huber.hpp"
#include "trireme/losses/kl_divergence.hpp"
#include "trireme/losses/log_cosh.hpp"
#include "trireme/losses/mean_absolute_error.hpp"
#include "trireme/losses/mean_absolute_percentage_error.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/mean_squared_logarithmic_error.hpp"
#include "trireme/losses/poisson.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/losses/squared_hinge.hpp"

namespace tr = trireme;
using namespace trireme::test;

namespace {

template <class T, class Loss>
struct LossCase {
  ReferenceCase const& c;
  Loss const& loss;
  using Label = typename Loss::target::template value_type<T>;

  ReferenceArray<T> prediction = c.template array<T>("y_pred");
  ReferenceArray<Label> truth = c.template array<Label>("y_true");
  std::size_t size = prediction.last_extent();
  std::size_t positions = prediction.values.size() / size;

  Label const* label(std::size_t p) const {
    return truth.values.data() + p * (std::is_same_v<typename Loss::target, tr::ClassIndex> ? 1 : size);
  }
  bool counts(std::size_t p) const {
    if constexpr (requires { loss.counts(label(p)); }) return loss.counts(label(p));
    return true;
  }

  /// With one weight for each position, or several positions that share one.
  void check(std::optional<std::string> const& weights, std::string const& suffix) const {
    std::vector<double> const given =
        weights ? c.template array<double>(*weights).values : std::vector<double>(positions, 1.0);
    std::vector<double> weight(positions);
    double count = 0, weight_sum = 0, sum = 0;
    for (std::size_t p = 0; p < positions; ++p) {
      weight[p] = given[p * given.size() / positions];
      count += counts(p) ? 1 : 0;
      weight_sum += counts(p) ? weight[p] : 0;
    }
    // Keras divides by the sum of the weights as they were given, unless some positions do not count.
    if (count == static_cast<double>(positions)) weight_sum = std::accumulate(given.begin(), given.end(), 0.0);
    std::vector<T> values(positions), gradient(prediction.values.size());
    for (std::size_t p = 0; p < positions; ++p) {
      T const* const from = prediction.values.data() + p * size;
      values[p] = loss(from, label(p), size, static_cast<T>(weight[p] / count), gradient.data() + p * size);
      BOOST_TEST(loss(from, label(p), size, T(1), static_cast<T*>(nullptr)) == values[p]);
      sum += weight[p] * static_cast<double>(values[p]);
    }
    auto const& expected = c.description.at("expected");
    c.compare<T>("sum" + suffix, expected.at("sum" + suffix), sum);
    c.compare<T>("mean" + suffix, expected.at("sum_over_batch_size" + suffix), sum / count);
    c.compare<T>("weighted mean" + suffix, expected.at("mean_with_sample_weight" + suffix), sum / weight_sum);
    c.compare<T>("gradient" + suffix, c.array<double>("gradient" + suffix).values, gradient);
    if (!weights) c.compare<T>("values", c.array<double>("values").values, values);
  }
};

template <class T, class Loss>
void check(ReferenceCase const& c, Loss const& loss) {
  LossCase<T, Loss> const run{c, loss};
  run.check(std::nullopt, "");
  if (c.has("gradient_weighted")) run.check("sample_weight", "_weighted");
  if (c.has("gradient_elementwise")) run.check("sample_weight_elementwise", "_elementwise");
}

/// False if the library has no such loss.
template <class T>
bool run(ReferenceCase const& c) {
  auto const& config = c.description.at("config");
  std::string const name = c.class_name();
  bool const from_logits = option(config, "from_logits", false);
  double const smoothing = option(config, "label_smoothing", 0.0);
  double const alpha = option(config, "alpha", 0.25), gamma = option(config, "gamma", 2.0);
  if (config.contains("axis")) return false;
  if (name == "BinaryCrossentropy") {
    check<T>(c, tr::BinaryCrossentropy{.from_logits = from_logits, .label_smoothing = smoothing});
  } else if (name == "BinaryFocalCrossentropy") {
    check<T>(c, tr::BinaryFocalCrossentropy{.apply_class_balancing = option(config, "apply_class_balancing", false),
                                            .alpha = alpha,
                                            .gamma = gamma,
                                            .from_logits = from_logits,
                                            .label_smoothing = smoothing});
  } else if (name == "CategoricalCrossentropy") {
    check<T>(c, tr::CategoricalCrossentropy{.from_logits = from_logits, .label_smoothing = smoothing});
  } else if (name == "CategoricalFocalCrossentropy") {
    check<T>(c, tr::CategoricalFocalCrossentropy{
                    .alpha = alpha, .gamma = gamma, .from_logits = from_logits, .label_smoothing = smoothing});
  } else if (name == "SparseCategoricalCrossentropy") {
    check<T>(c, tr::SparseCategoricalCrossentropy{
                    .from_logits = from_logits,
                    .ignore_class = option(config, "ignore_class", tr::SparseCategoricalCrossentropy::no_class)});
  } else if (name == "Huber") {
    check<T>(c, tr::Huber{.delta = option(config, "delta", 1.0)});
  } else if (name == "CategoricalHinge") {
    check<T>(c, tr::CategoricalHinge{});
  } else if (name == "CosineSimilarity") {
    check<T>(c, tr::CosineSimilarity{});
  } else if (name == "Hinge") {
    check<T>(c, tr::Hinge{});
  } else if (name == "KLDivergence") {
    check<T>(c, tr::KLDivergence{});
  } else if (name == "LogCosh") {
    check<T>(c, tr::LogCosh{});
  } else if (name == "MeanAbsoluteError") {
    check<T>(c, tr::MeanAbsoluteError{});
  } else if (name == "MeanAbsolutePercentageError") {
    check<T>(c, tr::MeanAbsolutePercentageError{});
  } else if (name == "MeanSquaredError") {
    check<T>(c, tr::MeanSquaredError{});
  } else if (name == "MeanSquaredLogarithmicError") {
    check<T>(c, tr::MeanSquaredLogarithmicError{});
  } else if (name == "Poisson") {
    check<T>(c, tr::Poisson{});
  } else if (name == "SquaredHinge") {
    check<T>(c, tr::SquaredHinge{});
  } else {
    return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(losses_have_keras_values_and_gradients) {
  Tally tally({"BinaryCrossentropy", "BinaryFocalCrossentropy", "CategoricalCrossentropy",
               "CategoricalFocalCrossentropy", "CategoricalHinge", "CosineSimilarity", "Hinge", "Huber", "KLDivergence",
               "LogCosh", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError",
               "MeanSquaredLogarithmicError", "Poisson", "SparseCategoricalCrossentropy", "SquaredHinge"});
  for (ReferenceCase const& c : reference_cases("losses")) {
    if (run<double>(c) && run<float>(c)) {
      tally.ran(c);
    } else {
      tally.missing(c, c.class_name());
    }
  }
  tally.check();
}
