// Predictors, models for inference and calls between trainings give on a device what they give on the host.
#define BOOST_TEST_MODULE device_inference
#include "support/device.hpp"

#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/tuple_models.hpp"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/terminate_on_nan.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using test::Device;
using OnDevice = OneDeviceStrategy<test::Device>;
using Host = OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>;
template <class T>
using Rows = Kokkos::View<T**, Kokkos::LayoutRight, test::Device::memory_space>;

OnDevice const& device() {
  static OnDevice const strategy(test::device(1));
  return strategy;
}

/// In the memory of the strategy's device.
template <class T>
Rows<T> rows_of(std::size_t rows, std::size_t columns) {
  return Rows<T>(Kokkos::view_alloc(test::device(1), Kokkos::WithoutInitializing, "rows"), rows, columns);
}

auto layers() {
  return Sequential{Input<6>{}, Dense<64, Tanh>{}, BatchNormalization{}, Dropout{.rate = 0.4f}, Dense<4>{}};
}
auto compiled(auto const& strategy, std::uint64_t seed = 1) {
  return compile<double>(strategy, layers(), Adam{.learning_rate = 0.01},
                         SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = seed});
}
auto batches_of(auto const& samples) { return samples.data().shuffle(samples.size(), 4).batch(GlobalBatch{8}); }

auto trained(auto const& strategy) {
  auto const samples = test::mlp_samples<double>(40);
  auto model = compiled(strategy);
  fit(strategy, model, batches_of(samples), {.epochs = 2, .verbose = false});
  return model;
}

constexpr double limit = 1e-12;

}  // namespace

BOOST_AUTO_TEST_CASE(a_predictor_gives_what_the_host_predicts) {
  auto model = trained(device());
  auto reference = trained(Host());
  auto const predictor = model.predictor();
  auto const samples = test::mlp_samples<double>(150);
  auto const expected = predict(Host(), reference, samples.data().batch(GlobalBatch{50}));
  BOOST_TEST(test::distance(predictor.predict(samples.x), expected) <= limit);
  BOOST_TEST(test::distance(predictor.predict(xt::xarray<float>(samples.x)), expected) <= 1e-5);
  BOOST_TEST(predictor.predict(xt::xarray<double>::from_shape({0, 6})).size() == 0u);

  // In the device's memory, without a copy.
  for (std::size_t const rows : {5u, 150u, 1u}) {
    auto const x = rows_of<double>(rows, 6), y = rows_of<double>(rows, 4);
    copy_view(space_view<Device>(x.data(), x.size()), host_view(samples.x.data(), x.size()));
    predictor.infer(x, y);
    auto const first = to_host(space_view<Device>(y.data(), y.size()));
    BOOST_TEST(test::distance(first, std::vector<double>(expected.begin(), expected.begin() + rows * 4)) <= limit);
    model.infer(x, y);
    BOOST_TEST(to_host(space_view<Device>(y.data(), y.size())) == first, boost::test_tools::per_element());
  }

  // It keeps its weights.
  auto const before = predictor.predict(samples.x);
  fit(device(), model, batches_of(samples), {.verbose = false});
  BOOST_TEST(test::distance(predictor.predict(samples.x), before) == 0.0);
  BOOST_TEST(test::distance(model.predictor().predict(samples.x), before) > 1e-3);
}

BOOST_AUTO_TEST_CASE(outputs_of_infer_are_complete_for_other_instances) {
  auto const check = [](auto& model) {
    auto const samples = test::mlp_samples<double>(5);
    auto const x = rows_of<double>(5, 6), y = rows_of<double>(5, 4);
    copy_view(space_view<Device>(x.data(), x.size()), host_view(samples.x.data(), x.size()));
    model.infer(x, y);
    std::vector<double> early(20);
    auto const other = test::device(2);
    copy_view(other, host_view(early), space_view<Device>(y.data(), y.size()));
    other.fence();
    BOOST_TEST(early == to_host(space_view<Device>(y.data(), y.size())), boost::test_tools::per_element());
  };
  auto model = trained(device());
  check(model);
  auto sharded = trained(ShardedStrategy<Device, 2>(test::environment().world(), test::device(1)));
  check(sharded);
  auto reader = compile<double>(device(), layers());
  check(reader);
}

