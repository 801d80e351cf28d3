// A model that ends in Softmax or Sigmoid trains as the same model without it does on logits, and predicts
// probabilities.
#define BOOST_TEST_MODULE logits
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "trireme/activations/relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/means.hpp"
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
}
