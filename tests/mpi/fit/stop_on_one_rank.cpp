// ranks: 1 2 3 4   labels: law
// Law 3: what one rank requests becomes a decision of all.
#define BOOST_TEST_MODULE stop_on_one_rank
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/terminate_on_nan.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }
bool on_last_rank() { return world().rank() + 1 == world().size(); }

struct Fixture {
  MultiWorkerMirroredStrategy<> strategy{world()};
  test::Samples<double> train = test::mlp_samples<double>(29);
  test::Samples<double> validate = test::mlp_samples<double>(5, 2);

  auto compiled() const {
    return compile<double>(strategy, test::mlp(), SGD{.learning_rate = 0.1},
                           SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
  }

  /// Batches of 4: 8 an epoch; ends on all ranks at the same step, or fails.
  template <class... Callbacks>
  History check_stops_at(std::uint64_t step, Callbacks&&... callbacks) const {
    auto model = compiled();
    auto const history =
        fit(strategy, model, train.data().batch(GlobalBatch{4}), validation(validate.data().batch(GlobalBatch{2})),
            {.epochs = 4, .verbose = false}, std::forward<Callbacks>(callbacks)...);
    BOOST_TEST(model.engine().iteration() == step);
    test::check_equal_on_all(world(), model);
    return history;
  }
};

/// Requests to stop on the last rank alone.
struct StopsAfterBatch {
  std::size_t epoch, batch;
  template <class Run>
  Control on_train_batch_end(Run& run) {
    return on_last_rank() && run.epoch() == epoch && run.batch() == batch ? Control::stop : Control::proceed;
  }
};

struct StopsAfterEpoch {
  std::size_t epoch;
  template <class Run>
  Control on_epoch_end(Run& run) {
    return on_last_rank() && run.epoch() == epoch ? Control::stop : Control::proceed;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_wish_of_one_rank_after_a_batch_stops_all_ranks_at_that_step, Fixture) {
  auto const history = check_stops_at(8 + 3, StopsAfterBatch{1, 2});
  BOOST_TEST(history.epochs.size() == 2u);       // the epoch that was cut short is logged
  BOOST_TEST(history["val_loss"].size() == 2u);  // and validated
}

BOOST_FIXTURE_TEST_CASE(a_wish_of_one_rank_after_an_epoch_stops_all_ranks_after_it, Fixture) {
  BOOST_TEST(check_stops_at(16, StopsAfterEpoch{1}).epochs.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(the_first_wish_of_any_callback_counts, Fixture) {
  check_stops_at(5, StopsAfterEpoch{0}, StopsAfterBatch{0, 4}, StopsAfterBatch{0, 6});
}

BOOST_FIXTURE_TEST_CASE(nobody_stops_where_nobody_wishes_to, Fixture) {
  check_stops_at(32, StopsAfterBatch{9, 0}, StopsAfterEpoch{9});
}

BOOST_FIXTURE_TEST_CASE(a_uniform_decision_stops_all_ranks_without_a_vote, Fixture) {
  check_stops_at(6, LambdaCallback{.on_train_batch_end = [](auto& run) {
                   return stop_if(run.loss(), [&run](double) { return run.step() == 6; });
                 }});
}

BOOST_FIXTURE_TEST_CASE(a_loss_that_is_no_number_on_one_rank_stops_all_ranks, Fixture) {
  // Sample 13 is row 1 of batch 3: one rank alone computes the NaN.
  train.x(13, 0) = std::numeric_limits<double>::quiet_NaN();
  auto model = compiled();
  auto const history =
      fit(strategy, model, train.data().batch(GlobalBatch{4}), {.epochs = 4, .verbose = false}, TerminateOnNaN{});
  BOOST_TEST(model.engine().iteration() == 4u);
  BOOST_TEST(history["loss"].size() == 1u);
  BOOST_TEST(std::isnan(history["loss"][0]));
}

BOOST_FIXTURE_TEST_CASE(nan_of_other_bits_on_each_rank_stops_all_ranks, Fixture) {
  // Batch 3: a sum of two NaN has the bits of the one that is added first, which may be another on each rank.
  std::uint64_t const bits[] = {0x7ff8000000000001, 0xfff8000000000002, 0x7ff8000000000003, 0xfff8000000000004};
  for (std::size_t row = 0; row < 4; ++row) train.x(12 + row, 0) = std::bit_cast<double>(bits[row]);
  auto const check = [&](auto const& messages) {
    auto model = compile<double>(messages, test::mlp(), SGD{.learning_rate = 0.1},
                                 SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
    auto const history =
        fit(messages, model, train.data().batch(GlobalBatch{4}), {.epochs = 4, .verbose = false}, TerminateOnNaN{});
    BOOST_TEST(model.engine().iteration() == 4u);
    BOOST_TEST(history["loss"].size() == 1u);
    BOOST_TEST(std::isnan(history["loss"][0]));
  };
  check(MultiWorkerMirroredStrategy<>(world(), {}, 256, Exchange::messages));
  check(PipelineStrategy<>(world(), {.stages = 1}));
}
