// ranks: 1 2 3
// Strategies whose ranks step on their own, or send less than they have, do on devices what they do on hosts; so do
// checkpoints of shards and stages.
#define BOOST_TEST_MODULE device_strategies
#include "support/device.hpp"

#include "support/killer.hpp"
#include "support/law_models.hpp"
#include "support/law_table.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using namespace trireme::test::law;

namespace {

using test::Device;

template <class Space>
using Workers = MultiWorkerMirroredStrategy<Space>;

/// Not the default instance, whose queue Kokkos uses where a call names no space.
template <class Space>
Space space() {
  if constexpr (std::is_same_v<Space, Device>)
    return test::device(1 + world().rank());
  else
    return Space();
}

auto normalized() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{.kernel_regularizer = L2(0.1)},
                    BatchNormalization<>{.momentum = 0.8}, Dropout{.rate = 0.25f}, Dense<test::classes>{}};
}

auto compiled(auto const& strategy) {
  return compile<double>(strategy, normalized(), Adam{.learning_rate = 0.03, .epsilon = 1e-3},
                         SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 1}, Accuracy{},
                         CompileOptions{.seed = 4});
}

/// f(check) calls check(model, history) of the strategy that `make` makes for a space.
template <class Space, class Make, class Check>
void trained(Make const& make, Check const& check) {
  auto const samples = test::mlp_samples<double>(31);
  auto const strategy = make.template operator()<Space>(space<Space>());
  auto model = compiled(strategy);
  auto const history = fit(strategy, model, samples.data().shuffle(31, 2).batch(GlobalBatch{4}),
                           validation(samples.weighted_data().batch(GlobalBatch{7})), {.epochs = 2, .verbose = false});
  check(strategy, model, history);
}

template <class Make>
void check_same_on_device(Make const& make, double limit = 1e-12) {
  trained<Kokkos::DefaultHostExecutionSpace>(
      make, [&](auto const&, auto const& expected, History const& expected_history) {
        trained<Device>(make, [&](auto const& strategy, auto const& model, History const& history) {
          if (gives_weights(strategy)) test::check_same_weights(model, expected, limit);
          test::check_same_history(history, expected_history, limit);
        });
      });
}

using test::Killer, test::never;

struct Result {
  std::vector<double> weights;
  History history;
};

/// Nothing if it was killed.
template <class Strategy>
std::optional<Result> run(Strategy const& strategy, char const* file, std::size_t steps) {
  auto const samples = test::mlp_samples<double>(22), tests = test::mlp_samples<double>(7, 2);
  auto model = compiled(strategy);
  return test::unless_killed([&] {
    Result result;
    result.history = fit(strategy, model, samples.data().shuffle(22, 4).batch(GlobalBatch{5}),
                         validation(tests.data().batch(GlobalBatch{3})), {.epochs = 3, .verbose = false}, Killer{steps},
                         EarlyStopping<"val_loss">{.min_delta = 0.03, .patience = 1, .restore_best_weights = true},
                         BackupAndRestore{.path = file, .save_freq = std::size_t{2}});
    for (auto const& name : model.weight_names())
      for (double value : model.weights(name)) result.weights.push_back(value);
    return result;
  });
}

template <class Strategy>
void check_resumes(Strategy const& strategy) {
  auto const remove = [](char const* file) {
    world().barrier();
    if (world().is_chief()) std::filesystem::remove(file);
    world().barrier();
  };
  remove("whole.npz");
  remove("run.npz");
  auto const expected = run(strategy, "whole.npz", never);
  BOOST_REQUIRE(expected.has_value());
  BOOST_TEST(!run(strategy, "run.npz", 7).has_value());
  auto const resumed = run(strategy, "run.npz", never);
  BOOST_REQUIRE(resumed.has_value());
  BOOST_TEST(resumed->weights == expected->weights);
  BOOST_TEST((resumed->history.values == expected->history.values));
}

}  // namespace

BOOST_AUTO_TEST_CASE(sharded) {
  check_row<Mlp, Cnn, Normalization, Lstm>("Sharded of stage 2", ShardedStrategy<Device, 2>(world(), space<Device>()));
}

BOOST_AUTO_TEST_CASE(compressed) {
  Workers<Device> const ranks(world(), space<Device>());
  check_row<Mlp, Normalization>("Compressed to double", Compressed(ranks, double{}));
  check_row<Mlp>("Compressed to all values", Compressed(ranks, TopK{.fraction = 1}));
  check_same_on_device(
      []<class Space>(Space const& s) { return Compressed(Workers<Space>(world(), s), TopK{.fraction = 0.2}); });
  // What is rounded to bfloat16 may round otherwise.
  check_same_on_device([]<class Space>(Space const& s) { return Compressed(Workers<Space>(world(), s), BFloat16{}); },
                       2e-3);
}

BOOST_AUTO_TEST_CASE(local_sgd) {
  check_same_on_device([]<class Space>(Space const& s) { return LocalSGD<Workers<Space>, 3>(world(), s); });
  check_same_on_device([]<class Space>(Space const& s) {
    return LocalSGD<Workers<Space>, 2, SGD>(Workers<Space>(world(), s),
                                            SGD{.learning_rate = 0.7, .momentum = 0.9, .nesterov = true});
  });
  check_same_on_device(
      []<class Space>(Space const& s) { return Accumulate<LocalSGD<Workers<Space>, 2>, 2>(world(), s); });
  check_same_on_device([]<class Space>(Space const& s) {
    using Short = Compressed<Workers<Space>, TopK>;
    return LocalSGD<Short, 2>(Short(Workers<Space>(world(), s), TopK{.fraction = 0.5}));
  });
}

BOOST_AUTO_TEST_CASE(parameter_server_with_staleness) {
  // One worker at a time has no order to choose.
  if (world().size() > 2) return;
  check_same_on_device(
      []<class Space>(Space const& s) { return ParameterServerStrategy<Space>(world(), {.staleness = 2}, s); });
}

BOOST_AUTO_TEST_CASE(resumed_runs) {
  check_resumes(ShardedStrategy<Device, 2>(world(), space<Device>()));
  check_resumes(ShardedStrategy<Device, 3>(world(), space<Device>()));
  check_resumes(PipelineStrategy<Device>(world(), {.micro_batches = 2, .stages = world().size()}, space<Device>()));
  check_resumes(LocalSGD<Workers<Device>, 3>(world(), space<Device>()));
  check_resumes(Compressed(Workers<Device>(world(), space<Device>()), TopK{.fraction = 0.2}));
}
