// Batches whose rows take long, which have two partitions a thread: they train as whole batches do.
#define BOOST_TEST_MODULE fine_partitions
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/same_bits.hpp"
#include "support/slow_layer.hpp"
#include "support/small_training.hpp"
#include "support/starvation.hpp"
#include "support/steady_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trireme/core/row_range.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/partition_plan.hpp"
#include "trireme/strategies/data_parallel/workspace.hpp"

using namespace trireme;

namespace {

/// The threads that took the rows of each step, by the first of them, since it was emptied.
struct Takers {
  std::mutex mutex{};
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::thread::id> threads{};
  bool twice = false;

  void note(std::uint64_t step, std::uint64_t first_row) {
    std::lock_guard lock(mutex);
    twice = !threads.emplace(std::pair(step, first_row), std::this_thread::get_id()).second || twice;
  }
};
Takers takers;

/// A layer whose training notes the thread that takes each partition.
struct WatchedDense : test::SlowDense<128> {
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if (f.training) takers.note(f.keys.step, f.keys.first_row);
    test::SlowDense<128>::forward(context, in, f);
  }
};

template <class First = test::SlowDense<128>>
auto slow_perceptron() {
  return Sequential{Input<test::mlp_inputs>{}, First{}, Dropout{.rate = 0.25f},
                    Dense<32, ReLU>{.kernel_regularizer = L2(1e-3)}, Dense<test::classes>{}};
}

template <class Layers>
PartitionPlan plan(Layers const& layers, std::size_t threads, std::size_t replicas = 1,
                   Parallelism parallelism = Parallelism::samples) {
  return plan_model(describe<float>(layers), parallelism, replicas, threads, sizeof(float), true);
}

/// The weights and losses of two epochs of three batches and a row.
template <class First = test::SlowDense<128>, class Strategy, class Then>
void with_trained(Strategy const& strategy, Parallelism parallelism, std::size_t batch, Then const& then) {
  auto const samples = test::mlp_samples<double>(3 * batch + 1);
  auto model = compile<double>(strategy, slow_perceptron<First>(), SGD{.learning_rate = 0.05, .momentum = 0.9},
                               SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                               CompileOptions{.seed = 5, .parallelism = parallelism});
  auto const data = samples.data().shuffle(3 * batch + 1, 3).batch(GlobalBatch{batch});
  auto const history = fit(strategy, model, data, validation(data), {.epochs = 2, .verbose = false});
  then(model, history);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_that_take_long_have_two_partitions_a_thread) {
  Sequential const cnn{Input<28, 28, 1>{}, Conv2D<32, 3, 3, ReLU>{}, Conv2D<64, 3, 3, ReLU>{}, Flatten{}, Dense<10>{}};
  std::size_t const fine_rows = plan(cnn, 2).fine_rows;
  std::size_t const flops = describe<float>(cnn).flops();
  BOOST_TEST(plan(cnn, 2).partitions == 4);
  BOOST_TEST(plan(cnn, 2).threads == 2);
  BOOST_TEST(fine_rows / 4 * flops >= flops_of_fine_partition);
  BOOST_TEST((fine_rows / 4 - 1) * flops < flops_of_fine_partition);
  BOOST_TEST(plan(cnn, 3).fine_rows == fine_rows / 2 * 3);
  BOOST_TEST(plan(slow_perceptron(), 3).fine_rows == 48);  // slow_rows for each
}

BOOST_AUTO_TEST_CASE(others_have_one) {
  BOOST_TEST(plan(slow_perceptron(), 1).partitions == 1);
  BOOST_TEST(plan(Sequential{Input<3>{}, Dense<64>{}, Dense<64>{}, Dense<1>{}}, 2).partitions == 2);  // short rows
  BOOST_TEST(plan(slow_perceptron(), 2, 3).partitions == 3);  // replicas in turn
  BOOST_TEST(plan(slow_perceptron(), 2, 1, Parallelism::intra_op).partitions == 1);
  Sequential const synchronized{Input<8>{}, test::SlowDense<8>{}, SyncBatchNormalization<>{}, Dense<4>{}};
  BOOST_TEST(plan(synchronized, 2).partitions == 2);  // which run at once
}

