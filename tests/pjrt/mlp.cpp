// Perceptrons under PjrtStrategy against OneDeviceStrategy: 1 to 3 replicas, batches that do not divide.
#define BOOST_TEST_MODULE pjrt_mlp
#include "support/kokkos_fixture.hpp"

#include "pjrt/training.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/weighted.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/lamb.hpp"
#include "trireme/optimizers/lars.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

/// 167 samples in batches of 32: the sixth batch has 7 rows, which three replicas share 2, 2 and 3.
template <class Make>
void check_replicas(Make const& make, std::size_t epochs = 9, double limit = test::program_tolerance) {
  auto const samples = test::mlp_samples<float>(167), others = test::mlp_samples<float>(41, 2);
  auto const train = samples.weighted_data().shuffle(167, 3).batch(GlobalBatch{32});
  auto const tests = others.data().batch(GlobalBatch{16});
  auto const reference = test::run(OneDeviceStrategy<>(), make, train, tests, epochs);
  BOOST_TEST(reference.first.engine().iteration() >= 50u);
  for (std::size_t replicas = 1; replicas <= 3; ++replicas) BOOST_TEST_CONTEXT(replicas << " replicas")
  test::check_same_run(test::run(test::pjrt_strategy(replicas), make, train, tests, epochs), reference, limit);
}

auto logits = SparseCategoricalCrossentropy{.from_logits = true};

}  // namespace

BOOST_AUTO_TEST_CASE(fifty_steps_with_adam_are_those_of_one_device) {
  check_replicas([](auto const& strategy) {
    return compile(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<16, ReLU>{}, Dense<test::classes>{}},
                   Adam{.learning_rate = 1e-2}, logits, Accuracy{}, Weighted{Accuracy{}}, CompileOptions{.seed = 5});
  });
}

BOOST_AUTO_TEST_CASE(dropout_draws_the_same_bits_and_penalties_are_counted_once) {
  check_replicas([](auto const& strategy) {
    return compile(strategy, test::mlp(), SGD{.learning_rate = 0.05, .momentum = 0.9, .global_clipnorm = 0.5}, logits,
                   Accuracy{}, CompileOptions{.seed = 11});
  });
}

BOOST_AUTO_TEST_CASE(in_double_precision_nothing_but_rounding_differs) {
  auto const samples = test::mlp_samples<double>(61);
  auto const data = samples.weighted_data().shuffle(61, 3).batch(GlobalBatch{7});
  auto const train = [&](auto const& strategy) {
    auto model = compile<double>(strategy, test::mlp(), Adam{.learning_rate = 1e-2, .weight_decay = 1e-3}, logits,
                                 Accuracy{}, CompileOptions{.seed = 11});
    fit(strategy, model, data, {.epochs = 6, .verbose = false});
    return model;
  };
  auto const reference = train(OneDeviceStrategy<>());
  BOOST_TEST(reference.engine().iteration() == 54u);
  for (std::size_t replicas = 1; replicas <= 3; ++replicas)
    test::check_same_weights(train(test::pjrt_strategy(replicas)), reference, 1e-12);
}

BOOST_AUTO_TEST_CASE(norms_of_tensors_are_those_of_one_device) {
  auto const samples = test::mlp_samples<double>(61);
  auto const data = samples.data().shuffle(61, 3).batch(GlobalBatch{7});
  auto const check = [&](auto const& optimizer) {
    auto const train = [&](auto const& strategy) {
      auto model = compile<double>(strategy, test::mlp(), optimizer, logits, Accuracy{}, CompileOptions{.seed = 11});
      fit(strategy, model, data, {.epochs = 3, .verbose = false});
      return model;
    };
    auto const reference = train(OneDeviceStrategy<>());
    test::check_same_weights(train(test::pjrt_strategy(2)), reference, 1e-12);
  };
  check(Lamb{.learning_rate = 1e-2, .weight_decay = 1e-3});
  check(Lars{.learning_rate = 5, .trust_coefficient = 0.01, .weight_decay = 1e-3});
}

BOOST_AUTO_TEST_CASE(batches_smaller_than_the_number_of_replicas_leave_some_without_rows) {
  auto const samples = test::mlp_samples<float>(13);
  auto const make = [](auto const& strategy) {
    return compile(strategy, test::mlp(), SGD{.learning_rate = 0.1, .nesterov = true, .weight_decay = 1e-3}, logits,
                   Accuracy{});
  };
  auto const data = samples.data().batch(GlobalBatch{2});
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 8);
  test::check_same_run(test::run(test::pjrt_strategy(3), make, data, data, 8), reference);
}
