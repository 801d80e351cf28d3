// The shards are the replicas, whatever the strategy within has.
#define BOOST_TEST_MODULE virtual_replicas
#include "support/kokkos_fixture.hpp"
#include "support/same_bits.hpp"

#include <cstddef>

#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;
using test::law::trained, test::law::Training;

namespace {

using Alone = VirtualReplicas<OneDeviceStrategy<>, 5>;
using Mirrored = VirtualReplicas<MirroredStrategy<>, 5>;

template <class T, class Architecture>
void check_bits(Architecture const& architecture) {
  for (std::size_t batch : {13u, 3u}) {
    Training const training{.parallelism = Parallelism::automatic, .batch = batch, .clipnorm = 0.3};
    trained<T>(Alone(), architecture, training, [&](auto const& reference, History const& expected) {
      for (std::size_t replicas : {1u, 3u, 5u})
        trained<T>(Mirrored(replicas), architecture, training, [&](auto const& model, History const& history) {
          test::check_same_bits(model, history, reference, expected);
        });
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(replicas_do_not_show_with_dropout_penalty_and_clipping) {
  check_bits<float>(test::law::perceptron());
}
BOOST_AUTO_TEST_CASE(replicas_do_not_show_in_statistics_of_the_batch) {
  check_bits<double>(test::law::normalized(SyncBatchNormalization<>{.momentum = 0.8}));
}

/// Layers before a normalization have no bias.
BOOST_AUTO_TEST_CASE(statistics_of_a_shard_are_those_of_a_replica) {
  auto const architecture = test::law::normalized(BatchNormalization<>{.momentum = 0.8});
  for (std::size_t batch : {13u, 3u})
    trained<double>(MirroredStrategy<>(5), architecture, {.batch = batch},
                    [&](auto const& reference, History const& expected) {
                      trained<double>(Alone(), architecture, {.parallelism = Parallelism::automatic, .batch = batch},
                                      [&](auto const& model, History const& history) {
                                        test::check_same_weights(model, reference, 30 * test::tolerance<double>);
                                        test::check_same_history(history, expected, 30 * test::tolerance<double>);
                                      });
                    });
}

BOOST_AUTO_TEST_CASE(inference_is_prediction) {
  auto const samples = test::cnn_samples<float>(11);
  Alone const strategy;
  auto model = compile<float>(strategy, test::cnn(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const expected = predict(strategy, model, samples.data().batch(GlobalBatch{11}));
  xt::xarray<float> y = xt::zeros_like(expected);
  model.engine().infer(11, samples.x.data(), y.data());
  BOOST_TEST((y == expected));
}

BOOST_AUTO_TEST_CASE(more_replicas_than_shards_are_an_error) {
  Mirrored const strategy(std::size_t{6});
  BOOST_CHECK_THROW(compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true}),
                    ValueError);
}
