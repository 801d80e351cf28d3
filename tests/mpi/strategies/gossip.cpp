// ranks: 1 2 3 4
// A strategy of the user's own, as examples/gossip has it: ranks step alone and average with one partner a step.
#define BOOST_TEST_MODULE gossip
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "../../../examples/digits/digits_data.hpp"
#include "../../../examples/gossip/gossip_strategy.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

auto small(auto const& strategy) {
  return compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{}, Dense<test::classes>{}},
                         SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                         CompileOptions{.seed = 4});
}

}  // namespace

BOOST_AUTO_TEST_CASE(after_a_step_partners_have_the_mean_of_what_each_made_of_its_own_rows) {
  std::size_t const ranks = world().size(), rows = 4, batch = rows * ranks;
  auto const samples = test::mlp_samples<double>(batch);
  GossipStrategy<> const strategy(world());
  auto model = small(strategy);
  // What each rank makes of its rows, by hand.
  std::vector<std::vector<double>> alone;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    OneDeviceStrategy<> const one;
    auto reference = small(one);
    auto const x = samples.x.data() + rank * rows * test::mlp_inputs;
    reference.engine().train_step({.x = x, .y = samples.y.data() + rank * rows, .rows = rows, .global_rows = rows});
    alone.push_back(reference.engine().weights().host_parameters());
  }
  std::size_t const rank = world().rank();
  model.engine().train_step({.x = samples.x.data() + rank * rows * test::mlp_inputs,
                             .y = samples.y.data() + rank * rows,
                             .rows = rows,
                             .first_row = rank * rows,
                             .global_rows = batch});
  // One step is done: ranks 1 and 2 meet, 3 and 4, …; 0 has nobody on its other side.
  std::size_t const partner = rank % 2 == 1 ? rank + 1 : rank - 1;
  auto expected = alone[rank];
  if (partner < ranks)
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = (expected[i] + alone[partner][i]) / 2;
  BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected) <= 1e-14);
}

namespace {

/// Whatever a step divides by shows: positions that are left out, a penalty, statistics of rows.
auto counting(auto const& strategy) {
  return compile<double>(strategy,
                         Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{.kernel_regularizer = L2(0.1)},
                                    SyncBatchNormalization<>{.momentum = 0.8}, Dense<test::classes>{}},
                         SGD{.learning_rate = 0.1},
                         SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 1}, Accuracy{},
                         CompileOptions{.seed = 4});
}

/// Rows of its own that each rank has in a step of the others' too: 3, 4, 5, …
struct OwnRows {
  std::size_t rank, rows = 3 + rank, first = rank * (rank + 5) / 2;
  auto batch(test::Samples<double> const& samples, std::size_t global_rows) const {
    return Batch<double, std::int32_t>{.x = samples.x.data() + first * test::mlp_inputs,
                                       .y = samples.y.data() + first,
                                       .rows = rows,
                                       .first_row = first,
                                       .global_rows = global_rows};
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(means_of_a_step_are_over_own_rows_and_those_of_metrics_over_all) {
  std::size_t const ranks = world().size(), all = OwnRows{ranks}.first;
  auto const samples = test::mlp_samples<double>(all);
  std::vector<std::vector<double>> alone;
  double loss = 0, positions = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    OwnRows const own{rank};
    auto reference = counting(OneDeviceStrategy<>());
    reference.engine().train_step(own.batch(samples, own.rows));
    alone.push_back(reference.engine().weights().host_parameters());
    double count = 0;
    for (std::size_t row = own.first; row < own.first + own.rows; ++row) count += samples.y[row] == 1 ? 0 : 1;
    loss += reference.engine().metrics(Phase::train).value()[0] * count;
    positions += count;
  }
  std::size_t const rank = world().rank(), partner = rank % 2 == 1 ? rank + 1 : rank - 1;
  auto model = counting(GossipStrategy<>(world()));
  model.engine().train_step(OwnRows{rank}.batch(samples, all));
  auto expected = alone[rank];
  if (partner < ranks)
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = (expected[i] + alone[partner][i]) / 2;
  BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected) <= 1e-14);
  double const found = model.engine().metrics(Phase::train).value()[0];
  test::check_close(found, loss / positions, 1e-14, "the loss over all ranks");
  BOOST_TEST(world().allreduce_min(found).value() == world().allreduce_max(found).value());
}

