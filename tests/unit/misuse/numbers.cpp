#include "support/misuse.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "trireme/trireme.hpp"

// What is checked of each type's numbers is a table in tests/unit/models/config.cpp; here, how a run ends.
namespace trireme::test {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A small training, of which each row spoils one number.
struct Given {
  std::size_t inputs = 3, units = 4;
  double alpha = 1, l2 = 0, stddev = 0.05, momentum = 0.9;
  float rate = 0.25f;
  SGD optimizer{};
  double label_smoothing = 0;
  std::size_t k = 2;
  double factor = 0.5;
  std::size_t steps = 1;
  FitOptions options{};
};

void train(Environment& environment, Given const& given) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  auto model =
      compile(strategy,
              Sequential{Input<dynamic>{{{given.inputs}}},
                         Dense<dynamic, ELU>{.units = given.units,
                                             .activation = {.alpha = given.alpha},
                                             .kernel_initializer = RandomNormal{.stddev = given.stddev},
                                             .kernel_regularizer = L2(given.l2)},
                         Residual{Frozen{BatchNormalization<>{.momentum = given.momentum}}},
                         Dropout{.rate = given.rate}, Dense<3>{}},
              given.optimizer, CategoricalCrossentropy{.from_logits = true, .label_smoothing = given.label_smoothing},
              TopKCategoricalAccuracy{.k = given.k});
  xt::xtensor<float, 2> const x = xt::zeros<float>({std::size_t{8}, given.inputs}), y = xt::ones<float>({8, 3});
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{4});
  FitOptions options = given.options;
  options.verbose = false;
  fit(strategy, model, data, validation(data), options, ReduceLROnPlateau<"loss">{.factor = given.factor});
  evaluate(strategy, model, data, {.steps = given.steps});
}

template <class Callback>
void train_with(Environment& environment, Callback callback, SGD const& optimizer = {}) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  auto model = compile(strategy, Sequential{Input<3>{}, Dense<1>{}}, optimizer, MeanSquaredError{});
  xt::xtensor<float, 2> const x = xt::zeros<float>({8, 3}), y = xt::ones<float>({8, 1});
  fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{4}), {.verbose = false}, callback);
}

/// Two positions a sample, with the weights of two classes.
template <std::size_t Width = 2, class Loss, class Labels>
void train_positions(Environment& environment, Loss const& loss, Labels const& y) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  auto model = compile(strategy, Sequential{Input<2, 3>{}, Dense<Width>{}}, SGD{}, loss);
  xt::xtensor<float, 3> const x = xt::zeros<float>({8, 2, 3});
  fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{1}),
      {.class_weight = {1, 2}, .verbose = false});
}

struct SetsNegativeRate {
  template <class Run>
  void on_epoch_begin(Run& run) {
    run.set_learning_rate(-1);
  }
};

