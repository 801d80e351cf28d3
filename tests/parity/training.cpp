// A small network trains as it does in Keras, with each optimizer, with penalties and partial batches.
#define BOOST_TEST_MODULE parity_training
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <string>

#include "parity/training.hpp"
#include "parity/training_cases.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/adamw.hpp"
#include "trireme/optimizers/rmsprop.hpp"
#include "trireme/optimizers/sgd.hpp"

using namespace trireme;
using namespace trireme::test;
using nlohmann::json;

namespace {

void run(ReferenceCase const& c, json const& layers, json const& optimizer) {
  BOOST_REQUIRE(c.description.at("loss") ==
                json({{"class", "SparseCategoricalCrossentropy"}, {"config", {{"from_logits", true}}}}));
  BOOST_REQUIRE(c.description.at("metrics") == json{"accuracy"});
  Sequential const model{
      Input<dynamic>{.extents = {{c.description.at("input_shape").at(0).get<std::size_t>()}}},
      Dense<dynamic, ReLU>{.units = units(layers[0]), .kernel_regularizer = kernel_regularizer(layers[0])},
      Dense<dynamic>{.units = units(layers[1]), .kernel_regularizer = kernel_regularizer(layers[1])}};
  auto const train = [&](auto const& with) {
    check_training(c, model, with, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
  };
  double const rate = optimizer.at("learning_rate");
  std::string const name = c.description.at("optimizer").at("class");
  if (name == "Adam") {
    train(Adam{.learning_rate = rate});
  } else if (name == "AdamW") {
    train(AdamW{.learning_rate = rate, .weight_decay = optimizer.at("weight_decay")});
  } else if (name == "RMSprop") {
    train(RMSprop{.learning_rate = rate});
  } else {
    train(SGD{.learning_rate = rate,
              .momentum = option(optimizer, "momentum", 0.0),
              .nesterov = option(optimizer, "nesterov", false)});
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_network_trains_as_in_keras_with_each_optimizer) {
  check_trainings({"Dense relu, Dense linear, Adam", "Dense relu, Dense linear, AdamW",
                   "Dense relu, Dense linear, RMSprop", "Dense relu, Dense linear, SGD"},
                  true, run);
}
