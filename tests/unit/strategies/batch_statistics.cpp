// What BatchNormalization's states are after a step: from sums written out here.
#define BOOST_TEST_MODULE batch_statistics
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <string>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"

using namespace trireme;

namespace {

struct Moments {
  double mean, variance;
};

Moments moments(test::Samples<double> const& samples, std::size_t feature, RowRange const& rows) {
  double const count = static_cast<double>(rows.end - rows.begin);
  Moments m{0, 0};
  auto const value = [&](std::size_t row) { return samples.x.data()[row * test::mlp_inputs + feature]; };
  for (std::size_t row = rows.begin; row < rows.end; ++row) m.mean += value(row) / count;
  for (std::size_t row = rows.begin; row < rows.end; ++row)
    m.variance += (value(row) - m.mean) * (value(row) - m.mean) / count;
  return m;
}

/// Over slices as the replicas have them, each weighted with its rows.
template <class Layer>
void check_states(Layer const& layer, std::vector<RowRange> const& slices, std::size_t replicas, Parallelism plan) {
  auto const samples = test::mlp_samples<double>(7);
  MirroredStrategy<> const strategy(replicas);
  auto model = compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, layer, Dense<test::classes>{}}, SGD{},
                               SparseCategoricalCrossentropy{.from_logits = true},
                               CompileOptions{.seed = 1, .parallelism = plan});
  auto const row = model.summary();
  BOOST_TEST(row.find("Non-trainable params: 12") != std::string::npos);
  fit(strategy, model, samples.data().batch(GlobalBatch{7}), {.epochs = 1, .verbose = false});
  auto const mean = model.weights("batch_normalization/moving_mean");
  auto const variance = model.weights("batch_normalization/moving_variance");
  for (std::size_t feature = 0; feature < test::mlp_inputs; ++feature) {
    Moments expected{0, 0};
    for (RowRange const& slice : slices) {
      double const share = static_cast<double>(slice.end - slice.begin) / 7;
      auto const m = moments(samples, feature, slice);
      expected.mean += share * m.mean;
      expected.variance += share * m.variance;
    }
    BOOST_TEST(mean(feature) == 0.25 * expected.mean, boost::test_tools::tolerance(1e-13));
    BOOST_TEST(variance(feature) == 0.75 + 0.25 * expected.variance, boost::test_tools::tolerance(1e-13));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(moving_statistics_are_means_over_replicas_weighted_with_their_rows) {
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    BatchNormalization<> const layer{.momentum = 0.75};
    check_states(layer, {{0, 7}}, 1, plan);
    check_states(layer, {{0, 2}, {2, 4}, {4, 7}}, 3, plan);
    check_states(layer, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}}, 9, plan);
  }
}

BOOST_AUTO_TEST_CASE(synchronized_statistics_are_those_of_the_whole_batch) {
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
    for (std::size_t replicas : {1u, 2u, 5u})
      check_states(SyncBatchNormalization<>{.momentum = 0.75}, {{0, 7}}, replicas, plan);
}

BOOST_AUTO_TEST_CASE(both_kinds_of_statistics_need_a_thread_for_each_replica) {
  auto const both =
      Sequential{Input<test::mlp_inputs>{}, BatchNormalization<>{}, SyncBatchNormalization<>{}, Dense<test::classes>{}};
  BOOST_CHECK_THROW(compile<double>(MirroredStrategy<>(50), both, SGD{},
                                    SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{}),
                    ValueError);
}
