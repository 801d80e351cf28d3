// Labels that the loss ignores need not be classes: -1 trains as a class that no other sample has.
#define BOOST_TEST_MODULE ignored_labels
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/sparse_top_k_categorical_accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/outputs.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/side_by_side.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

constexpr std::int32_t left_out = 3;

/// A loss of a program's own, of dense targets, which leaves out those that are negative.
struct SquareOfKnown {
  using target = DenseTarget;
  static constexpr FixedString name = "square_of_known";
  bool counts(double const* truth) const { return truth[0] >= 0; }
  template <class T>
  T operator()(T const* prediction, T const* truth, std::size_t, T scale, T* gradient) const {
    T const error = counts(truth) ? prediction[0] - truth[0] : T{0};
    if (gradient) gradient[0] = scale * 2 * error;
    return error * error;
  }
};

struct Fixture {
  OneDeviceStrategy<> strategy;
  test::Samples<double> samples = test::make_samples<double>(21, {6}, 3);
  std::vector<std::int32_t> classes, labels;  // the third of each four is class 3, or -1

  Fixture() {
    for (std::size_t i = 0; i < 21; ++i) {
      classes.push_back(i % 4 == 2 ? left_out : static_cast<std::int32_t>(i % 3));
      labels.push_back(i % 4 == 2 ? -1 : classes.back());
    }
  }

