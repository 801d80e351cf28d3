// Activations, losses, metrics and optimizers: the formulas of the kernels, traced.
#define BOOST_TEST_MODULE pjrt_formulas
#include "support/kokkos_fixture.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "pjrt/training.hpp"
#include "trireme/trireme.hpp"

using namespace trireme;

namespace {

constexpr std::size_t outputs = 3;

/// Targets of every kind of loss: numbers, answers of 0 and 1, distributions.
enum class Targets { numbers, answers, distribution };

template <class T>
xt::xarray<T> targets(std::size_t count, Targets kind) {
  auto values = test::make_samples<T>(count, {outputs}, 2, 7).x;
  for (std::size_t i = 0; i < count; ++i) {
    T sum = 0;
    for (std::size_t j = 0; j < outputs; ++j) {
      T& value = values(i, j);
      if (kind == Targets::answers) value = value > T(0) ? T(1) : T(0);
      if (kind == Targets::distribution) sum += value = std::exp(value);
    }
    if (kind == Targets::distribution)
      for (std::size_t j = 0; j < outputs; ++j) values(i, j) /= sum;
  }
  return values;
}

/// Trains under one device and as a program on 3 replicas; in double, where only rounding differs.
template <class Make>
void check(Make const& make, Targets kind = Targets::numbers, double limit = 1e-12) {
  auto const x = test::make_samples<double>(29, {5}, 2, 3).x;
  auto const y = targets<double>(29, kind);
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{8});  // the last batch has 5 rows
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 3);
  test::check_same_run(test::run(test::pjrt_strategy(3), make, data, data, 3), reference, limit);
}

template <class... A>
void check_activations(A const&... activation) {
  check([&](auto const& strategy) {
    return compile<double>(strategy, Sequential{Input<5>{}, Dense<8>{}, activation..., Dense<outputs>{}},
                           SGD{.learning_rate = 0.05}, MeanSquaredError{}, CompileOptions{.seed = 3});
  });
}

template <class Optimizer>
void check_optimizer(Optimizer const& optimizer) {
  BOOST_TEST_CONTEXT(Optimizer::name.view())
  check([&](auto const& strategy) {
    return compile<double>(strategy, Sequential{Input<5>{}, Dense<7, Tanh>{}, Dense<outputs>{}}, optimizer,
                           MeanSquaredError{}, CompileOptions{.seed = 3});
  });
}

template <class Last, class Loss, class... Metrics>
void check_loss(Targets kind, Loss const& loss, Metrics const&... metrics) {
  BOOST_TEST_CONTEXT(Loss::name.view())
  check(
      [&](auto const& strategy) {
        return compile<double>(strategy, Sequential{Input<5>{}, Dense<6, Tanh>{}, Dense<outputs, Last>{}},
                               SGD{.learning_rate = 0.05}, loss, metrics..., CompileOptions{.seed = 3});
      },
      kind);
}

struct Bend {
  template <class X>
  KOKKOS_FUNCTION auto operator()(X x) const {
    return x / (1.0 + abs(x)) + 0.1 * sin(x) * exp(-x * x) + max(x, 0.1) + log1p(x * x) + pow(x * x + 1.0, 0.3);
  }
};
struct Square {
  template <class X>
  KOKKOS_FUNCTION auto operator()(X x) const {
    return x * x;
  }
};
/// The squared error of samples whose target is known; a negative number at an end marks the others.
struct SquareOfKnown {
  static constexpr FixedString name = "square_of_known";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  template <class T>
  KOKKOS_FUNCTION auto counts(T const* truth) const {
    return truth[0] >= T(0) && truth[2] >= T(0);
  }
  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const error = math::where(truth[i] < T(0), T(0), prediction[i] - truth[i]);
      sum += error * error;
      if (gradient != nullptr) gradient[i] = T(2) * scale / static_cast<T>(size) * error;
    }
    return sum / static_cast<T>(size);
  }
};
/// The mean reciprocal of a sample's numbers, which is infinite in rows of zeros.
struct Reciprocal {
  static constexpr FixedString name = "reciprocal";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const*, std::size_t size, T scale, T* gradient) const {
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      sum += T(1) / prediction[i];
      if (gradient != nullptr) gradient[i] = -scale / static_cast<T>(size) / (prediction[i] * prediction[i]);
    }
    return sum / static_cast<T>(size);
  }
};
struct Distance {
  template <class P, class Z>
  KOKKOS_FUNCTION auto operator()(P p, Z z) const {
    return sqrt(1.0 + (p - z) * (p - z)) - 1.0;
  }
};

}  // namespace

