// A model that ends in Softmax or Sigmoid trains as the same model without it does on logits, and predicts
// probabilities.
#define BOOST_TEST_MODULE logits
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/activations/relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/binary_focal_crossentropy.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/outputs.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

using T = float;
using Logits = SparseCategoricalCrossentropy;
using Probabilities = metrics::SparseCategoricalCrossentropy;

template <class Architecture, class Loss, class... Rest>
auto compiled(Architecture const& architecture, Loss const& loss, Rest... rest) {
  auto model = compile<T>(OneDeviceStrategy<>(), architecture, SGD{.learning_rate = 0.25}, loss, rest...,
                          CompileOptions{.seed = 5});
  // Logits of several hundreds: the probabilities of nearly all wrong classes are zero in float.
  auto kernel = model.weights("dense_1/kernel");
  model.set_weights("dense_1/kernel", xt::xarray<T>(kernel * 500));
  return model;
}

template <class Model, class Reference, class Data>
void check_same_training(Model& model, Reference& reference, Data const& data) {
  OneDeviceStrategy<> const strategy;
  auto const before = reference.weights("dense/kernel");
  auto const history = fit(strategy, model, data, validation(data), {.epochs = 2, .verbose = false});
  auto const expected = fit(strategy, reference, data, validation(data), {.epochs = 2, .verbose = false});
  BOOST_TEST(test::distance(reference.weights("dense/kernel"), before) > 1e-3);
  BOOST_TEST(expected["loss"][0] > 20);  // clipped, a loss is at most 16.2
  BOOST_TEST(history["loss"] == expected["loss"], boost::test_tools::per_element());
  BOOST_TEST(history["val_loss"] == expected["val_loss"], boost::test_tools::per_element());
  for (auto const& name : reference.weight_names()) BOOST_TEST((model.weights(name) == reference.weights(name)));
}

/// (samples, classes): each row sums to 1.
template <class Values>
void check_probabilities(Values const& values, std::size_t size) {
  for (std::size_t i = 0; i < values.size(); i += size) {
    double sum = 0;
    for (std::size_t j = 0; j < size; ++j) sum += static_cast<double>(values.data()[i + j]);
    BOOST_TEST(std::abs(sum - 1) < 1e-6);
  }
}

/// History, weights and predictions of a model of several outputs. `steep`: the number of its weights whose logits are
/// several hundreds.
template <class Architecture, class Outputs, class Data>
auto train(Architecture const& architecture, Outputs const& outputs, Data const& data, std::uint64_t steep) {
  OneDeviceStrategy<> const strategy;
  auto model = compile<T>(strategy, architecture, SGD{.learning_rate = 0.01}, outputs, CompileOptions{.seed = 5});
  std::uint64_t seed = 0;  // the same weights whatever their names
  for (auto const& name : model.weight_names()) {
    auto values = model.weights(name);
    auto const random = test::make_samples<T>(values.size(), {}, 2, ++seed).x;
    std::copy(random.begin(), random.end(), values.begin());
    model.set_weights(name, xt::xarray<T>(values * (seed == steep ? 100 : 1)));
  }
  auto history = fit(strategy, model, data, validation(data), {.epochs = 2, .verbose = false});
  std::vector<xt::xarray<T>> weights;
  for (auto const& name : model.weight_names()) weights.push_back(model.weights(name));
  return std::tuple(std::move(history), std::move(weights), predict(strategy, model, data));
}

}  // namespace

BOOST_AUTO_TEST_CASE(softmax_as_activation_or_layer_trains_on_its_logits_and_predicts_probabilities) {
  auto const samples = test::mlp_samples<T>(23);
  auto const data = samples.data().batch(GlobalBatch{8});
  Dense<9, ReLU> const hidden;
  Input<test::mlp_inputs> const input;
  {
    auto model = compiled(Sequential{input, hidden, Dense<test::classes, Softmax>{}}, Logits{}, Probabilities{});
    auto reference = compiled(Sequential{input, hidden, Dense<test::classes>{}}, Logits{.from_logits = true});
    check_same_training(model, reference, data);
    check_probabilities(predict(OneDeviceStrategy<>(), model, data), test::classes);
  }
  auto model = compiled(Sequential{input, hidden, Dense<test::classes>{}, Softmax{}}, Logits{});
  auto nested = compiled(Sequential{input, hidden, Dense<test::classes>{}, Sequential{Softmax{}}}, Logits{});
  auto reference = compiled(Sequential{input, hidden, Dense<test::classes>{}}, Logits{.from_logits = true});
  auto again = compiled(Sequential{input, hidden, Dense<test::classes>{}}, Logits{.from_logits = true});
  check_same_training(model, reference, data);
  check_same_training(nested, again, data);
}

BOOST_AUTO_TEST_CASE(metrics_are_given_probabilities) {
  auto const samples = test::mlp_samples<T>(23);
  auto const data = samples.data().batch(GlobalBatch{8});
  auto model = compile<T>(OneDeviceStrategy<>(), Sequential{Input<test::mlp_inputs>{}, Dense<test::classes, Softmax>{}},
                          SGD{}, Logits{}, Probabilities{});
  auto const logs = evaluate(OneDeviceStrategy<>(), model, data);
  double const loss = logs.find("loss")->value(), metric = logs.find("sparse_categorical_crossentropy")->value();
  BOOST_TEST(std::abs(loss - metric) < 1e-5);
}

