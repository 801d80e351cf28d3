#define BOOST_TEST_MODULE loss_values
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/binary_focal_crossentropy.hpp"
#include "trireme/losses/categorical_crossentropy.hpp"
#include "trireme/losses/cosine_similarity.hpp"
#include "trireme/losses/hinge.hpp"
#include "trireme/losses/huber.hpp"
#include "trireme/losses/mean_absolute_error.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/tensor/extents.hpp"

namespace tr = trireme;
using boost::test_tools::tolerance;

namespace {
double* const no_gradient = nullptr;
}

BOOST_AUTO_TEST_CASE(regression_losses_are_means_over_the_outputs_of_a_position) {
  std::array<double, 2> const prediction{1, 4}, truth{0, 2};
  BOOST_TEST(tr::MeanSquaredError{}(prediction.data(), truth.data(), 2, 1.0, no_gradient) == 2.5);
  BOOST_TEST(tr::MeanAbsoluteError{}(prediction.data(), truth.data(), 2, 1.0, no_gradient) == 1.5);
  BOOST_TEST(tr::Huber{}(prediction.data(), truth.data(), 2, 1.0, no_gradient) == 1.0);  // (0.5 + 1.5) / 2
}

BOOST_AUTO_TEST_CASE(equal_logits_cost_the_logarithm_of_the_number_of_classes) {
  std::array<double, 4> const logits{7, 7, 7, 7}, one_hot{0, 1, 0, 0};
  std::int32_t const label = 1;
  double const expected = std::log(4.0);
  BOOST_TEST(
      tr::SparseCategoricalCrossentropy{.from_logits = true}(logits.data(), &label, 4, 1.0, no_gradient) == expected,
      tolerance(1e-15));
  BOOST_TEST(
      tr::CategoricalCrossentropy{.from_logits = true}(logits.data(), one_hot.data(), 4, 1.0, no_gradient) == expected,
      tolerance(1e-15));
}