// tests/pjrt/parity_formulas compares all of them with Keras; here they train, with rows that fill up a batch.

BOOST_AUTO_TEST_CASE(activations_are_traced_and_functions_of_a_user_too) {
  check_activations(ReLU{}, LeakyReLU{.negative_slope = 0.2}, Dense<6>{}, ELU{.alpha = 0.7}, Dense<6, HardSigmoid>{},
                    SiLU{}, GELU{}, Dense<6, Softplus>{}, GELU{.approximate = true}, Softmax{}, Elementwise<Bend>{});
}

BOOST_AUTO_TEST_CASE(numbers_of_an_optimizer_follow_its_schedule) {
  check_optimizer(
      Adam{.learning_rate = ExponentialDecay{.initial_learning_rate = 0.02, .decay_steps = 3, .decay_rate = 0.8},
           .amsgrad = true});
  check_optimizer(Nadam{.learning_rate = 0.02});
  check_optimizer(RMSprop{.learning_rate = 0.01, .momentum = 0.5, .centered = true, .weight_decay = 1e-3});
}

BOOST_AUTO_TEST_CASE(losses_are_means_over_the_global_batch) {
  check_loss<Linear>(Targets::numbers, MeanAbsoluteError{}, metrics::LogCoshError{}, metrics::RootMeanSquaredError{},
                     Weighted{metrics::Huber{}});
  check_loss<Linear>(Targets::numbers, ElementwiseLoss<Distance>{});
  check_loss<Sigmoid>(Targets::answers, BinaryCrossentropy{.label_smoothing = 0.1}, BinaryAccuracy{},
                      metrics::SquaredHinge{});
}

BOOST_AUTO_TEST_CASE(positions_that_a_loss_leaves_out_do_not_count_in_the_mean) {
  auto const x = test::make_samples<double>(29, {5}, 2, 3).x;
  auto y = targets<double>(29, Targets::distribution);
  for (std::size_t i = 0; i < 29; i += 3)
    for (std::size_t j = 0; j < outputs; ++j) y(i, j) = -9;
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{8});
  auto const make = [](auto const& strategy) {
    return compile<double>(strategy, Sequential{Input<5>{}, Dense<outputs>{}}, SGD{.learning_rate = 0.05},
                           SquareOfKnown{}, metrics::MeanOf<SquareOfKnown>{}, CompileOptions{.seed = 3});
  };
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 3);
  test::check_same_run(test::run(test::pjrt_strategy(3), make, data, data, 3), reference, 1e-12);
}

BOOST_AUTO_TEST_CASE(rows_that_fill_up_a_batch_may_be_where_a_loss_has_no_value) {
  // The outputs of rows of zeros have the sum 0, by which this loss divides.
  check(
      [](auto const& strategy) {
        return compile<double>(
            strategy, Sequential{Input<5>{}, Dense<6, Tanh, NoBias>{}, Dense<outputs, NoBias>{}, Elementwise<Square>{}},
            SGD{.learning_rate = 0.05}, CategoricalCrossentropy{}, TopKCategoricalAccuracy{.k = 2},
            metrics::CosineSimilarity{}, CompileOptions{.seed = 3});
      },
      Targets::distribution, 1e-10);  // quotients of squares near 0 magnify rounding
}

