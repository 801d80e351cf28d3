// ranks: 1 2 3 4   labels: law
// Law 2: metrics and predictions are exact over uneven and empty shards.
#define BOOST_TEST_MODULE exact_metrics
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/metrics/sparse_top_k_categorical_accuracy.hpp"
#include "trireme/metrics/weighted.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

template <class Strategy>
auto compiled(Strategy const& strategy) {
  return compile<double>(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                         Weighted{test::Margin{}}, SparseTopKCategoricalAccuracy{.k = 2},
                         metrics::SparseCategoricalCrossentropy{}, CompileOptions{.seed = 2});
}

struct Models {
  OneDeviceStrategy<> one{};
  MultiWorkerMirroredStrategy<> many{world()};
  decltype(compiled(one)) reference = compiled(one);
  decltype(compiled(many)) model = compiled(many);
};

}  // namespace

BOOST_AUTO_TEST_CASE(evaluation_is_exact_whatever_the_batches_are) {
  Models m;
  auto const samples = test::mlp_samples<double>(13, 4);
  auto const whole = evaluate(m.one, m.reference, samples.data().batch(GlobalBatch{13}));
  for (std::size_t batch : {1u, 2u, 3u, 4u, 5u, 13u, 64u}) BOOST_TEST_CONTEXT("batches of " << batch)
  test::check_same_logs(evaluate(m.many, m.model, samples.data().batch(GlobalBatch{batch})), whole, 1e-14);
  test::check_same_logs(evaluate(m.many, m.model, samples.weighted_data().batch(GlobalBatch{3})),
                        evaluate(m.one, m.reference, samples.weighted_data().batch(GlobalBatch{13})), 1e-14);
}

BOOST_AUTO_TEST_CASE(every_rank_is_given_all_predictions_in_the_order_of_the_data) {
  Models m;
  auto const samples = test::mlp_samples<double>(13, 4);
  auto const expected = predict(m.one, m.reference, data::from_tensor_slices(samples.x).batch(GlobalBatch{13}));
  BOOST_TEST(expected.shape()[0] == 13u);
  BOOST_TEST(expected.shape()[1] == 4u);
  for (std::size_t batch : {1u, 2u, 5u, 64u}) BOOST_TEST_CONTEXT("batches of " << batch) {
      auto const y = predict(m.many, m.model, data::from_tensor_slices(samples.x).batch(GlobalBatch{batch}));
      BOOST_TEST(y.shape() == expected.shape(), boost::test_tools::per_element());
      BOOST_TEST(test::distance(y, expected) <= 1e-14);
    }
}

BOOST_AUTO_TEST_CASE(targets_do_not_matter_to_predictions) {
  Models m;
  auto const samples = test::mlp_samples<double>(7, 4);
  std::vector<std::int32_t> const unknown(7, -1);
  std::vector<float> const half(7, 0.5f);
  auto const expected = predict(m.one, m.reference, samples.data().batch(GlobalBatch{7}));
  auto const check = [&](auto const& data) {
    BOOST_TEST(test::distance(predict(m.many, m.model, data.batch(GlobalBatch{3})), expected) <= 1e-14);
  };
  check(data::from_tensor_slices(samples.x, unknown));
  check(data::from_tensor_slices(samples.x, half));
}

BOOST_AUTO_TEST_CASE(a_single_sample_is_one_sample_on_any_number_of_ranks) {
  Models m;
  auto const samples = test::mlp_samples<double>(1, 9);
  auto const data = samples.data().batch(GlobalBatch{4});
  test::check_same_logs(evaluate(m.many, m.model, data), evaluate(m.one, m.reference, data), 1e-14);
  BOOST_TEST(test::distance(predict(m.many, m.model, data), predict(m.one, m.reference, data)) <= 1e-14);
}

BOOST_AUTO_TEST_CASE(no_sample_at_all_has_no_metrics_and_no_rows_of_predictions) {
  Models m;
  auto const samples = test::mlp_samples<double>(0);
  auto const data = samples.data().batch(GlobalBatch{4});
  BOOST_CHECK_THROW(evaluate(m.many, m.model, data), ValueError);
  BOOST_CHECK_THROW(evaluate(m.one, m.reference, data), ValueError);
  BOOST_TEST(predict(m.many, m.model, data).shape()[0] == 0u);
}
