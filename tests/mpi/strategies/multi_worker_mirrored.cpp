// ranks: 1 2 3 4   labels: law
// Law 1: ranks train as one device does on the same global batches.
#define BOOST_TEST_MODULE multi_worker_mirrored
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

constexpr std::size_t a_bucket_a_parameter = 1, one_bucket = std::size_t{1} << 20;

/// One way for ranks on one node, and one that any ranks take.
constexpr Exchange memory = Exchange::automatic;

struct Way {
  Parallelism plan;
  std::size_t bucket_bytes;
  Exchange exchange = Exchange::messages;
};

template <class T, class Strategy, class Optimizer>
auto compiled(Strategy const& strategy, Optimizer const& optimizer, SparseCategoricalCrossentropy const& loss,
              Parallelism plan) {
  return compile<T>(strategy, test::mlp(), optimizer, loss, Accuracy{}, test::Margin{},
                    CompileOptions{.seed = 11, .parallelism = plan});
}

template <class T, class Optimizer, class Data>
void check_ranks(Optimizer const& optimizer, Data const& data, FitOptions options, std::vector<Way> const& ways,
                 SparseCategoricalCrossentropy const& loss = {.from_logits = true}) {
  options.verbose = false;
  auto const validate = test::mlp_samples<T>(9, 2);
  auto const tests = validation(validate.data().batch(GlobalBatch{4}));
  OneDeviceStrategy<> const one;
  auto reference = compiled<T>(one, optimizer, loss, Parallelism::samples);
  auto const expected = fit(one, reference, data, tests, options);
  BOOST_TEST(reference.engine().iteration() >= 20u);
  for (auto const [plan, bucket_bytes, exchange] : ways)
    BOOST_TEST_CONTEXT((plan == Parallelism::samples ? "samples" : "intra_op")
                       << ", buckets of " << bucket_bytes << " bytes"
                       << (exchange == Exchange::messages ? "" : ", shared memory")) {
      MultiWorkerMirroredStrategy<> const strategy(world(), {}, bucket_bytes, exchange);
      auto model = compiled<T>(strategy, optimizer, loss, plan);
      auto const history = fit(strategy, model, data, tests, options);
      test::check_same_weights(model, reference);
      test::check_same_history(history, expected, test::tolerance<T>);
      test::check_equal_on_all(world(), model);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_train_as_one_device_for_both_plans_and_any_bucket_size) {
  auto const train = test::mlp_samples<double>(61);
  check_ranks<double>(SGD{.learning_rate = 0.1, .momentum = 0.9}, train.data().shuffle(61, 7).batch(GlobalBatch{7}),
                      {.epochs = 3},
                      {{Parallelism::samples, one_bucket},
                       {Parallelism::samples, one_bucket, memory},
                       {Parallelism::intra_op, one_bucket, memory},
                       {Parallelism::intra_op, one_bucket},
                       {Parallelism::intra_op, a_bucket_a_parameter},
                       {Parallelism::intra_op, 600}});
}

BOOST_AUTO_TEST_CASE(ranks_without_rows_add_nothing_and_still_take_the_step) {
  auto const train = test::mlp_samples<double>(21);  // 11 batches, the last of one sample
  check_ranks<double>(SGD{.learning_rate = 0.1}, train.data().batch(GlobalBatch{2}), {.epochs = 2},
                      {{Parallelism::samples, one_bucket},
                       {Parallelism::samples, one_bucket, memory},
                       {Parallelism::intra_op, one_bucket, memory},
                       {Parallelism::intra_op, a_bucket_a_parameter}});
}

BOOST_AUTO_TEST_CASE(the_norm_that_is_clipped_is_that_of_the_global_gradient) {
  auto const train = test::mlp_samples<double>(61);
  check_ranks<double>(SGD{.learning_rate = 0.1, .global_clipnorm = 0.1}, train.data().batch(GlobalBatch{7}),
                      {.epochs = 3},
                      {{Parallelism::intra_op, one_bucket}, {Parallelism::intra_op, one_bucket, memory}});
}

BOOST_AUTO_TEST_CASE(sample_weights_and_class_weights_are_those_of_one_device) {
  auto const train = test::mlp_samples<double>(41);
  check_ranks<double>(SGD{.learning_rate = 0.1}, train.weighted_data().batch(GlobalBatch{4}), {.epochs = 2},
                      {{Parallelism::samples, one_bucket}, {Parallelism::samples, one_bucket, memory}});
  check_ranks<double>(SGD{.learning_rate = 0.1}, train.data().batch(GlobalBatch{4}),
                      {.epochs = 2, .class_weight = {0.5, 2, 1, 3}},
                      {{Parallelism::samples, one_bucket}, {Parallelism::samples, one_bucket, memory}});
}

BOOST_AUTO_TEST_CASE(positions_of_the_ignored_class_leave_the_global_count) {
  auto train = test::mlp_samples<double>(41);
  train.y[4] = train.y[5] = train.y[6] = train.y[7] = 2;  // a whole batch of them
  check_ranks<double>(SGD{.learning_rate = 0.1}, train.data().batch(GlobalBatch{4}), {.epochs = 2},
                      {{Parallelism::intra_op, one_bucket}, {Parallelism::intra_op, one_bucket, memory}},
                      {.from_logits = true, .ignore_class = 2});
}

BOOST_AUTO_TEST_CASE(ranks_train_as_one_device_in_single_precision_with_adam) {
  auto const train = test::mlp_samples<float>(61);
  check_ranks<float>(
      Adam{.learning_rate = 1e-2}, train.data().shuffle(61, 7).batch(GlobalBatch{7}), {.epochs = 3},
      {{Parallelism::samples, one_bucket}, {Parallelism::samples, one_bucket, memory}, {Parallelism::intra_op, 600}});
}