BOOST_AUTO_TEST_CASE(sigmoid_trains_on_its_logits) {
  auto samples = test::mlp_samples<T>(23);
  std::vector<T> yes;
  for (std::int32_t label : samples.y) yes.push_back(static_cast<T>(label % 2));
  auto const data = data::from_tensor_slices(samples.x, yes).batch(GlobalBatch{8});
  Sequential const base{Input<test::mlp_inputs>{}, Dense<9, ReLU>{}, Dense<1>{}};
  auto model =
      compiled(Sequential{Input<test::mlp_inputs>{}, Dense<9, ReLU>{}, Dense<1, Sigmoid>{}}, BinaryCrossentropy{});
  auto reference = compiled(base, BinaryCrossentropy{.from_logits = true});
  check_same_training(model, reference, data);

  auto focal =
      compiled(Sequential{Input<test::mlp_inputs>{}, Dense<9, ReLU>{}, Dense<1, Sigmoid>{}}, BinaryFocalCrossentropy{});
  auto focal_reference = compiled(base, BinaryFocalCrossentropy{.from_logits = true});
  check_same_training(focal, focal_reference, data);
}

// Of several outputs each by itself: some on logits, some not.

BOOST_AUTO_TEST_CASE(each_of_several_outputs_trains_on_its_logits_and_is_predicted_behind_its_activation) {
  auto const samples = test::mlp_samples<T>(23);
  std::vector<T> yes, numbers;
  for (std::int32_t label : samples.y) {
    yes.push_back(static_cast<T>(label % 2));
    numbers.push_back(static_cast<T>(label) / 4);
  }
  auto const data = data::from_tensor_slices(samples.x, std::tie(samples.y, yes, numbers)).batch(GlobalBatch{8});
  auto const losses = [](bool from_logits) {
    return Outputs{output<"kind">(SparseCategoricalCrossentropy{.from_logits = from_logits}, Probabilities{}),
                   output<"yes">(BinaryCrossentropy{.from_logits = from_logits}), output<"number">(MeanSquaredError{})};
  };
  auto const only_losses =
      Outputs{output<"kind">(Logits{.from_logits = true}), output<"yes">(BinaryCrossentropy{.from_logits = true}),
              output<"number">(MeanSquaredError{})};
  Input<test::mlp_inputs> const input;
  Dense<9, ReLU> const hidden;
  auto const [expected, expected_weights, logits] = train(
      Sequential{input, hidden, Fork{Dense<test::classes>{}, Dense<1>{}, Dense<1, Sigmoid>{}}}, only_losses, data, 3);
  auto const check = [&](auto const& architecture) {
    auto const [history, weights, predictions] = train(architecture, losses(false), data, 3);
    for (char const* name : {"loss", "kind_loss", "yes_loss", "number_loss", "val_loss", "val_kind_loss"})
      BOOST_TEST(history[name] == expected[name], boost::test_tools::per_element());
    BOOST_TEST(expected["kind_loss"][0] > 20);  // clipped, a loss is at most 16.2
    for (std::size_t i = 0; i < weights.size(); ++i) BOOST_TEST((weights[i] == expected_weights[i]), i);
    check_probabilities(predictions[0], test::classes);
    for (std::size_t i = 0; i < 23; ++i) {
      BOOST_TEST(std::abs(predictions[1](i, 0) - 1 / (1 + std::exp(-logits[1](i, 0)))) < 1e-6f);
      BOOST_TEST(predictions[2](i, 0) == logits[2](i, 0));
    }
  };
  check(Sequential{input, hidden, Fork{Dense<test::classes, Softmax>{}, Dense<1, Sigmoid>{}, Dense<1, Sigmoid>{}}});
  check(Sequential{input, hidden,
                   Fork{Sequential{Dense<test::classes>{}, Softmax{}}, Dense<1, Sigmoid>{}, Dense<1, Sigmoid>{}}});
  check(Sequential{input, hidden, Fork{Dense<test::classes>{}, Dense<1>{}, Dense<1>{}},
                   Parallel{Softmax{}, Sigmoid{}, Sigmoid{}}});
  check(Graph{input, node<"hidden">(hidden),
              node<"heads">(Fork{Dense<test::classes, Softmax>{}, Dense<1, Sigmoid>{}, Dense<1, Sigmoid>{}})});
  // Nodes whose values the last one hands on.
  auto const heads = [&](auto const& head, auto const& last) {
    return Graph{input,
                 node<"hidden">(hidden),
                 node<"kind">(Dense<test::classes, Softmax>{}),
                 node<"yes", "hidden">(head),
                 node<"number", "hidden">(Dense<1, Sigmoid>{}),
                 node<"all", "kind", "yes", "number">(last)};
  };
  check(heads(Dense<1, Sigmoid>{}, Parallel{Skip{}, Skip{}, Skip{}}));
  check(heads(Dense<1, Sigmoid>{}, Skip{}));
  check(heads(Dense<1>{}, Parallel{Skip{}, Sigmoid{}, Skip{}}));
}

