// ranks: 1 2 3 4   labels: law
// Law 1: stages of a pipeline, and pipelines beside each other, train as one device does on the same global batches.
#define BOOST_TEST_MODULE pipeline
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

Communicator const& world() { return test::environment().world(); }

/// Four layers with parameters, so that four ranks have a stage each.
auto deep() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)},
                    Dropout{.rate = 0.25f},    Dense<7, Tanh>{},
                    Dropout{.rate = 0.1f},     Dense<5, Tanh>{.bias_regularizer = L1(1e-3)},
                    Dense<test::classes>{}};
}

/// Numbers of stages that divide the ranks.
std::vector<std::size_t> stage_counts() {
  std::vector<std::size_t> counts;
  for (std::size_t stages = 1; stages <= world().size(); ++stages)
    if (world().size() % stages == 0) counts.push_back(stages);
  return counts;
}

template <class T, class Strategy, class Architecture, class Optimizer>
auto compiled(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer,
              SparseCategoricalCrossentropy const& loss) {
  return compile<T>(strategy, architecture, optimizer, loss, Accuracy{}, test::Margin{},
                    CompileOptions{.seed = 11, .parallelism = Parallelism::intra_op});
}

template <class T, class Optimizer, class Data>
void check_ranks(Optimizer const& optimizer, Data const& data, FitOptions options,
                 std::vector<std::size_t> const& micro_batches,
                 SparseCategoricalCrossentropy const& loss = {.from_logits = true}) {
  options.verbose = false;
  auto const validate = test::mlp_samples<T>(9, 2);
  auto const tests = validation(validate.data().batch(GlobalBatch{4}));
  OneDeviceStrategy<> const one;
  auto reference = compiled<T>(one, deep(), optimizer, loss);
  auto const expected = fit(one, reference, data, tests, options);
  BOOST_TEST(reference.engine().iteration() >= 20u);
  auto const outputs = predict(one, reference, tests.data);
  for (std::size_t stages : stage_counts())
    for (std::size_t pieces : micro_batches) BOOST_TEST_CONTEXT(stages << " stages, " << pieces << " micro-batches") {
        PipelineStrategy<Space> const strategy(world(), {.micro_batches = pieces, .stages = stages});
        auto model = compiled<T>(strategy, deep(), optimizer, loss);
        auto const history = fit(strategy, model, data, tests, options);
        test::check_same_weights(model, reference);
        test::check_same_history(history, expected, test::tolerance<T>);
        BOOST_TEST(test::distance(predict(strategy, model, tests.data), outputs) <= test::tolerance<T>);
      }
}

}  // namespace

BOOST_AUTO_TEST_CASE(stages_train_as_one_device_for_any_number_of_micro_batches) {
  auto const train = test::mlp_samples<double>(61);
  check_ranks<double>(SGD{.learning_rate = 0.1, .momentum = 0.9}, train.data().shuffle(61, 7).batch(GlobalBatch{7}),
                      {.epochs = 3}, {1, 2, 3, 4, 9});
}

BOOST_AUTO_TEST_CASE(stages_train_as_one_device_in_single_precision_with_adam) {
  auto const train = test::mlp_samples<float>(61);
  check_ranks<float>(Adam{.learning_rate = 1e-2}, train.data().shuffle(61, 7).batch(GlobalBatch{7}), {.epochs = 3},
                     {4});
}

BOOST_AUTO_TEST_CASE(micro_batches_without_rows_add_nothing) {
  auto const train = test::mlp_samples<double>(21);  // 11 batches, the last of one sample
  check_ranks<double>(SGD{.learning_rate = 0.1, .momentum = 0.5}, train.data().batch(GlobalBatch{2}), {.epochs = 2},
                      {1, 4});
}

