// ranks: 1 2
// Models of several inputs and outputs as programs against OneDeviceStrategy.
#define BOOST_TEST_MODULE pjrt_several_outputs
#include "support/kokkos_fixture.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "pjrt/training.hpp"
#include "support/logits.hpp"
#include "support/masked_penalties.hpp"
#include "support/tuple_models.hpp"
#include "trireme/metrics/binary_accuracy.hpp"
#include "trireme/metrics/sparse_categorical_accuracy.hpp"
#include "trireme/metrics/weighted.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;
using test::tuples::features, test::tuples::steps;

namespace {

using Samples = test::tuples::Samples<float>;

template <class Prediction>
void check_close(Prediction const& prediction, Prediction const& reference) {
  BOOST_TEST(test::distance(prediction, reference) <= test::program_tolerance);
}
template <class P, std::size_t N>
void check_close(std::array<P, N> const& predictions, std::array<P, N> const& references) {
  for (std::size_t i = 0; i < N; ++i) check_close(predictions[i], references[i]);
}

/// Trains, evaluates and predicts; the last batches are smaller than the others.
template <class Strategy, class Architecture, class Losses, class Train, class Tests>
auto trained(Strategy const& strategy, Architecture const& architecture, Losses const& losses, Train const& train,
             Tests const& tests) {
  auto model = compile<float>(strategy, architecture, SGD{.learning_rate = 0.05, .momentum = 0.9}, losses,
                              CompileOptions{.seed = 5});
  auto history = fit(strategy, model, train.shuffle(49, 3).batch(GlobalBatch{12}),
                     validation(tests.batch(GlobalBatch{5})), {.epochs = 4, .verbose = false});
  auto logs = evaluate(strategy, model, tests.batch(GlobalBatch{5}));
  auto prediction = predict(strategy, model, tests.batch(GlobalBatch{5}));
  return std::tuple(std::move(model), std::move(history), std::move(logs), std::move(prediction));
}

template <class Architecture, class Losses, class Data>
void check(Architecture const& architecture, Losses const& losses, Data const& data) {
  Samples const train(49, 1), tests(7, 2);
  auto const reference = trained(OneDeviceStrategy<>(), architecture, losses, data(train), data(tests));
  auto const compare = [&](auto const& strategy) {
    auto const run = trained(strategy, architecture, losses, data(train), data(tests));
    test::check_same_weights(std::get<0>(run), std::get<0>(reference), test::program_tolerance);
    test::check_same_history(std::get<1>(run), std::get<1>(reference), test::program_tolerance);
    test::check_same_logs(std::get<2>(run), std::get<2>(reference), test::program_tolerance);
    check_close(std::get<3>(run), std::get<3>(reference));
  };
  auto const& world = test::environment().world();
  for (std::size_t replicas : {1u, 3u})
    BOOST_TEST_CONTEXT(replicas << " replicas on each of " << world.size() << " ranks") {
      if (world.size() == 1)
        compare(test::pjrt_strategy(replicas));
      else
        compare(MultiWorkerPjrtStrategy(world, test::pjrt_strategy(replicas)));
    }
}

/// Class 0 is left out of the second loss, so that its count differs from batch to batch and from replica to replica.
auto losses() {
  return Outputs{output<"number">(MeanSquaredError{}, LossWeight{0.3}, BinaryAccuracy{.threshold = 0.1}),
                 output<"kind">(SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 0}, Accuracy{},
                                Weighted{SparseCategoricalAccuracy{}})};
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_inputs_and_two_outputs_with_a_tower_for_both_train_as_on_one_device) {
  check(test::tuples::towers(), losses(), [](Samples const& samples) { return samples.data(); });
}

/// All targets are class indices, which are integers in a batch then.
BOOST_AUTO_TEST_CASE(outputs_of_classes_alone_train_as_on_one_device) {
  check(Sequential{Input<steps, features>{}, Dense<5, Tanh>{},
                   Fork{Dense<3>{}, Sequential{Flatten{}, Dropout{.rate = 0.25f}, Dense<3, Softmax>{}}}},
        Outputs{output<"each">(SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}),
                output<"all">(SparseCategoricalCrossentropy{}, LossWeight{0.5}, Accuracy{})},
        [](Samples const& samples) {
          return data::from_tensor_slices(
              samples.first.x,
              std::tuple{HostTensor<std::int32_t>{nullptr, samples.kinds.data(), {samples.first.size(), steps}, {}},
                         HostTensor<std::int32_t>{nullptr, samples.second.y.data(), {samples.second.size()}, {}}},
              samples.first.weight);
        });
}

BOOST_AUTO_TEST_CASE(several_inputs_of_one_output_train_as_on_one_device) {
  check(Sequential{Inputs{Input<steps, features>{}, Input<2, features>{}}, Parallel{Flatten{}, Dense<3, ReLU>{}},
                   Parallel{Dropout{.rate = 0.25f}, Flatten{}}, Concatenate{}, Dense<6, Tanh>{}, Dense<3>{}},
        SparseCategoricalCrossentropy{.from_logits = true}, [](Samples const& samples) {
          return data::from_tensor_slices(samples.x(), samples.second.y, samples.second.weight);
        });
}

BOOST_AUTO_TEST_CASE(outputs_of_one_train_as_on_one_device) {
  check(Sequential{Input<steps, features>{}, Dense<5, Tanh>{}, Dense<3>{.kernel_regularizer = L2(1e-3)}},
        Outputs{output<"kind">(SparseCategoricalCrossentropy{.from_logits = true}, LossWeight{0.5}, Accuracy{})},
        [](Samples const& samples) {
          return data::from_tensor_slices(
              samples.first.x,
              HostTensor<std::int32_t>{nullptr, samples.kinds.data(), {samples.first.size(), steps}, {}},
              samples.first.weight);
        });
}

BOOST_AUTO_TEST_CASE(outputs_that_are_inputs_or_one_value_train_as_on_one_device) {
  check(Sequential{Input<steps, features>{}, Fork{Flatten{}, Sequential{Flatten{}, Dense<5, Tanh>{}, Dense<1>{}}},
                   Select<1, 1>{}},
        Outputs{output<"first">(MeanSquaredError{}), output<"second">(MeanSquaredError{}, LossWeight{0.25})},
        [](Samples const& samples) {
          auto const number = HostTensor<float>{nullptr, samples.number.data(), {samples.first.size(), 1}, {}};
          return data::from_tensor_slices(samples.first.x, std::tuple{number, number}, samples.first.weight);
        });
}

BOOST_AUTO_TEST_CASE(the_loss_has_the_whole_penalty_whichever_samples_have_labels) {
  for (std::size_t replicas : {1u, 3u})
    BOOST_TEST_CONTEXT(replicas << " replicas") test::check_masked_penalties(test::pjrt_strategy(replicas));
}

BOOST_AUTO_TEST_CASE(outputs_on_logits_train_and_are_predicted_as_on_one_device) {
  for (std::size_t replicas : {1u, 3u})
    BOOST_TEST_CONTEXT(replicas << " replicas") test::check_outputs_on_logits(test::pjrt_strategy(replicas), 1e-11);
}
