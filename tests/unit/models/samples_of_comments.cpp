// The samples in headers' comments, as they stand there: they compile, train, and do what their comments say.
#define BOOST_TEST_MODULE samples_of_comments
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/learning_rate_scheduler.hpp"
#include "trireme/core/config.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dropout.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/output.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

using Strategy = OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>;

xt::xarray<float> rows_of(std::size_t rows, std::size_t columns) {
  xt::xarray<float> x = xt::xarray<float>::from_shape({rows, columns});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 7) / 7;
  return x;
}

}  // namespace

BOOST_AUTO_TEST_CASE(callbacks) {
  Strategy const strategy;
  auto model = compile(strategy, Sequential{Input<3>{}, Dense<1>{}}, Adam{.learning_rate = 0.5}, MeanSquaredError{});
  auto const x = rows_of(4, 3), y = rows_of(4, 1);
  double rate = 0;
  fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{4}), {.epochs = 12, .verbose = false},
      LearningRateScheduler{.schedule = [](std::size_t epoch, double rate) { return epoch < 10 ? rate : rate * 0.9; }},
      LambdaCallback{.on_epoch_end = [](auto& run) { fmt::print("{}\n", run.epoch()); }},
      LambdaCallback{.on_epoch_end = [&](auto& run) { rate = run.learning_rate(); }});
  BOOST_TEST(rate == 0.5 * 0.9 * 0.9, boost::test_tools::tolerance(1e-7));
}

BOOST_AUTO_TEST_CASE(a_number_outside_of_its_range_is_an_error) {
  struct Dropout {
    float rate = 0.5f;
    void config(Config& c) const { c("rate", rate, intervals::below_one); }
  };
  Config config;
  config.object("layer 'dropout'", Dropout{});
  BOOST_CHECK_EXCEPTION(config.list(Dropout{1.5f}, "layer 'dropout'"), ValueError, [](ValueError const& error) {
    return std::string(error.what()).ends_with("Dropout::rate of layer 'dropout' is 1.5, which is outside of [0, 1)");
  });
}

BOOST_AUTO_TEST_CASE(a_graph_with_a_shortcut) {
  constexpr auto graph =
      Graph{Input<64, 64, 1>{}, node<"a">(Conv2D<8, 3, 3, Same>{}), node<"b", "input">(Conv2D<8, 1, 1>{}),
            node<"sum", "a", "b">(Add{}), node<"head">(Dense<10>{})};
  static_assert(model_cost<float>(graph).parameters == (9 * 8 + 8) + (8 + 8) + (8 * 10 + 10));
}

BOOST_AUTO_TEST_CASE(two_outputs) {
  Strategy const strategy;
  constexpr Sequential model{Input<4>{}, Fork{Dense<1>{}, Dense<3>{}}};
  auto const compiled =
      compile(strategy, model, Adam{},
              Outputs{output<"price">(MeanSquaredError{}, LossWeight{0.3}, metrics::MeanAbsoluteError{}),
                      output<"kind">(SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{})});
  using Model = decltype(compiled)::Model;
  BOOST_TEST(std::string(Model::log_names[3]) == "price_mean_absolute_error");
  BOOST_TEST(std::string(Model::log_names[4]) == "kind_accuracy");

  auto const losses =
      Outputs{output<"price">(MeanSquaredError{}, LossWeight{0.3}), output<"kind">(BinaryCrossentropy{}, Accuracy{})};
  static_cast<void>(compile(strategy, model, Adam{}, losses));
}

BOOST_AUTO_TEST_CASE(one_layer_for_both_inputs) {
  constexpr auto model = Sequential{Inputs{Input<32>{}, Input<32>{}}, Each{Sequential{Dense<64, ReLU>{}, Dense<16>{}}},
                                    Concatenate{}, Fork{Dense<1>{}, Dense<10>{}}};
  static_assert(model_cost<float>(model).parameters == (32 * 64 + 64 + 64 * 16 + 16) + (32 + 1) + (320 + 10));
}