BOOST_AUTO_TEST_CASE(norms_that_are_clipped_are_those_of_all_stages) {
  auto const train = test::mlp_samples<double>(61);
  auto const data = train.data().batch(GlobalBatch{7});
  check_ranks<double>(SGD{.learning_rate = 0.1, .global_clipnorm = 0.1}, data, {.epochs = 3}, {4});
  check_ranks<double>(SGD{.learning_rate = 0.1, .clipnorm = 0.05}, data, {.epochs = 3}, {4});
}

BOOST_AUTO_TEST_CASE(sample_weights_and_ignored_classes_are_those_of_one_device) {
  auto train = test::mlp_samples<double>(41);
  check_ranks<double>(SGD{.learning_rate = 0.1}, train.weighted_data().batch(GlobalBatch{4}), {.epochs = 2}, {4});
  train.y[4] = train.y[5] = train.y[6] = train.y[7] = 2;  // a whole batch of them
  check_ranks<double>(SGD{.learning_rate = 0.1}, train.data().batch(GlobalBatch{4}), {.epochs = 2}, {4},
                      {.from_logits = true, .ignore_class = 2});
}

BOOST_AUTO_TEST_CASE(cuts_are_where_they_were_asked_for) {
  if (world().size() % 2 != 0) {
    // Ranks that stages do not divide are one error on all of them.
    PipelineStrategy<Space, 3> const strategy(world());
    BOOST_CHECK_EXCEPTION(compile(strategy, deep(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true}),
                          ValueError, [](ValueError const& error) {
                            return error.uniform() &&
                                   std::string(error.what()).find("2 stages, which do not divide") != std::string::npos;
                          });
    return;
  }
  PipelineStrategy<Space, 3> const strategy(world());  // before the second Dropout
  auto model = compiled<double>(strategy, deep(), SGD{.learning_rate = 0.1}, {.from_logits = true});
  std::size_t const first = (6 * 9 + 2) + (9 + 7) + (9 * 7 + 1) + (7 + 1),
                    second = (7 * 5 + 5) + (5 + 3) + (5 * 4 + 4) + (4 + 4);
  BOOST_TEST(model.engine().weights().snapshot().extent(0) == (world().rank() % 2 == 0 ? first : second));
  OneDeviceStrategy<> const one;
  auto reference = compiled<double>(one, deep(), SGD{.learning_rate = 0.1}, {.from_logits = true});
  auto const samples = test::mlp_samples<double>(30);
  auto const data = samples.data().batch(GlobalBatch{7});
  fit(strategy, model, data, {.epochs = 4, .verbose = false});
  fit(one, reference, data, {.epochs = 4, .verbose = false});
  test::check_same_weights(model, reference);
}

BOOST_AUTO_TEST_CASE(groups_of_costs_are_as_even_as_they_can_be) {
  constexpr std::array<std::size_t, 5> costs{9, 1, 1, 2, 8};
  static_assert(balanced_cuts(costs, 1)[1] == 5);
  static_assert(balanced_cuts(costs, 2)[1] == 1 || balanced_cuts(costs, 2)[1] == 2);
  constexpr auto three = balanced_cuts(costs, 3);
  static_assert(three[0] == 0 && three[1] == 1 && three[2] == 4 && three[3] == 5);
  static_assert(balanced_cuts(costs, 5)[4] == 4);
  constexpr Sequential architecture{Input<100>{}, Dense<100>{}, Dense<10>{}, Dense<10>{}};
  constexpr auto flops = slice_flops(Slices<float, std::decay_t<decltype(architecture)>>(architecture));
  static_assert(flops == std::array<std::size_t, 3>{2 * 10100 + 100, 2 * 1010 + 10, 2 * 110 + 10});
  BOOST_TEST(balanced_cuts(flops, 2)[1] == 1u);
  // A convolution works at each position of its output.
  constexpr auto strided = Conv2D<4, 3, 3, Strides<2, 2>>{}.flops(Extents<9, 9, 2>{});
  static_assert(strided == 4 * 4 * 4 * (2 * 3 * 3 * 2 + 1));
}