// Keras 3.15 divides by the length of a vector, or by 1e-7 if that is larger.
BOOST_AUTO_TEST_CASE(short_vectors_have_the_cosine_of_keras) {
  std::array<double, 2> const truth{0, 5};
  std::array<double, 2> gradient{};
  auto const loss = [&](std::array<double, 2> const& prediction) {
    return tr::CosineSimilarity{}(prediction.data(), truth.data(), 2, 1.0, gradient.data());
  };
  BOOST_TEST(loss({3e-7, 4e-7}) == -0.8, tolerance(1e-14));
  BOOST_TEST(gradient[0] == 0.96e6, tolerance(1e-14));
  BOOST_TEST(gradient[1] == -0.72e6, tolerance(1e-14));
  BOOST_TEST(loss({3e-8, 4e-8}) == -0.4, tolerance(1e-14));
  BOOST_TEST(gradient[1] == -1e7, tolerance(1e-14));
  BOOST_TEST(loss({0, 0}) == 0.0);
  BOOST_TEST(gradient[1] == -1e7, tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(huge_logits_do_not_overflow) {
  std::array<float, 3> const logits{1000, -1000, 0};
  std::array<float, 3> gradient{};
  std::int32_t const label = 1;
  BOOST_TEST(tr::SparseCategoricalCrossentropy{.from_logits = true}(logits.data(), &label, 3, 1.0f, gradient.data()) ==
             2000.0f);
  BOOST_TEST(gradient[0] == 1.0f);
  BOOST_TEST(gradient[1] == -1.0f);
  std::array<float, 3> const yes{1, 1, 0};
  float const binary = tr::BinaryCrossentropy{.from_logits = true}(logits.data(), yes.data(), 3, 1.0f, gradient.data());
  BOOST_TEST(binary == (1000.0f + std::log(2.0f)) / 3, tolerance(1e-6f));
}

BOOST_AUTO_TEST_CASE(clipped_probabilities_have_a_finite_loss_and_no_gradient) {
  std::array<double, 2> const certain{0, 1}, truth{1, 0};
  std::array<double, 2> gradient{5, 5};
  double const value = tr::BinaryCrossentropy{}(certain.data(), truth.data(), 2, 1.0, gradient.data());
  BOOST_TEST(value == -std::log(1e-7), tolerance(1e-9));
  BOOST_TEST(gradient[0] == 0.0);
  BOOST_TEST(gradient[1] == 0.0);
}

BOOST_AUTO_TEST_CASE(certain_and_right_outputs_have_no_gradient_of_a_focal_loss_of_any_power) {
  std::array<float, 2> const certain{1, 0}, logits{200, -200}, truth{1, 0};
  for (double gamma : {0.0, 0.5, 1.0, 2.0}) {
    std::array<float, 2> gradient{5, 5};
    float const value =
        tr::BinaryFocalCrossentropy{.gamma = gamma}(certain.data(), truth.data(), 2, 1.0f, gradient.data());
    BOOST_TEST(value < 1e-6f);
    for (float g : gradient) BOOST_TEST(std::abs(g) < 1e-6f, g << " for gamma " << gamma);
    tr::BinaryFocalCrossentropy{.gamma = gamma, .from_logits = true}(logits.data(), truth.data(), 2, 1.0f,
                                                                     gradient.data());
    for (float g : gradient) BOOST_TEST(std::abs(g) < 1e-6f, g << " for gamma " << gamma << " and logits");
  }
}

BOOST_AUTO_TEST_CASE(a_label_outside_of_the_classes_gives_nan_and_reads_nothing_outside) {
  std::array<double, 3> const logits{1, 2, 3};
  std::array<double, 3> gradient{};
  for (std::int32_t const label : {-1, 3, 1 << 30}) {
    for (bool const from_logits : {false, true}) {
      tr::SparseCategoricalCrossentropy const loss{.from_logits = from_logits};
      BOOST_TEST(std::isnan(loss(logits.data(), &label, 3, 1.0, gradient.data())));
      for (double const g : gradient) BOOST_TEST(std::isnan(g));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_position_of_the_ignored_class_has_no_loss_and_no_gradient) {
  std::array<double, 3> const logits{1, 2, 3};
  std::array<double, 3> gradient{5, 5, 5};
  std::int32_t const ignored = -1, other = 2;
  tr::SparseCategoricalCrossentropy const loss{.from_logits = true, .ignore_class = -1};
  BOOST_TEST(loss(logits.data(), &ignored, 3, 1.0, gradient.data()) == 0.0);
  for (double const g : gradient) BOOST_TEST(g == 0.0);
  BOOST_TEST(!loss.counts(&ignored));
  BOOST_TEST(loss.counts(&other));
  BOOST_TEST(loss(logits.data(), &other, 3, 1.0, gradient.data()) > 0.0);
}

BOOST_AUTO_TEST_CASE(categorical_losses_fit_several_outputs_only) {
  static_assert(tr::SparseCategoricalCrossentropy::fits<tr::Extents<10>>);
  static_assert(tr::SparseCategoricalCrossentropy::fits<tr::Extents<5, tr::dynamic>>);
  static_assert(!tr::SparseCategoricalCrossentropy::fits<tr::Extents<10, 1>>);
  static_assert(!tr::CategoricalCrossentropy::fits<tr::Extents<1>>);
  static_assert(tr::CategoricalCrossentropy::require_fit<tr::Extents<3>>());
}

BOOST_AUTO_TEST_CASE(hinge_labels_zero_and_one_mean_minus_one_and_one) {
  std::array<double, 2> const prediction{0.3, -0.6}, binary{1, 0}, signs{1, -1};
  BOOST_TEST(tr::Hinge{}(prediction.data(), binary.data(), 2, 1.0, no_gradient) ==
             tr::Hinge{}(prediction.data(), signs.data(), 2, 1.0, no_gradient));
}