BOOST_AUTO_TEST_CASE(metrics_of_class_indices_are_those_of_one_device) {
  auto const samples = test::mlp_samples<double>(29);
  auto const data = samples.weighted_data().batch(GlobalBatch{8});
  auto const make = [](auto const& strategy) {
    return compile<double>(strategy, test::mlp(), SGD{.learning_rate = 0.05},
                           SparseCategoricalCrossentropy{.from_logits = true}, SparseTopKCategoricalAccuracy{.k = 2},
                           metrics::SparseCategoricalCrossentropy{.loss = {.ignore_class = 1}},
                           Weighted{SparseTopKCategoricalAccuracy{.k = 1}}, CompileOptions{.seed = 3});
  };
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 3);
  test::check_same_run(test::run(test::pjrt_strategy(3), make, data, data, 3), reference, 1e-12);
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_nan_shows_in_a_row_of_weight_0_and_not_in_one_that_fills_up_a_batch) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  xt::xarray<double> x{{1, 2, 3}, {3, 2, 1}, {2, 1, 3}, {1, 3, 2}, {2, 3, 1}};
  xt::xarray<double> const y = xt::zeros<double>({5, 3});
  std::vector<double> const weight{1, 0, 1, 1, 1};
  auto const means = [&](auto const& strategy) {
    auto model = compile<double>(strategy, Sequential{Input<3>{}, Activation<Linear>{}}, SGD{}, MeanSquaredError{},
                                 metrics::MeanAbsoluteError{}, Weighted{metrics::MeanOf<Reciprocal>{}});
    auto const logs = evaluate(strategy, model, data::from_tensor_slices(x, y, weight).batch(GlobalBatch{4}));
    return std::array{logs.find("loss")->value(), logs.find("mean_absolute_error")->value(),
                      logs.find("reciprocal")->value()};
  };
  auto const check = [&] {
    auto const expected = means(OneDeviceStrategy<>());
    auto const found = means(test::pjrt_strategy(2));
    for (std::size_t i = 0; i < expected.size(); ++i)
      BOOST_TEST((std::isnan(found[i]) ? std::isnan(expected[i]) : std::abs(found[i] - expected[i]) < 1e-12));
    return std::isnan(expected[2]);
  };
  BOOST_TEST(!check());
  x(1, 1) = nan;
  BOOST_TEST(check());
}

BOOST_AUTO_TEST_CASE(a_prediction_that_is_nan_is_not_the_largest) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  xt::xarray<double> const x{{nan, 1, 2}, {1, nan, 2}, {nan, nan, nan}, {3, nan, 1}};
  std::vector<std::int32_t> const y{2, 2, 0, 2};  // the last is wrong
  auto const accuracy = [&](auto const& strategy) {
    auto model = compile<double>(strategy, Sequential{Input<3>{}, Activation<Linear>{}}, SGD{},
                                 SparseCategoricalCrossentropy{.from_logits = true}, SparseCategoricalAccuracy{});
    auto const logs = evaluate(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{4}));
    return logs.find("sparse_categorical_accuracy")->value();
  };
  BOOST_TEST(accuracy(OneDeviceStrategy<>()) == 0.75);
  BOOST_TEST(accuracy(test::pjrt_strategy(1)) == 0.75);
}

BOOST_AUTO_TEST_CASE(norms_that_are_no_numbers_show_as_on_one_device) {
  double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  auto const biases = [](auto const& strategy, SGD const& optimizer, double first) {
    auto model = compile<double>(strategy, Sequential{Input<1>{}, Dense<2>{}}, optimizer, MeanSquaredError{},
                                 CompileOptions{.seed = 3});
    xt::xarray<double> const x = xt::ones<double>({1, 1}), y{{first, 3}};
    fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{1}), {.verbose = false});
    auto const values = model.weights("dense/bias");
    return std::vector<double>(values.begin(), values.end());
  };
  for (double const first : {nan, infinity})
    for (auto const& optimizer : {SGD{.clipnorm = 0.5}, SGD{.global_clipnorm = 0.5}, SGD{.clipvalue = 0.5}}) {
      auto const expected = biases(OneDeviceStrategy<>(), optimizer, first);
      auto const found = biases(test::pjrt_strategy(1), optimizer, first);
      for (std::size_t i = 0; i < 2; ++i)
        BOOST_TEST((std::isnan(found[i]) ? std::isnan(expected[i]) : std::abs(found[i] - expected[i]) < 1e-12));
    }
}