Misuse const table[] = {
    {"rate_below_0", "SGD::learning_rate is -0.1, which is outside of [0, inf)",
     [](Environment& e) { train(e, {.optimizer = {.learning_rate = -0.1}}); }},
    {"rate_of_nan", "SGD::learning_rate is nan, which is outside of [0, inf)",
     [](Environment& e) { train(e, {.optimizer = {.learning_rate = nan}}); }},
    {"schedule_of_0_steps", "CosineDecay::decay_steps of SGD::learning_rate is 0, which is outside of (0, inf)",
     [](Environment& e) { train(e, {.optimizer = {.learning_rate = CosineDecay{.decay_steps = 0}}}); }},
    {"momentum_above_1", "SGD::momentum is 1.5, which is outside of [0, 1]",
     [](Environment& e) { train(e, {.optimizer = {.momentum = 1.5}}); }},
    {"weight_decay_of_nan", "SGD::weight_decay is nan",
     [](Environment& e) { train(e, {.optimizer = {.weight_decay = nan}}); }},
    {"two_clippings", "SGD takes one of clipnorm, global_clipnorm and clipvalue, and was given several",
     [](Environment& e) { train(e, {.optimizer = {.clipnorm = 1, .clipvalue = 1}}); }},
    {"inputs_of_0", "Input has the extents (0,), which hold no number",
     [](Environment& e) { train(e, {.inputs = 0}); }},
    {"units_forgotten", "Dense::units of layer 'dense' is 0, which is outside of [1, 2^53]",
     [](Environment& e) { train(e, {.units = 0}); }},
    {"activation_in_a_layer", "ELU::alpha of Dense::activation of layer 'dense' is -1",
     [](Environment& e) { train(e, {.alpha = -1}); }},
    {"regularizer_in_a_layer", "Regularizer::l2 of 'dense/kernel' is nan",
     [](Environment& e) { train(e, {.l2 = nan}); }},
    {"initializer_in_a_layer", "RandomNormal::stddev of the initializer of 'dense/kernel' is -1",
     [](Environment& e) { train(e, {.stddev = -1}); }},
    {"layer_in_a_composite", "BatchNormalization::momentum of layer 'batch_normalization' is 1.5",
     [](Environment& e) { train(e, {.momentum = 1.5}); }},
    {"dropout_of_all", "Dropout::rate of layer 'dropout' is 1, which is outside of [0, 1)",
     [](Environment& e) { train(e, {.rate = 1}); }},
    {"loss", "CategoricalCrossentropy::label_smoothing is 2, which is outside of [0, 1]",
     [](Environment& e) { train(e, {.label_smoothing = 2}); }},
    {"metric", "TopKCategoricalAccuracy::k is 0, which is outside of [1, 2^53]",
     [](Environment& e) { train(e, {.k = 0}); }},
    {"callback", "ReduceLROnPlateau::factor is 1.5, which is outside of [0, 1)",
     [](Environment& e) { train(e, {.factor = 1.5}); }},
    {"plateau_of_a_schedule", "ReduceLROnPlateau cannot set the learning rate of an optimizer with a schedule",
     [](Environment& e) { train(e, {.optimizer = {.learning_rate = CosineDecay{.decay_steps = 10}}}); }},
    {"validation_freq_0", "FitOptions::validation_freq is 0, which is outside of [1, 2^53]",
     [](Environment& e) { train(e, {.options = {.validation_freq = 0}}); }},
    {"epochs_below_0", "FitOptions::epochs is 18446744073709551615, which is outside of [0, 2^53]",
     [](Environment& e) { train(e, {.options = {.epochs = static_cast<std::size_t>(-1)}}); }},
    {"no_steps_per_epoch", "FitOptions::steps_per_epoch is 0",
     [](Environment& e) { train(e, {.options = {.steps_per_epoch = 0}}); }},
    {"class_weight_of_nan", "FitOptions::class_weight[1] is nan",
     [](Environment& e) { train(e, {.options = {.class_weight = {1, nan, 1}}}); }},
    {"class_weight_of_several_labels", "class_weight needs one label a sample; give sample weights instead",
     [](Environment& e) {
       xt::xtensor<std::int32_t, 2> const labels = xt::ones<std::int32_t>({8, 2});
       train_positions(e, SparseCategoricalCrossentropy{.from_logits = true}, labels);
     }},
    {"class_weight_of_several_rows", "class_weight needs one label a sample; give sample weights instead",
     [](Environment& e) {
       xt::xtensor<float, 3> const rows = xt::ones<float>({8, 2, 2});
       train_positions(e, BinaryCrossentropy{}, rows);
     }},
    {"class_weight_of_several_numbers", "class_weight needs one label a sample; give sample weights instead",
     [](Environment& e) {
       xt::xtensor<float, 2> const numbers = xt::ones<float>({8, 2});
       train_positions<1>(e, BinaryCrossentropy{}, numbers);
     }},
    {"no_steps_to_evaluate", "EvaluateOptions::steps is 0", [](Environment& e) { train(e, {.steps = 0}); }},
    {"rate_set_below_0", "the learning rate is -1, which is outside of [0, inf)",
     [](Environment& e) { train_with(e, SetsNegativeRate{}); }},
    {"rate_scheduled_below_0", "the schedule of LearningRateScheduler for epoch 1 is -1, which is outside of [0, inf)",
     [](Environment& e) {
       auto const below = [](std::size_t) { return -1.0; };
       train_with(e, LearningRateScheduler{below});
     }},
    {"scheduler_of_a_schedule", "LearningRateScheduler cannot set the learning rate of an optimizer with a schedule",
     [](Environment& e) {
       auto const same = [](std::size_t, double rate) { return rate; };
       train_with(e, LearningRateScheduler{same}, SGD{.learning_rate = CosineDecay{.decay_steps = 10}});
     }},
    {"no_micro_batches", "PipelineOptions::micro_batches is 0, which is outside of [1, 2^53]",
     [](Environment& e) { PipelineStrategy<>(e.world(), {.micro_batches = 0}); }},
    {"no_servers", "ParameterServerOptions::servers is 0, which is outside of [1, 2^53]",
     [](Environment& e) { ParameterServerStrategy<>(e.world(), {.servers = 0}); }},
    {"own_model_without_outputs", "OwnModelTable::outputs is 0, which is outside of [1, 2^53]",
     [](Environment&) { OwnModel<float, SGD, MeanSquaredError>({.outputs = 0}, SGD{}, MeanSquaredError{}); }},
    {"own_model_without_numbers", "Parameter::size of OwnModelTable::parameter is 0",
     [](Environment&) {
       OwnModel<float, SGD, MeanSquaredError>({.parameters = {{"slope", 0}}}, SGD{}, MeanSquaredError{});
     }},
    {"no_replicas", "MirroredStrategy::replicas is 0, which is outside of [1, 2^53]",
     [](Environment&) { MirroredStrategy<>(0); }},
};

}  // namespace trireme::test

int main(int argc, char** argv) { return trireme::test::misuse(argc, argv, trireme::test::table); }
