#define BOOST_TEST_MODULE loss_gradients
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

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

namespace {

using Row = std::array<double, 4>;

template <class Loss, class Label>
void check(Loss const& loss, Row const& prediction, Label const* target) {
  double const scale = 0.375;
  Row gradient{};
  double const value = loss(prediction.data(), target, prediction.size(), scale, gradient.data());
  BOOST_TEST(value == loss(prediction.data(), target, prediction.size(), 1.0, static_cast<double*>(nullptr)));
  for (std::size_t i = 0; i < prediction.size(); ++i) {
    double const h = 1e-4;
    auto at = [&](double step) {
      Row moved = prediction;
      moved[i] += step;
      return loss(moved.data(), target, moved.size(), 1.0, static_cast<double*>(nullptr));
    };
    // Fourth order, so that the quotient itself is good to more than 1e-6.
    double const expected = scale * (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    BOOST_TEST(std::abs(gradient[i] - expected) <= 1e-6 * std::abs(expected) + 1e-9,
               Loss::name.view() << " element " << i << ": " << gradient[i] << " for " << expected);
  }
}

Row const scores{0.8, -1.3, 0.2, 2.1}, truths{0.5, -1.0, 1.4, 0.3};
Row const probabilities{0.31, 0.12, 0.44, 0.13}, distribution{0.1, 0.2, 0.65, 0.05}, yes_no{1, 0, 1, 0};

}  // namespace

BOOST_AUTO_TEST_CASE(regression_losses_agree_with_central_differences) {
  check(tr::MeanSquaredError{}, scores, truths.data());
  check(tr::MeanAbsoluteError{}, scores, truths.data());
  check(tr::MeanAbsolutePercentageError{}, scores, truths.data());
  check(tr::Huber{}, scores, truths.data());
  check(tr::Huber{.delta = 0.4}, scores, truths.data());
  check(tr::LogCosh{}, scores, truths.data());
  check(tr::CosineSimilarity{}, scores, truths.data());
  check(tr::MeanSquaredLogarithmicError{}, probabilities, distribution.data());
  check(tr::Poisson{}, probabilities, distribution.data());
}

BOOST_AUTO_TEST_CASE(crossentropies_agree_with_central_differences) {
  for (double const smoothing : {0.0, 0.1}) {
    check(tr::BinaryCrossentropy{.from_logits = true, .label_smoothing = smoothing}, scores, yes_no.data());
    check(tr::BinaryCrossentropy{.label_smoothing = smoothing}, probabilities, yes_no.data());
    check(tr::CategoricalCrossentropy{.from_logits = true, .label_smoothing = smoothing}, scores, distribution.data());
    check(tr::CategoricalCrossentropy{.label_smoothing = smoothing}, probabilities, distribution.data());
  }
  // Targets that do not sum to 1, and probabilities that do not either.
  check(tr::CategoricalCrossentropy{.from_logits = true}, scores, yes_no.data());
  check(tr::CategoricalCrossentropy{}, {0.3, 0.8, 0.2, 0.4}, yes_no.data());
  for (std::int32_t label = 0; label < 4; ++label) {
    check(tr::SparseCategoricalCrossentropy{.from_logits = true}, scores, &label);
    check(tr::SparseCategoricalCrossentropy{}, probabilities, &label);
  }
  check(tr::KLDivergence{}, probabilities, distribution.data());
}

BOOST_AUTO_TEST_CASE(focal_losses_agree_with_central_differences) {
  for (bool const balancing : {false, true}) {
    check(tr::BinaryFocalCrossentropy{.apply_class_balancing = balancing}, probabilities, yes_no.data());
    check(tr::BinaryFocalCrossentropy{.apply_class_balancing = balancing, .gamma = 1.5, .from_logits = true}, scores,
          yes_no.data());
  }
  check(tr::CategoricalFocalCrossentropy{}, probabilities, distribution.data());
  check(tr::CategoricalFocalCrossentropy{.gamma = 3, .from_logits = true}, scores, distribution.data());
}

BOOST_AUTO_TEST_CASE(hinges_agree_with_central_differences) {
  Row const signs{1, -1, -1, 1};
  check(tr::Hinge{}, scores, signs.data());
  check(tr::Hinge{}, scores, yes_no.data());
  check(tr::SquaredHinge{}, scores, signs.data());
  Row const one_hot{0, 0, 1, 0};
  check(tr::CategoricalHinge{}, scores, one_hot.data());
}
