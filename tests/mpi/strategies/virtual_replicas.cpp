// ranks: 1 2 3 4   labels: law
// The number of ranks does not show: weights, metrics and history are those of one process to the bit.
#define BOOST_TEST_MODULE virtual_replicas
#include "support/kokkos_fixture.hpp"
#include "support/same_bits.hpp"

#include <cstddef>
#include <tuple>

#include "trireme/data/from_local_slices.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;
using test::law::trained, test::law::Training;

namespace {

using Scalars = std::tuple<float, double>;
template <std::size_t Shards>
using Alone = VirtualReplicas<OneDeviceStrategy<>, Shards>;
template <std::size_t Shards>
using Ranks = VirtualReplicas<MultiWorkerMirroredStrategy<>, Shards>;

Communicator const& world() { return test::environment().world(); }

/// Of batches of 3 some shards have no rows; the last batch has one row.
template <class T, std::size_t Shards, class Architecture>
void check_bits(Architecture const& architecture) {
  for (std::size_t batch : {13u, 3u}) BOOST_TEST_CONTEXT(Shards << " shards of batches of " << batch) {
      Training const training{.parallelism = Parallelism::automatic, .batch = batch, .clipnorm = 0.3};
      trained<T>(Alone<Shards>(), architecture, training, [&](auto const& reference, History const& expected) {
        trained<T>(Ranks<Shards>(world()), architecture, training, [&](auto const& model, History const& history) {
          test::check_same_bits(model, history, reference, expected);
        });
      });
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_do_not_show_with_dropout_penalty_and_clipping, T, Scalars) {
  check_bits<T, 4>(test::law::perceptron());
  check_bits<T, 7>(test::law::perceptron());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_do_not_show_in_a_convolutional_network, T, Scalars) {
  check_bits<T, 5>(test::cnn());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_do_not_show_in_statistics_of_a_shard, T, Scalars) {
  check_bits<T, 5>(test::law::normalized(BatchNormalization<>{.momentum = 0.8}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_do_not_show_in_statistics_of_the_batch, T, Scalars) {
  check_bits<T, 7>(test::law::normalized(SyncBatchNormalization<>{.momentum = 0.8}));
}

BOOST_AUTO_TEST_CASE(ranks_do_not_show_in_recurrent_layers) { check_bits<float, 6>(test::law::recurrent()); }

BOOST_AUTO_TEST_CASE(ranks_do_not_show_in_a_transformer_block) { check_bits<float, 6>(test::law::transformer()); }

BOOST_AUTO_TEST_CASE(predictions_and_metrics_of_a_test_do_not_show_the_ranks) {
  auto const samples = test::cnn_samples<float>(11);
  auto const data = samples.data().batch(GlobalBatch{5});
  auto const result = [&](auto const& strategy) {
    auto model = compile<float>(strategy, test::cnn(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true},
                                Accuracy{}, test::Margin{}, CompileOptions{.seed = 3});
    auto const logs = evaluate(strategy, model, data);
    return std::make_tuple(predict(strategy, model, data), logs.find("loss")->value(), logs.find("margin")->value());
  };
  BOOST_TEST((result(Ranks<7>(world())) == result(Alone<7>())));
}

BOOST_AUTO_TEST_CASE(batches_per_replica_count_shards) {
  auto const samples = test::mlp_samples<double>(56);
  Ranks<4> const strategy(world());
  auto model = compile<double>(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  fit(strategy, model, samples.data().batch(PerReplicaBatch{2}), {.verbose = false});
  BOOST_TEST(model.engine().iteration() == 7u);
}

BOOST_AUTO_TEST_CASE(what_has_no_shards_is_refused) {
  if (world().size() > 2)
    BOOST_CHECK_THROW(
        compile(Ranks<2>(world()), test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true}), ValueError);
  Ranks<4> const strategy(world());
  auto model = compile<double>(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const samples = test::mlp_samples<double>(8);
  auto const own = data::from_local_slices(strategy, samples.x, samples.y).batch(GlobalBatch{4});
  BOOST_CHECK_THROW(fit(strategy, model, own, {.verbose = false}), ValueError);
  BOOST_CHECK_THROW(compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true},
                            CompileOptions{.parallelism = Parallelism::intra_op}),
                    ValueError);
}
