/// Law 1 as a table: every synchronous strategy trains each of five models as OneDevice does, in double, on 1 to 4
/// ranks.
///
///     strategy                             | MLP | CNN | normalization | LSTM | attention | tests/mpi/law/
///     -------------------------------------|-----|-----|---------------|------|-----------|---------------
///     MirroredStrategy, 2 to 5 replicas    |  x  |  x  |       x       |  x   |     x     | replicas
///     MirroredStrategy, 2 and 3 devices    |  x  |  x  |       x       |  x   |     x     | tests/device/mirrored
///     MultiWorkerMirroredStrategy          |  x  |  x  |       x       |  x   |     x     | replicas
///     ShardedStrategy of stage 1, 2, 3     |  x  |  x  |       x       |  x   |     x     | shards_1, 2, 3
///     PipelineStrategy, data x pipeline    |  x  |  x  |      (1)      |  x   |     x     | stages
///     PipelineStrategy with cuts           |  x  |  x  |      (1)      |  x   |     x     | cuts
///     ParameterServerStrategy, staleness 0 |  x  |  x  |       x       |  x   |     x     | servers
///     VirtualReplicas                      |  x  |  x  |       x       |  x   |     x     | virtual_replicas
///     Accumulate                           |  x  |  x  |      (2)      |  x   |     x     | accumulate
///     Compressed without loss              |  x  |  x  |       x       |  x   |     x     | compressed
///
/// The CNN's optimizer is Lamb and the LSTM's is Lars, whose rules take norms of whole tensors; the others' is SGD.
/// Optimizers that limit gradients have a test of their own, tests/mpi/law/clipping.
///
/// The normalization is SyncBatchNormalization: the statistics of BatchNormalization are those of a replica, so that
/// they differ with the number of replicas by what they are (compared with MirroredStrategy in the tests of each
/// strategy). (1) With one micro-batch: of several, each has statistics of its own. (2) Not promised: a piece has
/// statistics of its own (compared with pieces as replicas in strategies/accumulate).
///
/// Compared are weights, history with losses and metrics of training and validation, an evaluation, and predictions.
/// Batches of 7 are uneven over ranks, replicas and micro-batches, of batches of 3 the fourth rank has nothing, and the
/// last batch of an epoch has one row, so that all ranks but one have nothing.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "trireme/optimizers/lamb.hpp"
#include "trireme/optimizers/lars.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace trireme::test::law {

inline auto momentum() { return SGD{.learning_rate = 0.02, .momentum = 0.9}; }

struct Mlp {
  static constexpr char const* name = "MLP";
  static auto optimizer() { return momentum(); }
  static auto architecture() { return perceptron(); }
};
struct Cnn {
  static constexpr char const* name = "CNN";
  static auto optimizer() { return Lamb{.learning_rate = 0.01, .weight_decay = 0.1}; }
  static auto architecture() { return convolutional(); }
};
struct Normalization {
  static constexpr char const* name = "normalization";
  static auto optimizer() { return momentum(); }
  static auto architecture() { return normalized(SyncBatchNormalization<>{.momentum = 0.8}); }
};
struct Lstm {
  static constexpr char const* name = "LSTM";
  static auto optimizer() { return Lars{.learning_rate = 5, .trust_coefficient = 0.01, .weight_decay = 1e-3}; }
  static auto architecture() { return recurrent(); }
};
struct Attention {
  static constexpr char const* name = "attention";
  static auto optimizer() { return momentum(); }
  static auto architecture() { return transformer(); }
};

/// What a training comes to; no template, so that a further strategy costs the compiler one training.
struct Outcome {
  std::vector<std::string> names;
  std::map<std::string, std::vector<double>> weights;  ///< empty on servers, which hold none by name
  History history;
  Logs evaluated;
  std::vector<double> predictions;
};

/// True if this process has all weights, or takes part in giving them to all.
template <class Strategy>
bool gives_weights(Strategy const& strategy) {
  if constexpr (requires { strategy.roles(); })
    return strategy.roles().is_replica(strategy.group().rank());
  else
    return true;
}

template <class Model, class Strategy>
Outcome outcome(Strategy const& strategy, Training const& training) {
  Outcome result;
  auto const train = cnn_samples<double>(4 * training.batch + 1);
  trained_with<double>(Model::optimizer(), strategy, Model::architecture(), train, training,
                       [&](auto& model, History const& history) {
                         result.names = model.weight_names();
                         if (gives_weights(strategy))
                           for (std::string const& name : result.names) {
                             auto const values = model.weights(name);
                             result.weights[name].assign(values.begin(), values.end());
                           }
                         result.history = history;
                         auto const samples = cnn_samples<double>(7, 4);
                         auto const data = samples.data().batch(GlobalBatch{3});
                         result.evaluated = evaluate(strategy, model, data);
                         auto const predictions = predict(strategy, model, data);
                         result.predictions.assign(predictions.begin(), predictions.end());
                       });
  return result;
}

constexpr std::size_t batches[] = {7, 3};

/// What OneDevice makes of each batch size.
template <class Model>
Outcome const& reference(std::size_t batch) {
  static std::map<std::size_t, Outcome> known;
  if (!known.contains(batch))
    known[batch] = outcome<Model>(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), {.batch = batch});
  return known[batch];
}

inline void check_outcome(Outcome const& result, Outcome const& expected, double limit) {
  BOOST_TEST(result.names == expected.names, boost::test_tools::per_element());
  for (auto const& [name, values] : result.weights) {
    double const d = distance(values, expected.weights.at(name));
    BOOST_TEST(d <= limit, name << " differs by " << d << " in norm, relative");
  }
  check_same_history(result.history, expected.history, limit);
  check_same_logs(result.evaluated, expected.evaluated, limit);
  double const d = distance(result.predictions, expected.predictions);
  BOOST_TEST(d <= limit, "predictions differ by " << d << " in norm, relative");
}

/// A row of the table: this strategy trains these models as one device does. Where `plans` are two, the first is that
/// of large batches.
template <class... Models, class Strategy>
void check_row(std::string const& name, Strategy const& strategy,
               std::vector<Parallelism> const& plans = {Parallelism::automatic}) {
  auto const check = [&]<class Model>(Model) {
    for (std::size_t const batch : batches)
      BOOST_TEST_CONTEXT(name << " of the " << Model::name << ", batches of " << batch)
    check_outcome(
        outcome<Model>(strategy, {.parallelism = batch == batches[0] ? plans.front() : plans.back(), .batch = batch}),
        reference<Model>(batch), batch == batches[0] ? 3e-13 : 3e-12);
  };
  (check(Models()), ...);
}

inline Communicator const& world() { return environment().world(); }

}  // namespace trireme::test::law