BOOST_AUTO_TEST_CASE(threads_share_a_predictor_while_the_model_trains) {
  auto model = trained(device());
  auto const predictor = model.predictor();
  constexpr std::size_t calls = 20, most = 40;
  auto const x = test::mlp_samples<double>(most).x;
  auto const expected = predictor.predict(x);
  std::atomic<std::size_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t call = 0; call < calls; ++call) {
        std::size_t const rows = 1 + (7 * call + t) % most;
        xt::xarray<double> given = xt::xarray<double>::from_shape({rows, std::size_t{6}});
        std::copy_n(x.data(), rows * 6, given.data());
        auto const y = predictor.predict(given);
        // A GPU's library takes other kernels for other numbers of rows.
        double const most = std::is_same_v<Device, Kokkos::DefaultExecutionSpace> ? limit : 0.0;
        for (std::size_t e = 0; e < y.size(); ++e)
          if (!(std::abs(y.flat(e) - expected.flat(e)) <= most)) ++wrong;
      }
    });
  auto const samples = test::mlp_samples<double>(40);
  fit(device(), model, batches_of(samples), {.epochs = 3, .verbose = false});
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(models_for_inference_read_files_of_trained_ones) {
  auto model = trained(device());
  model.save_weights("inference.npz");
  auto const samples = test::mlp_samples<double>(20);
  auto const batches = samples.data().batch(GlobalBatch{7});
  auto const expected = predict(device(), model, batches);
  auto const check = [&](auto const& strategy) {
    auto reader = compile<double>(strategy, layers(), CompileOptions{.seed = 5});
    reader.load_weights("inference.npz");
    BOOST_TEST(test::distance(predict(strategy, reader, batches), expected) <= limit);
    BOOST_TEST(test::distance(reader.predictor().predict(samples.x), expected) <= limit);
  };
  check(device());
  check(MirroredStrategy<Device>(2, test::device(1)));
  check(Host());
}

BOOST_AUTO_TEST_CASE(tuples_and_mixed_precision) {
  auto const tuples =
      Sequential{Inputs{Input<6>{}, Input<2>{}}, Parallel{Dense<8, Tanh>{}, Sequential{Dense<6>{}, Reshape<2, 3>{}}}};
  auto model = compile<double>(device(), tuples);
  auto reference = compile<double>(Host(), tuples);
  auto const samples = test::mlp_samples<double>(9);
  xt::xarray<double> const other = test::make_samples<double>(9, {2}, 2).x;
  auto const given = std::tie(samples.x, other);
  auto const expected = predict(Host(), reference, data::from_tensor_slices(given).batch(GlobalBatch{4}));
  auto const found = model.predictor().predict(given);
  auto const predicted = predict(device(), model, data::from_tensor_slices(given).batch(GlobalBatch{4}));
  for (std::size_t i = 0; i < 2; ++i) {
    BOOST_TEST(test::distance(found[i], expected[i]) <= limit);
    BOOST_TEST(test::distance(predicted[i], expected[i]) <= limit);
  }
  auto half = compile<Mixed<BFloat16>>(device(), test::mlp());
  auto const of_half = predict(device(), half, test::mlp_samples<float>(9).data().batch(GlobalBatch{4}));
#ifdef KOKKOS_ENABLE_CUDA  // operands may be rounded to TF32, in one kernel for four rows and in another for nine
  constexpr double limit_of_half = 0x1p-9;
#else
  constexpr double limit_of_half = 1e-5;
#endif
  BOOST_TEST(test::distance(half.predictor().predict(test::mlp_samples<float>(9).x), of_half) <= limit_of_half);
}

