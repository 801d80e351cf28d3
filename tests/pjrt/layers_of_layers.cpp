// ranks: 1 2
// Frozen, Each and Shared layers as programs against OneDeviceStrategy.
#define BOOST_TEST_MODULE pjrt_layers_of_layers
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <vector>

#include "pjrt/training.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/layers/select.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/shared.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

template <class Strategy, class Architecture>
auto compiled(Strategy const& strategy, Architecture const& architecture) {
  return compile(strategy, architecture, Adam{.learning_rate = 1e-2, .weight_decay = 1e-2},
                 SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 5});
}

template <class Architecture>
void check(Architecture const& architecture) {
  auto const samples = test::mlp_samples<float>(61);
  auto const data = samples.weighted_data().shuffle(61, 3).batch(GlobalBatch{16});
  auto const make = [&](auto const& strategy) { return compiled(strategy, architecture); };
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 6);
  auto const& world = test::environment().world();
  for (std::size_t replicas : {1u, 3u})
    BOOST_TEST_CONTEXT(replicas << " replicas on each of " << world.size() << " ranks") {
      auto const strategy = test::pjrt_strategy(replicas);
      if (world.size() == 1)
        test::check_same_run(test::run(strategy, make, data, data, 6), reference);
      else
        test::check_same_run(test::run(MultiWorkerPjrtStrategy(world, strategy), make, data, data, 6), reference);
    }
}

auto frozen_between_others() {
  return Sequential{
      Input<test::mlp_inputs>{},
      Frozen{Dense<7, Tanh>{.kernel_regularizer = L2(1e-1)}},
      Dense<6, ReLU>{.kernel_regularizer = L2(1e-2)},
      Frozen{Sequential{Dense<6, Tanh>{}, Dropout{.rate = 0.25f}, Frozen{Dense<5>{}}, Reshape<5, 1>{}, Flatten{}}},
      Dropout{.rate = 0.1f},
      Dense<test::classes>{}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(frozen_layers_hand_gradients_on_and_stay_as_they_are) {
  check(frozen_between_others());
  auto const samples = test::mlp_samples<float>(20);
  auto const strategy = test::pjrt_strategy(2);
  auto model = compiled(strategy, frozen_between_others());
  std::vector<xt::xarray<float>> before;
  for (auto const& name : model.weight_names()) before.push_back(model.weights(name));
  fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false});
  std::size_t trained = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    trained += model.weights(model.weight_names()[i]) != before[i] ? 1 : 0;
  BOOST_TEST(before.size() == 10u);
  BOOST_TEST(trained == 4u);
}

BOOST_AUTO_TEST_CASE(frozen_branches_beside_others_train_as_on_one_device) {
  check(Graph{Input<test::mlp_inputs>{}, node<"a">(Frozen{Dense<6, Tanh>{}}), node<"b", "input">(Dense<6, Tanh>{}),
              node<"both", "a", "b">(Frozen{Each{Sequential{Dense<4, Tanh>{}, Dropout{.rate = 0.25f}}}}),
              node<"joined">(Concatenate{}), node<"head">(Dense<test::classes>{})});
}

BOOST_AUTO_TEST_CASE(models_whose_layers_are_all_frozen_but_the_last_train_as_on_one_device) {
  check(Sequential{Input<test::mlp_inputs>{},
                   Frozen{Sequential{Dense<9, Tanh>{}, Dropout{.rate = 0.25f}, Dense<8, ReLU>{}}},
                   Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(one_layer_on_parts_of_other_extents_trains_as_on_one_device) {
  check(Sequential{Input<test::mlp_inputs>{},
                   Fork{Reshape<3, 2>{}, Sequential{Dense<4>{}, Reshape<2, 2>{}}, Reshape<3, 2>{}},
                   Each{Sequential{Dense<5, Tanh>{.kernel_regularizer = L2(1e-2)}, Dropout{.rate = 0.25f}, Dense<3>{}}},
                   Parallel{Flatten{}, Flatten{}, Sequential{Flatten{}, Dropout{.rate = 0.1f}}}, Concatenate{},
                   Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(each_within_each_trains_as_on_one_device) {
  check(Sequential{Input<test::mlp_inputs>{}, Fork{Dense<4, Tanh>{}, Dense<4>{}},
                   Each{Sequential{Fork{Dense<3, Tanh>{}, Dense<3>{}},
                                   Each{Sequential{Dense<3, ReLU>{}, Dropout{.rate = 0.25f}}}, Add{}}},
                   Concatenate{}, Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(branches_of_static_and_dynamic_extents_train_as_on_one_device) {
  check(Sequential{Input<test::mlp_inputs>{}, Residual{Dense<dynamic, Tanh>{.units = test::mlp_inputs}},
                   Concatenate{Dense<3>{}, Dense<dynamic, ReLU>{.units = 2}}, Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(training_of_shared_layers_reaches_the_other_model) {
  auto const samples = test::mlp_samples<float>(40);
  auto const data = samples.data().shuffle(40, 3).batch(GlobalBatch{8});
  auto const trained = [&](auto const& strategy) {
    Shared const encoder{Sequential{Dense<7, Tanh>{}, Dropout{.rate = 0.25f}, Dense<5, Tanh>{}}};
    auto first = compiled(strategy, Sequential{Input<test::mlp_inputs>{}, encoder, Dense<test::classes>{}});
    auto second = compiled(
        strategy, Sequential{Input<test::mlp_inputs>{}, Frozen{encoder}, Dense<6, ReLU>{}, Dense<test::classes>{}});
    fit(strategy, first, data, {.epochs = 3, .verbose = false});
    fit(strategy, second, data, validation(data), {.epochs = 4, .verbose = false},
        EarlyStopping<"val_loss">{.patience = 1, .restore_best_weights = true});
    fit(strategy, first, data, {.epochs = 3, .verbose = false});
    return std::pair(std::move(first), std::move(second));
  };
  auto const reference = trained(OneDeviceStrategy<>());
  for (std::size_t replicas : {1u, 3u}) BOOST_TEST_CONTEXT(replicas << " replicas") {
      auto const models = trained(test::pjrt_strategy(replicas));
      test::check_same_weights(models.first, reference.first, test::program_tolerance);
      test::check_same_weights(models.second, reference.second, test::program_tolerance);
    }
}

BOOST_AUTO_TEST_CASE(frozen_weights_are_set_and_read) {
  auto const strategy = test::pjrt_strategy(2);
  auto model = compiled(strategy, frozen_between_others());
  auto reference = compiled(OneDeviceStrategy<>(), frozen_between_others());
  for (auto const& name : model.weight_names()) {
    xt::xarray<float> const values = reference.weights(name) + 0.5f;
    model.set_weights(name, values);
    reference.set_weights(name, values);
  }
  test::check_same_weights(model, reference, 0);
  auto const samples = test::mlp_samples<float>(9);
  auto const data = samples.data().batch(GlobalBatch{4});
  BOOST_TEST(test::distance(predict(strategy, model, data), predict(OneDeviceStrategy<>(), reference, data)) <=
             test::program_tolerance);
}