BOOST_AUTO_TEST_CASE(a_file_of_weights_between_two_epochs_has_the_mean_and_changes_nobodys) {
  std::size_t const ranks = world().size(), all = OwnRows{ranks}.first;
  auto const samples = test::mlp_samples<double>(all);
  auto model = counting(GossipStrategy<>(world()));
  model.engine().train_step(OwnRows{world().rank()}.batch(samples, all));
  auto const own = model.engine().weights().host_parameters();
  auto mean = own;
  world().allreduce_sum(mean);
  for (double& weight : mean) weight /= static_cast<double>(ranks);
  model.save_weights("mean.npz");
  BOOST_TEST((model.engine().weights().host_parameters() == own));
  auto loaded = counting(OneDeviceStrategy<>());
  loaded.load_weights("mean.npz");
  BOOST_TEST(test::distance(loaded.engine().weights().host_parameters(), mean) <= 1e-14);
}

BOOST_AUTO_TEST_CASE(ranks_without_rows_still_meet_their_partners_and_all_end_with_the_same_weights) {
  auto const samples = test::mlp_samples<double>(61);
  GossipStrategy<> const strategy(world());
  auto model = small(strategy);
  auto const history =
      fit(strategy, model, samples.data().shuffle(61, 2).batch(GlobalBatch{2}), {.epochs = 3, .verbose = false});
  test::check_equal_on_all(world(), model);
  BOOST_TEST(history["loss"].back() < history["loss"].front());
}

BOOST_AUTO_TEST_CASE(samples_of_each_rank_are_shared_by_the_strategy_as_by_its_group) {
  auto const samples = test::mlp_samples<double>(10 + world().rank());
  GossipStrategy<> const strategy(world());
  auto const trained = [&](auto const& where) {
    auto model = small(strategy);
    auto const data = data::from_local_slices(where, samples.x, samples.y).shuffle(61, 2).batch(GlobalBatch{4});
    auto const history = fit(strategy, model, data, {.epochs = 2, .verbose = false});
    return std::pair(model.engine().weights().host_parameters(), history["loss"]);
  };
  BOOST_TEST((trained(strategy) == trained(strategy.group())));
}

#ifdef TRIREME_HAVE_ZLIB
BOOST_AUTO_TEST_CASE(it_learns_to_read_digits) {
  Digits const digits =
      world().together([] { return read_digits(TRIREME_TESTS_DIRECTORY "/../examples/data/digits.csv.gz"); });
  auto const dataset = [](Digits::Part const& part) { return data::from_tensor_slices(part.images, part.labels); };
  GossipStrategy<> const strategy(world());
  auto model = compile(strategy, Sequential{Input<64>{}, Dense<32, ReLU>{}, Dense<10>{}}, Adam{.learning_rate = 1e-2},
                       SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 1});
  auto const train = dataset(digits.train).shuffle(digits.train.images.samples(), 7).batch(GlobalBatch{64});
  fit(strategy, model, train, {.epochs = 5, .verbose = false});
  auto const result = evaluate(strategy, model, dataset(digits.test).batch(GlobalBatch{256}));
  BOOST_TEST(result.find("accuracy")->value() > 0.93);
  test::check_equal_on_all(world(), model);
}
#endif

BOOST_AUTO_TEST_CASE(alone_it_is_one_device) {
  if (world().size() > 1) return;
  test::law::trained<double>(OneDeviceStrategy<>(), test::cnn(), {}, [&](auto const& reference, History const&) {
    test::law::trained<double>(GossipStrategy<>(world()), test::cnn(), {},
                               [&](auto const& model, History const&) { test::check_same_weights(model, reference); });
  });
}