BOOST_AUTO_TEST_CASE(indices_outside_of_a_vocabulary_are_named) {
  auto model = compile<float>(device(), Sequential{Input<3>{}, Embedding<7, 2>{}, Flatten{}});
  BOOST_CHECK_THROW(model.predictor().predict(xt::xarray<float>{{1, 2, 7}}), ValueError);
  BOOST_CHECK_THROW(
      predict(device(), model, data::from_tensor_slices(xt::xarray<float>{{1, -2, 0}}).batch(GlobalBatch{1})),
      ValueError);
}

BOOST_AUTO_TEST_CASE(callbacks_see_the_weights_of_the_step) {
  auto const samples = test::mlp_samples<double>(23), held_out = test::mlp_samples<double>(7, 2);
  auto const run = [&](auto const& strategy) {
    auto model = compiled(strategy);
    std::vector<std::vector<double>> seen;
    auto const tests = held_out.data().batch(GlobalBatch{3});
    fit(strategy, model, samples.data().shuffle(23, 4).batch(GlobalBatch{5}).prefetch(2), validation(tests),
        {.epochs = 3, .verbose = false},
        LambdaCallback{.on_train_batch_end =
                           [&](auto& run) {
                             auto const bias = run.model().weights("dense_1/bias");
                             seen.emplace_back(bias.begin(), bias.end());
                             seen.push_back({run.loss().value()});
                           },
                       .on_epoch_end =
                           [&](auto& run) {
                             seen.push_back({evaluate(strategy, run.model(), tests).find("loss")->value()});
                             auto kernel = run.model().weights("dense/kernel");
                             kernel *= 0.9;
                             run.model().set_weights("dense/kernel", kernel);
                           }},
        EarlyStopping<"val_loss">{.patience = 1, .restore_best_weights = true},
        ModelCheckpoint<"loss">{.path = "best.npz", .save_best_only = true});
    auto read = compiled(strategy, 7);
    read.load_weights("best.npz");
    for (auto const* which : {&model, &read})
      for (auto const& name : which->weight_names()) {
        auto const values = which->weights(name);
        seen.emplace_back(values.begin(), values.end());
      }
    auto const logs = model.train_on_batch(samples.x, samples.y, samples.weight);
    seen.push_back({logs.find("loss")->value()});
    return seen;
  };
  auto const expected = run(Host()), found = run(device());
  BOOST_REQUIRE_EQUAL(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) BOOST_TEST(test::distance(found[i], expected[i]) <= limit);
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_no_number_ends_training) {
  auto samples = test::mlp_samples<double>(23);
  samples.x(7, 3) = std::numeric_limits<double>::quiet_NaN();
  auto model = compiled(device());
  fit(device(), model, samples.data().batch(GlobalBatch{5}), {.epochs = 3, .verbose = false}, TerminateOnNaN{});
  BOOST_TEST(model.engine().iteration() == 2u);
}

BOOST_AUTO_TEST_CASE(an_exception_between_steps_leaves_a_model_that_trains_on) {
  struct Ended {};
  auto const samples = test::mlp_samples<double>(23);
  auto const run = [&](auto const& strategy) {
    auto model = compiled(strategy);
    std::size_t batches = 0;
    auto const train = [&](std::size_t last) {
      fit(strategy, model, samples.data().batch(GlobalBatch{5}).prefetch(2), {.epochs = 1, .verbose = false},
          LambdaCallback{.on_train_batch_end = [&](auto&) {
            if (batches++ == last) throw Ended();
          }});
    };
    BOOST_CHECK_THROW(train(2), Ended);
    train(1000);
    std::vector<double> all;
    for (auto const& name : model.weight_names())
      for (double value : model.weights(name)) all.push_back(value);
    return all;
  };
  BOOST_TEST(test::distance(run(device()), run(Host())) <= limit);
  // And a model may end with its work unfinished.
  auto model = compiled(device());
  Batch<double, std::int32_t> const batch{.x = samples.x.data(), .y = samples.y.data(), .rows = 5, .global_rows = 5};
  model.engine().train_step(batch);
}