BOOST_AUTO_TEST_CASE(a_layer_for_each_output_trains_on_the_logits_of_those_whose_loss_undoes_it) {
  auto const samples = test::mlp_samples<T>(23);
  auto const kinds = xt::xarray<T>(xt::eval(xt::fabs(test::make_samples<T>(23, {test::classes}, 2, 9).x)));
  Input<test::mlp_inputs> const input;
  Fork const hidden{Dense<9, ReLU>{}, Dense<9, ReLU>{}};
  auto const check = [&](auto const& y, auto const& outputs, auto const& reference, auto const& reference_outputs) {
    auto const data = data::from_tensor_slices(samples.x, y).batch(GlobalBatch{8});
    auto const [history, weights, predictions] =
        train(Sequential{input, hidden, Each{Dense<test::classes, Softmax>{}}}, outputs, data, 5);
    auto const [expected, expected_weights, others] = train(reference, reference_outputs, data, 5);
    for (char const* name : {"loss", "a_loss", "b_loss", "val_loss"})
      BOOST_TEST(history[name] == expected[name], boost::test_tools::per_element());
    BOOST_TEST(expected["a_loss"][0] > 20);
    for (std::size_t i = 0; i < weights.size(); ++i) BOOST_TEST((weights[i] == expected_weights[i]), i);
    check_probabilities(predictions[0], test::classes);
    check_probabilities(predictions[1], test::classes);
  };
  Logits const logits{.from_logits = true};
  check(std::tie(samples.y, samples.y), Outputs{output<"a">(Logits{}), output<"b">(Logits{})},
        Sequential{input, hidden, Each{Dense<test::classes>{}}}, Outputs{output<"a">(logits), output<"b">(logits)});
  check(std::tie(samples.y, kinds), Outputs{output<"a">(Logits{}), output<"b">(MeanSquaredError{})},
        Sequential{input, hidden, Each{Dense<test::classes>{}}, Parallel{Skip{}, Softmax{}}},
        Outputs{output<"a">(logits), output<"b">(MeanSquaredError{})});
}

BOOST_AUTO_TEST_CASE(a_node_that_others_take_keeps_its_activation) {
  auto const samples = test::mlp_samples<T>(23);
  std::vector<T> numbers;
  for (std::int32_t label : samples.y) numbers.push_back(static_cast<T>(label) / 4);
  auto const data = data::from_tensor_slices(samples.x, std::tie(samples.y, numbers)).batch(GlobalBatch{8});
  auto const [history, weights, predictions] = train(
      Graph{Input<test::mlp_inputs>{}, node<"hidden">(Dense<9, ReLU>{}), node<"kind">(Dense<test::classes, Softmax>{}),
            node<"number">(Dense<1>{}), node<"both", "kind", "number">(Parallel{Skip{}, Skip{}})},
      Outputs{output<"kind">(Logits{}), output<"number">(MeanSquaredError{})}, data, 3);
  BOOST_TEST(history["kind_loss"][0] < 16.2);
  for (std::size_t i = 0; i < 23; ++i) {
    double number = weights[5](0);
    for (std::size_t k = 0; k < test::classes; ++k)
      number += static_cast<double>(predictions[0](i, k) * weights[4](k, 0));
    BOOST_TEST(std::abs(predictions[1](i, 0) - number) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(a_graph_whose_last_node_has_several_inputs_trains_on_its_logits) {
  auto const samples = test::mlp_samples<T>(23);
  auto const data = samples.data().batch(GlobalBatch{8});
  auto const branches = [&](auto const& last, Logits const& loss) {
    OneDeviceStrategy<> const strategy;
    auto model = compile<T>(strategy,
                            Graph{Input<test::mlp_inputs>{}, node<"a">(Dense<9, ReLU>{}),
                                  node<"b", "input">(Dense<9>{}), node<"p", "a", "b">(Sequential{Add{}, last})},
                            SGD{.learning_rate = 0.25}, loss, CompileOptions{.seed = 5});
    auto const name = model.weight_names()[4];
    model.set_weights(name, xt::xarray<T>(model.weights(name) * 500));
    return model;
  };
  auto model = branches(Dense<test::classes, Softmax>{}, Logits{});
  auto reference = branches(Dense<test::classes>{}, Logits{.from_logits = true});
  OneDeviceStrategy<> const strategy;
  auto const history = fit(strategy, model, data, validation(data), {.epochs = 2, .verbose = false});
  auto const expected = fit(strategy, reference, data, validation(data), {.epochs = 2, .verbose = false});
  BOOST_TEST(expected["loss"][0] > 20);
  BOOST_TEST(history["loss"] == expected["loss"], boost::test_tools::per_element());
  BOOST_TEST(history["val_loss"] == expected["val_loss"], boost::test_tools::per_element());
  check_probabilities(predict(strategy, model, data), test::classes);
}
