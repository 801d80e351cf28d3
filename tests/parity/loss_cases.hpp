/// Losses by the configuration of a reference case, in one execution context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "parity/context_memory.hpp"
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

namespace trireme::test {

/// The loss of one position.
template <class T, class Loss, class Label>
struct LossAt {
  Loss loss;
  T const* prediction;
  Label const* truth;
  std::size_t size, truth_size;  ///< of a position
  T const* scale;
  T *values, *gradient;  ///< gradient: null where it is not needed
  KOKKOS_FUNCTION void operator()(std::size_t p) const {
    values[p] =
        loss(prediction + p * size, truth + p * truth_size, size, scale[p], gradient ? gradient + p * size : nullptr);
  }
};

template <class Context, class T, class Loss>
struct LossCase {
  ReferenceCase const& c;
  Loss const& loss;
  using Label = typename Loss::target::template value_type<T>;

  ReferenceArray<T> prediction = c.template array<T>("y_pred");
  ReferenceArray<Label> truth = c.template array<Label>("y_true");
  std::size_t size = prediction.last_extent();
  std::size_t positions = prediction.values.size() / size;

  std::size_t truth_size = std::is_same_v<typename Loss::target, ClassIndex> ? 1 : size;

  Label const* label(std::size_t p) const { return truth.values.data() + p * truth_size; }
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
    std::vector<T> scales(positions);
    for (std::size_t p = 0; p < positions; ++p) scales[p] = static_cast<T>(weight[p] / count);
    auto const [values, gradient] = computed(scales, true);
    BOOST_TEST(computed(std::vector<T>(positions, T(1)), false).first == values, boost::test_tools::per_element());
    for (std::size_t p = 0; p < positions; ++p) sum += weight[p] * static_cast<double>(values[p]);
    auto const& expected = c.description.at("expected");
    c.compare<T>("sum" + suffix, expected.at("sum" + suffix), sum);
    c.compare<T>("mean" + suffix, expected.at("sum_over_batch_size" + suffix), sum / count);
    c.compare<T>("weighted mean" + suffix, expected.at("mean_with_sample_weight" + suffix), sum / weight_sum);
    c.compare<T>("gradient" + suffix, c.array<double>("gradient" + suffix).values, gradient);
    if (!weights) c.compare<T>("values", c.array<double>("values").values, values);
  }

  /// The values of all positions, and their gradients.
  std::pair<std::vector<T>, std::vector<T>> computed(std::vector<T> const& scales, bool differentiates) const {
    auto const given = in_memory_of<Context>(prediction.values), scale = in_memory_of<Context>(scales);
    auto const labels = in_memory_of<Context>(truth.values);
    auto const values = in_memory_of<Context>(std::vector<T>(positions));
    auto const gradient = in_memory_of<Context>(std::vector<T>(prediction.values.size()));
    Context().for_rows("trireme::loss_of_a_case", positions,
                       LossAt<T, Loss, Label>{loss, given.data(), labels.data(), size, truth_size, scale.data(),
                                              values.data(), differentiates ? gradient.data() : nullptr});
    return {to_host(values), to_host(gradient)};
  }
};

template <class Context, class T, class Loss>
void check_loss(ReferenceCase const& c, Loss const& loss) {
  if constexpr (RunsPrograms<Context>) {
    Context::template check_loss<T>(c, loss);
  } else {
    LossCase<Context, T, Loss> const run{c, loss};
    run.check(std::nullopt, "");
    if (c.has("gradient_weighted")) run.check("sample_weight", "_weighted");
    if (c.has("gradient_elementwise")) run.check("sample_weight_elementwise", "_elementwise");
  }
}

/// False if the library has no such loss.
template <class Context, class T>
bool run_loss(ReferenceCase const& c) {
  auto const& config = c.description.at("config");
  std::string const name = c.class_name();
  bool const from_logits = option(config, "from_logits", false);
  double const smoothing = option(config, "label_smoothing", 0.0);
  double const alpha = option(config, "alpha", 0.25), gamma = option(config, "gamma", 2.0);
  if (config.contains("axis")) return false;
  if (name == "BinaryCrossentropy") {
    check_loss<Context, T>(c, BinaryCrossentropy{.from_logits = from_logits, .label_smoothing = smoothing});
  } else if (name == "BinaryFocalCrossentropy") {
    check_loss<Context, T>(
        c, BinaryFocalCrossentropy{.apply_class_balancing = option(config, "apply_class_balancing", false),
                                   .alpha = alpha,
                                   .gamma = gamma,
                                   .from_logits = from_logits,
                                   .label_smoothing = smoothing});
  } else if (name == "CategoricalCrossentropy") {
    check_loss<Context, T>(c, CategoricalCrossentropy{.from_logits = from_logits, .label_smoothing = smoothing});
  } else if (name == "CategoricalFocalCrossentropy") {
    check_loss<Context, T>(
        c, CategoricalFocalCrossentropy{
               .alpha = alpha, .gamma = gamma, .from_logits = from_logits, .label_smoothing = smoothing});
  } else if (name == "SparseCategoricalCrossentropy") {
    check_loss<Context, T>(
        c, SparseCategoricalCrossentropy{
               .from_logits = from_logits,
               .ignore_class = option(config, "ignore_class", SparseCategoricalCrossentropy::no_class)});
  } else if (name == "Huber") {
    check_loss<Context, T>(c, Huber{.delta = option(config, "delta", 1.0)});
  } else if (name == "CategoricalHinge") {
    check_loss<Context, T>(c, CategoricalHinge{});
  } else if (name == "CosineSimilarity") {
    check_loss<Context, T>(c, CosineSimilarity{});
  } else if (name == "Hinge") {
    check_loss<Context, T>(c, Hinge{});
  } else if (name == "KLDivergence") {
    check_loss<Context, T>(c, KLDivergence{});
  } else if (name == "LogCosh") {
    check_loss<Context, T>(c, LogCosh{});
  } else if (name == "MeanAbsoluteError") {
    check_loss<Context, T>(c, MeanAbsoluteError{});
  } else if (name == "MeanAbsolutePercentageError") {
    check_loss<Context, T>(c, MeanAbsolutePercentageError{});
  } else if (name == "MeanSquaredError") {
    check_loss<Context, T>(c, MeanSquaredError{});
  } else if (name == "MeanSquaredLogarithmicError") {
    check_loss<Context, T>(c, MeanSquaredLogarithmicError{});
  } else if (name == "Poisson") {
    check_loss<Context, T>(c, Poisson{});
  } else if (name == "SquaredHinge") {
    check_loss<Context, T>(c, SquaredHinge{});
  } else {
    return false;
  }
  return true;
}

template <class Context>
void check_losses() {
  Tally tally({"BinaryCrossentropy", "BinaryFocalCrossentropy", "CategoricalCrossentropy",
               "CategoricalFocalCrossentropy", "CategoricalHinge", "CosineSimilarity", "Hinge", "Huber", "KLDivergence",
               "LogCosh", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError",
               "MeanSquaredLogarithmicError", "Poisson", "SparseCategoricalCrossentropy", "SquaredHinge"});
  for (ReferenceCase const& c : reference_cases("losses")) {
    if (run_loss<Context, double>(c) && run_loss<Context, float>(c)) {
      tally.ran(c);
    } else {
      tally.missing(c, c.class_name());
    }
  }
  tally.check();
}

}  // namespace trireme::test