BOOST_AUTO_TEST_CASE(each_row_has_one_partition) {
  for (std::size_t replicas : {1u, 2u})
    for (std::size_t threads : {2u, 4u}) {
      PartitionPlan const own = plan(slow_perceptron(), threads, replicas);
      BOOST_TEST(own.partitions == 2 * threads);
      for (std::size_t rows = 0; rows < 3 * own.fine_rows; ++rows) {
        std::vector<int> taken(rows, 0);
        for (std::size_t partition = 0; partition < own.partitions; ++partition) {
          RowRange const range = partition_rows(own, partition, rows);
          for (std::size_t row = range.begin; row < range.end; ++row) ++taken[row];
          BOOST_TEST((range.empty() || rows >= own.fine_rows || partition < threads));
          for (std::size_t more : {rows, rows + 1, own.fine_rows, 3 * own.fine_rows})
            if (more >= rows) BOOST_TEST(range.size() <= partition_capacity(own, partition, more));
        }
        BOOST_TEST((taken == std::vector<int>(rows, 1)));
      }
    }
}

BOOST_AUTO_TEST_CASE(weights_and_metrics_are_those_of_whole_batches) {
  // Three threads: a batch of 48 rows is divided among six partitions, the last of an epoch, of one row, among three.
  for (std::size_t batch : {47u, 48u, 101u, 150u})  // the last: pieces of Accumulate have 50 rows
    with_trained(OneDeviceStrategy<>(), Parallelism::intra_op, batch, [&](auto const& expected, History const& losses) {
      auto const check = [&](auto const& model, History const& history) {
        BOOST_TEST_CONTEXT("batches of " << batch << ", " << model.engine().placement()) {
          test::check_same_weights(model, expected);
          test::check_same_history(history, losses, test::tolerance<double>);
        }
      };
      with_trained(OneDeviceStrategy<>(), Parallelism::samples, batch, [&](auto const& model, History const& history) {
        BOOST_TEST(model.engine().placement().find("in 3 partitions by samples, in 6 from 48 rows on") !=
                   std::string::npos);
        check(model, history);
      });
      with_trained(Accumulate<OneDeviceStrategy<>, 3>(), Parallelism::samples, batch, check);
      with_trained(MirroredStrategy<>(2), Parallelism::samples, batch, check);
    });
}

BOOST_AUTO_TEST_CASE(which_thread_takes_which_partition_changes_no_bit) {
  constexpr std::size_t batch = 64, steps = 8;  // two epochs of three batches, in six partitions each, and a row
  using Strategy = OneDeviceStrategy<>;
  with_trained<WatchedDense>(Strategy(), Parallelism::samples, batch, [&](auto const& expected, History const& losses) {
    auto const before = std::exchange(takers.threads, {});
    BOOST_TEST_REQUIRE(before.size() == steps / 4 * (3 * 6 + 1));
    std::set<std::uint64_t> taken_otherwise;  // steps
    test::RandomStops const stops;
    for (int run = 0; run < 20 || (run < 500 && taken_otherwise.size() < steps / 2); ++run)
      with_trained<WatchedDense>(Strategy(), Parallelism::samples, batch,
                                 [&](auto const& model, History const& history) {
                                   test::check_same_bits(model, history, expected, losses);
                                   auto const now = std::exchange(takers.threads, {});
                                   BOOST_TEST(now.size() == before.size());
                                   for (auto const& [rows, thread] : now)
                                     if (before.at(rows) != thread) taken_otherwise.insert(rows.first);
                                 });
    BOOST_TEST(taken_otherwise.size() >= steps / 2);
    BOOST_TEST_MESSAGE(taken_otherwise.size() << " of " << steps << " steps had other threads for a partition");
  });
  BOOST_TEST(!takers.twice);
}

namespace {

/// Outputs, and loss and accuracy, of the perceptron with given weights, in double and row by row.
struct ByHand {
  std::vector<double> logits{};
  double loss = 0, accuracy = 0;

