// ranks: 1 2
// Models of several inputs and outputs, graphs, models of the user's own and layers that models share train on devices
// as on hosts.
#define BOOST_TEST_MODULE device_graphs
#include "support/device.hpp"

#include "../../examples/own_model/decay.hpp"
#include "../../examples/own_parts/parts.hpp"

#include "support/law_models.hpp"
#include "support/law_table.hpp"
#include "support/tuple_models.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/models/shared.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using test::law::world;

namespace {

using test::Device;

Device device() { return test::device(1 + world().rank()); }

template <class Strategy, class Architecture>
void check_tuples(Strategy const& strategy, Architecture const& architecture, double limit) {
  namespace tuples = test::tuples;
  tuples::trained<double>(
      OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), architecture, Parallelism::intra_op, 7,
      [&](auto const& reference, History const& expected, auto const& predicted, Logs const& evaluated) {
        tuples::trained<double>(
            strategy, architecture, Parallelism::automatic, 7,
            [&](auto const& model, History const& history, auto const& prediction, Logs const& logs) {
              test::check_same_weights(model, reference, limit);
              test::check_same_history(history, expected, limit);
              test::check_same_logs(logs, evaluated, limit);
              BOOST_TEST(test::distance(prediction[0], predicted[0]) <= limit);
              BOOST_TEST(test::distance(prediction[1], predicted[1]) <= limit);
            });
      });
}