  static SparseCategoricalCrossentropy loss(std::int32_t ignored) {
    return {.from_logits = true, .ignore_class = ignored};
  }
  auto one_output(std::int32_t ignored) const {
    return compile<double>(strategy, Sequential{Input<6>{}, Dense<4>{}}, SGD{.learning_rate = 0.1}, loss(ignored),
                           SparseTopKCategoricalAccuracy{.k = 4}, CompileOptions{.seed = 3});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_label_beside_the_classes_is_left_out_as_a_class_is, Fixture) {
  auto expected = one_output(left_out), found = one_output(-1);
  auto const data = [&](auto const& y) { return data::from_tensor_slices(samples.x, y).batch(GlobalBatch{8}); };
  auto const history = fit(strategy, expected, data(classes), {.epochs = 2, .verbose = false});
  auto const own = fit(strategy, found, data(labels), {.epochs = 2, .verbose = false});
  BOOST_TEST(own["loss"] == history["loss"], boost::test_tools::per_element());
  BOOST_TEST(test::weight_bits(found) == test::weight_bits(expected));
  BOOST_TEST(own["sparse_top_k_categorical_accuracy"].back() == 16.0 / 21, boost::test_tools::tolerance(1e-15));
  found.train_on_batch(samples.x, labels);
  expected.train_on_batch(samples.x, classes);
  BOOST_TEST(test::weight_bits(found) == test::weight_bits(expected));
}

BOOST_FIXTURE_TEST_CASE(labels_that_come_one_by_one_may_be_ignored_too, Fixture) {
  auto expected = one_output(left_out), found = one_output(-1);
  auto const data = [&](auto const& y) {
    return data::from_generator<double, std::int32_t>(
               {6}, {},
               [&] {
                 return [&, i = std::size_t{0}](std::span<double> x, std::span<std::int32_t> target) mutable {
                   if (i == 21) return false;
                   std::copy_n(&samples.x(i, 0), 6, x.begin());
                   target[0] = y[i++];
                   return true;
                 };
               })
        .batch(GlobalBatch{8});
  };
  fit(strategy, expected, data(classes), {.verbose = false});
  fit(strategy, found, data(labels), {.verbose = false});
  BOOST_TEST(test::weight_bits(found) == test::weight_bits(expected));
}

BOOST_FIXTURE_TEST_CASE(beside_dense_targets_a_label_may_be_ignored_too, Fixture) {
  auto const model = [&](std::int32_t ignored) {
    return compile<double>(strategy, Sequential{Input<6>{}, Fork{Dense<2>{}, Dense<4>{}}}, SGD{.learning_rate = 0.1},
                           Outputs{output<"y">(MeanSquaredError{}), output<"kind">(loss(ignored))},
                           CompileOptions{.seed = 3});
  };
  auto expected = model(left_out), found = model(-1);
  xt::xtensor<double, 2> y({21, 2});
  for (std::size_t i = 0; i < 21; ++i) y(i, 0) = y(i, 1) = static_cast<double>(i) / 21;
  auto const data = [&](auto const& kinds) {
    return data::from_tensor_slices(samples.x, std::tie(y, kinds)).batch(GlobalBatch{8});
  };
  fit(strategy, expected, data(classes), {.verbose = false});
  fit(strategy, found, data(labels), {.verbose = false});
  BOOST_TEST(test::weight_bits(found) == test::weight_bits(expected));
}

BOOST_FIXTURE_TEST_CASE(labels_of_outputs_may_be_ignored_too, Fixture) {
  auto const compiled = [&](auto const& network, auto const& outputs) {
    return compile<double>(strategy, network, SGD{.learning_rate = 0.1}, outputs, CompileOptions{.seed = 3});
  };
  auto const one = [&](std::int32_t ignored) {
    return compiled(Sequential{Input<6>{}, Dense<4>{}}, Outputs{output<"kind">(loss(ignored))});
  };
  auto const two = [&](std::int32_t ignored) {
    return compiled(
        Sequential{Input<6>{}, Fork{Dense<4>{}, Dense<4>{}}},
        Outputs{output<"kind">(loss(ignored)), output<"class">(SparseCategoricalCrossentropy{.from_logits = true})});
  };
  // As they lie in memory, and converted.
  auto const check = [&](auto expected, auto found, auto const& y, auto const& with_ignored) {
    auto const train = [&](auto& model, auto const& targets) {
      return fit(strategy, model, data::from_tensor_slices(samples.x, targets).batch(GlobalBatch{8}),
                 {.epochs = 2, .verbose = false});
    };
    auto const history = train(expected, y), own = train(found, with_ignored);
    BOOST_TEST(own["loss"] == history["loss"], boost::test_tools::per_element());
    BOOST_TEST(test::weight_bits(found) == test::weight_bits(expected));
  };
  check(one(left_out), one(-1), classes, labels);
  check(one(left_out), one(-1), classes, std::vector<double>(labels.begin(), labels.end()));
  check(two(left_out), two(-1), std::tie(classes, classes), std::tie(labels, classes));
  std::vector<double> const numbers(labels.begin(), labels.end());
  check(two(left_out), two(-1), std::tie(classes, classes), std::tie(numbers, classes));

  // Of samples that are made one by one.
  auto const fails = [&](auto model, std::size_t column, double label) {
    std::size_t const outputs = model.description().outputs.size();
    auto const data = data::from_generator<double, double>({6}, {outputs}, [&] {
      return [&, i = std::size_t{0}](std::span<double> x, std::span<double> y) mutable {
        if (i == 21) return false;
        std::ranges::fill(x, 0.5);
        std::ranges::fill(y, 1);
        if (i++ == 7) y[column] = label;
        return true;
      };
    });
    return test::message_of<ValueError>([&] { fit(strategy, model, data.batch(GlobalBatch{8}), {.verbose = false}); });
  };
  std::string const sample = " of sample 7 of an epoch of the training data is ";
  BOOST_TEST(fails(one(-1), 0, -1) == "");
  BOOST_TEST(fails(one(-1), 0, -2) == "label -2" + sample + "outside of [0, 4)");
  BOOST_TEST(fails(one(-1), 0, 0.5) == "label 0.5" + sample + "not an integer");
  BOOST_TEST(fails(two(-1), 0, -1) == "");
  BOOST_TEST(fails(two(-1), 0, 4) == "label 4" + sample + "outside of [0, 4)");
  BOOST_TEST(fails(two(-1), 1, -1) == "label -1" + sample + "outside of [0, 4)");
  BOOST_TEST(fails(two(-1), 1, 0.5) == "label 0.5" + sample + "not an integer");
}

BOOST_FIXTURE_TEST_CASE(a_loss_of_dense_targets_that_leaves_some_out_is_the_same_among_several, Fixture) {
  xt::xtensor<double, 2> y({21, 1});
  xt::xtensor<double, 2> const others = xt::zeros<double>({21, 1});
  for (std::size_t i = 0; i < 21; ++i) y(i, 0) = i % 3 == 0 ? static_cast<double>(i) : -1;
  auto alone = compile<double>(strategy, Sequential{Input<6>{}, Dense<1>{}}, SGD{.learning_rate = 0.01},
                               SquareOfKnown{}, CompileOptions{.seed = 3});
  auto among = compile<double>(
      strategy, Sequential{Input<6>{}, Fork{Dense<1>{}, Dense<1>{}}}, SGD{.learning_rate = 0.01},
      Outputs{output<"y">(SquareOfKnown{}), output<"other">(MeanSquaredError{})}, CompileOptions{.seed = 3});
  auto const names = among.weight_names();
  for (std::size_t i = 0; i < 2; ++i) among.set_weights(names[i], alone.weights(alone.weight_names()[i]));
  auto const data = [&](auto const& targets) {
    return data::from_tensor_slices(samples.x, targets).batch(GlobalBatch{8});
  };
  auto const expected = fit(strategy, alone, data(y), {.epochs = 2, .verbose = false});
  auto const history = fit(strategy, among, data(std::tie(y, others)), {.epochs = 2, .verbose = false});
  BOOST_TEST(history["y_loss"] == expected["loss"], boost::test_tools::per_element());
  for (std::size_t i = 0; i < 2; ++i)
    BOOST_TEST((among.weights(names[i]) == alone.weights(alone.weight_names()[i])), names[i]);
}

BOOST_FIXTURE_TEST_CASE(any_other_label_beside_the_classes_is_an_error, Fixture) {
  auto model = one_output(-1);
  labels[7] = -2;
  auto const fails = [&](auto const& y, std::string const& text) {
    BOOST_CHECK_EXCEPTION(
        fit(strategy, model, data::from_tensor_slices(samples.x, y).batch(GlobalBatch{8}), {.verbose = false}),
        ValueError, [&](ValueError const& error) { return error.what() == text; });
  };
  fails(labels, "label -2 at index 7 of the training data is outside of [0, 4)");
  fails(std::vector<std::uint8_t>(21, 255), "label 255 at index 0 of the training data is outside of [0, 4)");
}