  template <class Model>
  ByHand(Model const& model, test::Samples<double> const& samples) {
    std::vector<std::vector<double>> weights;
    for (auto const& name : model.weight_names()) {
      auto const values = model.weights(name);
      weights.emplace_back(values.begin(), values.end());
    }
    auto const dense = [](std::vector<double> const& x, std::vector<double> const& kernel,
                          std::vector<double> const& bias, auto const& activation) {
      std::vector<double> y = bias;
      for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[i] * kernel[i * y.size() + j];
      for (double& value : y) value = activation(value);
      return y;
    };
    for (std::size_t row = 0; row < samples.size(); ++row) {
      double const* const begin = samples.x.data() + row * test::mlp_inputs;
      std::vector<double> x(begin, begin + test::mlp_inputs);
      x = dense(x, weights[0], weights[1], [](double v) { return std::tanh(v); });
      x = dense(x, weights[2], weights[3], [](double v) { return std::max(v, 0.0); });
      x = dense(x, weights[4], weights[5], [](double v) { return v; });
      double sum = 0;
      for (double const value : x) sum += std::exp(value);
      auto const label = static_cast<std::size_t>(samples.y[row]);
      loss += (std::log(sum) - x[label]) / static_cast<double>(samples.size());
      auto const largest = static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
      accuracy += (largest == label ? 1.0 : 0.0) / static_cast<double>(samples.size());
      logits.insert(logits.end(), x.begin(), x.end());
    }
    for (double const weight : weights[2]) loss += 1e-3 * weight * weight;
  }
};

}  // namespace

// Of 48 rows and more six partitions have some, of fewer three: memory and sums have to grow after fit has gone on.
BOOST_AUTO_TEST_CASE(tests_and_predictions_of_larger_batches_than_those_of_fit_are_exact) {
  auto const samples = test::mlp_samples<double>(40), others = test::mlp_samples<double>(310, 2);
  auto const check = [&](auto const& strategy, Parallelism parallelism) {
    auto model = compile<double>(strategy, slow_perceptron(), SGD{.learning_rate = 0.05, .momentum = 0.9},
                                 SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                                 CompileOptions{.seed = 5, .parallelism = parallelism});
    auto const train = samples.data().batch(GlobalBatch{16});
    for (std::size_t const batch : {5u, 47u, 48u, 101u, 310u}) {
      auto const data = others.data().batch(GlobalBatch{batch});
      auto const history = fit(strategy, model, train, validation(data), {.verbose = false});
      ByHand const expected(model, others);
      auto const logs = evaluate(strategy, model, data);
      for (auto const& [loss, accuracy] : {std::pair(history["val_loss"].back(), history["val_accuracy"].back()),
                                           std::pair(logs.find("loss")->value(), logs.find("accuracy")->value())}) {
        test::check_close(loss, expected.loss, 1e-12, "the loss");
        test::check_close(accuracy, expected.accuracy, 1e-12, "the accuracy");
      }
      auto const outputs = predict(strategy, model, data);
      BOOST_TEST(test::distance(outputs, expected.logits) <= 1e-13, batch << " rows a batch");
    }
    return model.weights(model.weight_names().front());
  };
  auto const whole = check(OneDeviceStrategy<>(), Parallelism::intra_op);
  BOOST_TEST(test::distance(check(OneDeviceStrategy<>(), Parallelism::samples), whole) <= test::tolerance<double>);
  BOOST_TEST(test::distance(check(MirroredStrategy<>(2), Parallelism::samples), whole) <= test::tolerance<double>);
  BOOST_TEST(test::distance(check(Accumulate<OneDeviceStrategy<>, 3>(), Parallelism::samples), whole) <=
             test::tolerance<double>);
}

BOOST_AUTO_TEST_CASE(a_steady_step_allocates_nothing) {
  auto const samples = test::mlp_samples<float>(1200), others = test::mlp_samples<float>(600, 2);
  auto const train = samples.data().batch(GlobalBatch{64}), tests = others.data().batch(GlobalBatch{60});
  test::check_steady(OneDeviceStrategy<>(), slow_perceptron(), Adam{}, train, tests, true,
                     {.epochs = 3, .verbose = false}, {Parallelism::samples});
}