template <class Precision, class Strategy, class Architecture>
void check(Strategy const& strategy, Architecture const& architecture, double limit) {
  auto const run = [&](auto const& on, auto const& f) {
    auto const train = test::cnn_samples<double>(29), tests = test::cnn_samples<double>(7, 2);
    auto model = compile<Precision>(on, architecture, SGD{.learning_rate = 0.02, .momentum = 0.9},
                                    SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, test::Margin{},
                                    CompileOptions{.seed = 5});
    auto const history = fit(on, model, train.data().shuffle(29, 3).batch(GlobalBatch{7}),
                             validation(tests.weighted_data().batch(GlobalBatch{5})),
                             {.epochs = 2, .class_weight = {1, 2, 0.5, 0.25}, .verbose = false});
    f(model, history);
  };
  run(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), [&](auto const& reference, History const& expected) {
    run(strategy, [&](auto const& model, History const& history) {
      test::check_same_weights(model, reference, limit);
      test::check_same_history(history, expected, limit);
    });
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(tuples_of_inputs_and_outputs) {
  MultiWorkerMirroredStrategy<Device> const ranks(world(), device(), 256);
  check_tuples(ranks, test::tuples::towers(), 1e-12);
  check_tuples(ranks, test::tuples::normalized_towers(), 1e-11);
  check_tuples(ShardedStrategy<Device, 3>(world(), device()), test::tuples::decoder(), 1e-11);
}

BOOST_AUTO_TEST_CASE(graphs_of_named_nodes) {
  check<double>(ShardedStrategy<Device, 3>(world(), device()), test::law::graph(), 1e-11);
  check<double>(Accumulate<OneDeviceStrategy<Device>, 1>(device()), test::law::graph(), 1e-11);
}

BOOST_AUTO_TEST_CASE(mixed_precision) {
  Sequential const network{test::law::input(), Conv2D<3, 3, 3, ReLU, Same>{}, Flatten{}, Dropout{.rate = 0.25f},
                           Dense<6, Tanh>{},   Dense<test::classes>{}};
  using Precision = Mixed<BFloat16, double>;
  check<Precision>(ShardedStrategy<Device, 2>(world(), device()), network, 1e-11);
  check<Precision>(ShardedStrategy<Device, 3>(world(), device()), network, 1e-11);
}

BOOST_AUTO_TEST_CASE(models_without_layers) {
  std::vector<double> time(21), activity(21);
  for (std::size_t i = 0; i < 21; ++i) {
    time[i] = 8.0 * static_cast<double>(i) / 21;
    activity[i] = 3.0 * std::exp(-time[i]) + 1.5 * std::exp(-0.1 * time[i]);
  }
  auto const data = data::from_tensor_slices(time, activity).shuffle(21, 1).batch(GlobalBatch{8});
  std::vector<double> const guess{2, 2, 2, 0.3};
  auto const fitted = [&]<class Strategy>(Strategy const& strategy) {
    using Decay = decay::Model<typename Strategy::Space>;
    auto const parameters = [&]() -> typename Decay::View {
      if constexpr (std::is_same_v<typename Strategy::Space, Device>)
        return typename Decay::View(Kokkos::view_alloc(device(), "parameters"), 4);
      else
        return typename Decay::View("parameters", 4);
    }();
    copy_view(parameters, host_view(guess));
    auto model = compile(strategy, Decay(parameters, Adam{.learning_rate = 0.02}));
    auto const history = fit(strategy, model, data, validation(data), {.epochs = 12, .verbose = false});
    auto result = to_host(parameters);
    BOOST_TEST(result == model.engine().weights().host_parameters(), boost::test_tools::per_element());
    for (auto const& name : {"loss", "val_loss"}) result.push_back(history[name].back());
    return result;
  };
  auto const expected = fitted(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>());
  BOOST_TEST(expected[0] != 2.0);
  BOOST_TEST(test::distance(fitted(OneDeviceStrategy<Device>(device())), expected) <= 1e-12);
  BOOST_TEST(test::distance(fitted(MultiWorkerMirroredStrategy<Device>(world(), device())), expected) <= 1e-12);
  BOOST_TEST(test::distance(fitted(ShardedStrategy<Device, 2>(world(), device())), expected) <= 1e-12);
}

BOOST_AUTO_TEST_CASE(layers_of_several_models) {
  auto const bits = [&]<class Strategy>(Strategy const& strategy) {
    Shared const encoder{Sequential{Dense<5, Tanh>{}, BatchNormalization<>{.momentum = 0.8}, Dense<3, Tanh>{}}};
    auto const samples = test::mlp_samples<double>(20);
    auto const compiled = [&](auto const& last, std::uint64_t seed) {
      return compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, encoder, last}, SGD{.learning_rate = 0.1},
                             SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = seed});
    };
    auto one = compiled(Dense<test::classes>{}, 3);
    auto other = compiled(Sequential{Dense<6, Tanh>{}, Dense<test::classes>{}}, 4);
    for (int round = 0; round < 2; ++round) {
      fit(strategy, one, samples.data().batch(GlobalBatch{5}), {.verbose = false});
      fit(strategy, other, samples.data().batch(GlobalBatch{7}), {.verbose = false});
      one.train_on_batch(samples.x, samples.y);
    }
    std::vector<double> all;
    for (auto const& name : one.weight_names())
      for (double value : one.weights(name)) all.push_back(value);
    for (auto const& name : other.weight_names())
      for (double value : other.weights(name)) all.push_back(value);
    return all;
  };
  auto const expected = bits(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>());
  BOOST_TEST(test::distance(bits(OneDeviceStrategy<Device>(device())), expected) <= 1e-12);
  if (world().size() == 1)
    BOOST_TEST(test::distance(bits(ShardedStrategy<Device, 3>(world(), device())), expected) <= 1e-12);
}

BOOST_AUTO_TEST_CASE(parts_of_the_users_own) {
  std::vector<double> const x{0.1, 0.5, 0.9, 1.7, 2.5, 3.1, 4.2}, y{1, 2, 3, 2, 1, 0, 1};
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{3});
  auto const train = [&](auto const& strategy, auto const& check) {
    auto model = compile<double>(
        strategy, Sequential{Input<1>{}, Dense<6, Elementwise<own::Mish>>{}, own::Shift{}, Dense<1>{}},
        own::SignDescent{.learning_rate = 0.01}, own::Pinball{}, own::Coverage{}, CompileOptions{.seed = 3});
    auto const history = fit(strategy, model, data, {.epochs = 4, .verbose = false});
    check(model, history);
  };
  train(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), [&](auto const& reference, History const& expected) {
    train(MultiWorkerMirroredStrategy<Device>(world(), device()), [&](auto const& model, History const& history) {
      test::check_same_weights(model, reference, 1e-12);
      test::check_same_history(history, expected, 1e-12);
    });
  });
}
