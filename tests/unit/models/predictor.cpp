// Inference that threads share, and models that are compiled for inference alone.
#define BOOST_TEST_MODULE predictor
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/models/outputs.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/predictor.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/inference/row_blocks.hpp"
#include "trireme/strategies/inference/space_inference.hpp"

using namespace trireme;
using test::message_of;

namespace {

auto normalized_mlp() {
  return Sequential{Input<6>{}, Dense<64, Tanh>{}, BatchNormalization{}, Dropout{.rate = 0.4f}, Dense<4>{}};
}

auto trained(std::uint64_t seed = 1) {
  OneDeviceStrategy<> const strategy;
  auto const samples = test::mlp_samples<float>(40);
  auto model = compile(strategy, normalized_mlp(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true},
                       Accuracy{}, CompileOptions{.seed = seed});
  fit(strategy, model, samples.data().batch(GlobalBatch{8}), {.epochs = 2, .verbose = false});
  return model;
}

auto plain(std::uint64_t seed = 0) {
  return compile(OneDeviceStrategy<>(), normalized_mlp(), CompileOptions{.seed = seed});
}

template <class A, class B>
bool near(A const& a, B const& b) {
  return a.shape() == b.shape() &&
         std::equal(a.begin(), a.end(), b.begin(), [](auto u, auto v) { return std::abs(u - v) <= 1e-5; });
}

template <class A, class B>
bool same_bits(A const& a, B const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0;
}

/// Counts the parallel loops that Kokkos begins while it lives.
struct RegionCount {
  RegionCount() {
    regions = 0;
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(
        [](char const*, std::uint32_t, std::uint64_t*) { ++regions; });
  }
  RegionCount(RegionCount const&) = delete;
  RegionCount& operator=(RegionCount const&) = delete;
  ~RegionCount() { Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr); }
  static inline std::atomic<int> regions{0};
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_predictor_gives_what_predict_gives) {
  OneDeviceStrategy<> const strategy;
  auto model = trained();
  auto const predictor = model.predictor();
  auto const samples = test::mlp_samples<float>(150);
  auto const expected = predict(strategy, model, samples.data().batch(GlobalBatch{50}));
  BOOST_TEST(near(predictor.predict(samples.x), expected));
  BOOST_TEST(near(predictor.predict(xt::xarray<double>(samples.x)), expected));
  std::vector<float> const flat(samples.x.begin(), samples.x.end());
  BOOST_TEST(near(predictor.predict(flat), expected));
  BOOST_TEST(near(predictor.predict(std::span(flat)), expected));
  Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> const turned("turned", 150, 6);
  for (std::size_t i = 0; i < 150; ++i)
    for (std::size_t j = 0; j < 6; ++j) turned(i, j) = samples.x(i, j);
  BOOST_TEST(near(predictor.predict(turned), expected));
  BOOST_TEST(predictor.predict(xt::xarray<float>::from_shape({0, 6})).size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_predictor_writes_to_arrays_spans_and_views) {
  auto const model = trained();
  auto const predictor = model.predictor();
  auto const x = test::mlp_samples<float>(5).x;
  auto const expected = predictor.predict(x);
  auto array = xt::xarray<float>::from_shape({5, 4});
  predictor.infer(x, array);
  BOOST_TEST(same_bits(array, expected));
  std::vector<float> numbers(20);
  predictor.infer(std::span(x.data(), x.size()), std::span(numbers));
  BOOST_TEST(same_bits(numbers, expected));
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const view("view", 5, 4);
  predictor.infer(Kokkos::View<float const**, Kokkos::LayoutRight, Kokkos::HostSpace>(x.data(), 5, 6), view);
  BOOST_TEST(same_bits(view, expected));
}

BOOST_AUTO_TEST_CASE(arrays_that_do_not_fit_are_one_sentence) {
  auto model = trained();
  auto const predictor = model.predictor();
  BOOST_TEST(message_of<ShapeError>([&] { predictor.predict(xt::xarray<float>::from_shape({3, 5})); }) ==
             "samples of a tensor have the extents (5,), but the model takes (6,)");
  BOOST_TEST(message_of<ShapeError>([&] { predictor.predict(std::vector<float>(7)); }) ==
             "7 inputs were given, which are no whole rows of 6");
  std::vector<float> const x(12);
  std::vector<float> y(7);
  BOOST_TEST(message_of<ShapeError>([&] { predictor.infer(x, y); }) ==
             "7 outputs were given where the 2 rows of the inputs need 8");
  Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> const turned("turned", 2, 4), in("in", 2, 6);
  std::string const layout = "the outputs of infer have to lie row by row without gaps (LayoutRight)";
  BOOST_TEST(message_of<ShapeError>([&] { predictor.infer(x, turned); }) == layout);
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const rows("rows", 2, 6);
  BOOST_TEST(message_of<ShapeError>([&] { model.infer(rows, turned); }) == layout);
  BOOST_TEST(message_of<ShapeError>([&] { model.infer(in, rows); }) ==
             "the inputs of infer have to lie row by row without gaps (LayoutRight)");
}

BOOST_AUTO_TEST_CASE(an_index_outside_of_the_vocabulary_is_named) {
  auto const model = compile(OneDeviceStrategy<>(), Sequential{Input<3>{}, Embedding<10, 2>{}, Flatten{}, Dense<1>{}});
  auto const predictor = model.predictor();
  std::vector<float> const words{1, 2, 3, 4, 10, 6};
  std::vector<float> y(2);
  BOOST_TEST(message_of<ValueError>([&] { predictor.infer(words, y); }) ==
             "input 10 of row 1 of the inputs is outside of the vocabulary [0, 10)");
  BOOST_CHECK_THROW(predictor.predict(words), ValueError);
}

BOOST_AUTO_TEST_CASE(a_predictor_stays_as_it_is_when_the_model_trains_on_and_ends) {
  OneDeviceStrategy<> const strategy;
  auto const samples = test::mlp_samples<float>(40);
  auto model = std::make_unique<decltype(trained())>(trained());
  auto const predictor = model->predictor();
  auto copy = predictor;
  auto const before = predictor.predict(samples.x);
  auto const moved = std::move(copy);  // which leaves it as it was
  fit(strategy, *model, samples.data().batch(GlobalBatch{8}), {.verbose = false});
  BOOST_TEST(same_bits(predictor.predict(samples.x), before));
  BOOST_TEST(!same_bits(model->predictor().predict(samples.x), before));
  model.reset();
  BOOST_TEST(same_bits(copy.predict(samples.x), before));
  BOOST_TEST(same_bits(moved.predict(samples.x), before));
}

BOOST_AUTO_TEST_CASE(a_strategy_that_was_moved_from_is_as_good_as_before) {
  OneDeviceStrategy<> one;
  MirroredStrategy<> two(2);
  auto const other = std::move(one);
  auto const another = std::move(two);
  BOOST_TEST((compile(one, normalized_mlp()).weights("dense/kernel") ==
              compile(other, normalized_mlp()).weights("dense/kernel")));
  BOOST_TEST((compile(two, normalized_mlp()).weights("dense/kernel") ==
              compile(another, normalized_mlp()).weights("dense/kernel")));
}

BOOST_AUTO_TEST_CASE(blocks_computed_by_all_threads_have_the_bits_of_blocks_computed_alone) {
  // So many operations a row that blocks are small.
  auto const model = compile(OneDeviceStrategy<>(), Sequential{Input<200>{}, Dense<500, ReLU>{}, Dense<300>{}});
  auto const& layers = model.engine().model();
  RowBlocks<std::decay_t<decltype(layers)>, Kokkos::DefaultHostExecutionSpace> const blocks(layers, {});
  std::size_t const block = blocks.rows_of_block(), rows = 12 * block + 1;
  auto const weights = model.engine().weights().host_parameters();
  auto const x = test::make_samples<float>(rows, {200}, 2).x;
  std::vector<float> together(rows * 300), alone(rows * 300);
  int regions = 0;
  {
    RegionCount const count;
    blocks.predict(layers, rows, x.data(), together.data(), weights.data());
    regions = RegionCount::regions;
    for (std::size_t row = 0; row < rows; row += block)
      blocks.predict(layers, std::min(block, rows - row), x.data() + row * 200, alone.data() + row * 300,
                     weights.data());
    BOOST_TEST(RegionCount::regions == regions);  // the small calls begin none
  }
  BOOST_TEST(regions == (Kokkos::DefaultHostExecutionSpace().concurrency() > 1 ? 1 : 0));
  BOOST_TEST(same_bits(together, alone));
}

BOOST_AUTO_TEST_CASE(the_inference_of_a_device_gives_the_same_numbers) {
  auto const model = plain();
  auto const& layers = model.engine().model();
  SpaceInference<std::decay_t<decltype(layers)>, Kokkos::DefaultHostExecutionSpace> const inference(layers, {});
  auto const weights = model.engine().weights().host_parameters();
  auto const predictor = model.predictor();
  for (std::size_t const rows : {3u, 50u, 1u}) {
    auto const x = test::mlp_samples<float>(rows).x;
    auto y = xt::xarray<float>::from_shape({rows, 4});
    inference.predict(layers, rows, x.data(), y.data(), weights.data());
    BOOST_TEST(near(y, predictor.predict(x)));
  }
}

BOOST_AUTO_TEST_CASE(any_number_of_threads_get_the_right_numbers_while_the_model_trains) {
  OneDeviceStrategy<> const strategy;
  auto model = trained();
  auto const predictor = model.predictor();
  constexpr std::size_t threads = 6, calls = 120, most = 700;
  auto const x = test::mlp_samples<float>(most).x;
  auto const rows_of = [](std::size_t call) { return call % 20 == 0 ? most : 1 + call * 7 % 90; };
  std::vector<std::vector<float>> expected;
  for (std::size_t call = 0; call < calls; ++call) {
    expected.emplace_back(rows_of(call) * 4);
    predictor.infer(std::span(x.data(), rows_of(call) * 6), expected.back());
  }
  std::atomic<std::size_t> wrong{0};
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      std::vector<float> y;
      for (std::size_t i = 0; i < calls; ++i) {
        std::size_t const call = (i + t * 17) % calls;
        y.assign(rows_of(call) * 4, -1.0f);
        predictor.infer(std::span(x.data(), y.size() / 4 * 6), y);
        if (!same_bits(y, expected[call])) ++wrong;
      }
    });
  auto const samples = test::mlp_samples<float>(40);
  fit(strategy, model, samples.data().batch(GlobalBatch{8}), {.epochs = 5, .verbose = false});
  for (std::thread& thread : all) thread.join();
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(models_of_several_inputs_and_outputs_take_and_give_tuples) {
  OneDeviceStrategy<> const strategy;
  auto const layers =
      Sequential{Inputs{Input<6>{}, Input<2>{}}, Parallel{Dense<8, Tanh>{}, Sequential{Dense<6>{}, Reshape<2, 3>{}}}};
  auto model = compile(strategy, layers);
  auto const predictor = model.predictor();
  auto const samples = test::mlp_samples<float>(9);
  xt::xarray<float> const other = test::make_samples<float>(9, {2}, 2).x;
  auto const given = std::tie(samples.x, other);  // which holds references
  auto const expected = predict(strategy, model, data::from_tensor_slices(given).batch(GlobalBatch{4}));
  auto const found = predictor.predict(given);
  BOOST_TEST(found.size() == 2u);
  BOOST_TEST(near(found[0], expected[0]));
  BOOST_TEST(near(found[1], expected[1]));
  BOOST_CHECK_THROW(predictor.predict(samples.x), ShapeError);
}

BOOST_AUTO_TEST_CASE(mixed_precision_predicts_as_the_model_does) {
  OneDeviceStrategy<> const strategy;
  auto model = compile<Mixed<BFloat16>>(strategy, test::mlp());
  auto const samples = test::mlp_samples<float>(9);
  auto const expected = predict(strategy, model, samples.data().batch(GlobalBatch{4}));
  BOOST_TEST(near(model.predictor().predict(samples.x), expected));
}

BOOST_AUTO_TEST_CASE(a_model_without_optimizer_and_loss_takes_the_weights_of_one_that_was_trained) {
  OneDeviceStrategy<> const strategy;
  auto model = trained();
  for (std::string const file : {"inference.weights.h5", "inference.npz"}) {
    model.save_weights(file);
    auto reader = plain(5);
    reader.load_weights(file);
    for (auto const& name : model.weight_names()) BOOST_TEST((reader.weights(name) == model.weights(name)));
    auto const samples = test::mlp_samples<float>(20);
    auto const data = samples.data().batch(GlobalBatch{7});
    BOOST_TEST(near(predict(strategy, reader, data), predict(strategy, model, data)));
    BOOST_TEST(same_bits(reader.predictor().predict(samples.x), model.predictor().predict(samples.x)));
    reader.save_weights("of_reader_" + file);  // which a trained model reads again, without the optimizer
    auto again = trained(3);
    auto const steps = again.engine().iteration();
    again.load_weights("of_reader_" + file);
    BOOST_TEST(again.engine().iteration() == steps);
    BOOST_TEST(same_bits(again.predictor().predict(samples.x), model.predictor().predict(samples.x)));
  }
}

BOOST_AUTO_TEST_CASE(a_model_for_inference_owns_weights_and_nothing_else) {
  static std::size_t bytes;
  bytes = 0;
  Kokkos::Tools::Experimental::set_allocate_data_callback(
      [](Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t size) { bytes += size; });
  auto const reader = plain();
  Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
  BOOST_TEST(bytes == reader.description().arena_elements() * sizeof(float));
  BOOST_TEST(reader.summary().find("Optimizer state: 0 B") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_model_for_inference_is_written_and_infers_as_others) {
  auto model = plain(2);
  model.set_weights("dense_1/bias", std::vector<float>{1, 2, 3, 4});
  model.weights_view("dense_1/kernel") = 0;
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const in("in", 2, 6), out("out", 2, 4);
  model.infer(in, out);
  for (std::size_t k = 0; k < 4; ++k) BOOST_TEST(out(1, k) == static_cast<float>(k + 1));
  MirroredStrategy<> const mirrored(2);
  auto const replicas = compile(mirrored, normalized_mlp(), CompileOptions{.seed = 2});
  BOOST_TEST((replicas.weights("dense/kernel") == model.weights("dense/kernel")));
}

BOOST_AUTO_TEST_CASE(a_model_that_was_moved_from_is_one_sentence_everywhere) {
  OneDeviceStrategy<> const strategy;
  auto const samples = test::mlp_samples<float>(8);
  auto const data = samples.data().batch(GlobalBatch{4});
  auto model = trained();
  auto moved = std::move(model);
  std::string const sentence = "the model was moved from; use the model that it was moved to";
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const in("in", 2, 6), out("out", 2, 4);
  auto const expect = [&](auto const& f) { BOOST_TEST(message_of<ValueError>(f) == sentence); };
  expect([&] { fit(strategy, model, data, {.verbose = false}); });
  expect([&] { evaluate(strategy, model, data); });
  expect([&] { predict(strategy, model, data); });
  expect([&] { model.engine(); });
  expect([&] { std::as_const(model).engine(); });
  expect([&] { model.description(); });
  expect([&] { model.parameter_count(); });
  expect([&] { model.summary(); });
  expect([&] { model.weight_names(); });
  expect([&] { model.weights("dense/kernel"); });
  expect([&] { model.weights_view("dense/kernel"); });
  expect([&] { model.set_weights("dense/bias", std::vector<float>(64)); });
  expect([&] { model.save_weights("moved.npz"); });
  expect([&] { model.load_weights("moved.npz"); });
  expect([&] { model.train_on_batch(samples.x, samples.y); });
  expect([&] { model.infer(in, out); });
  expect([&] { model.predictor(); });
  fit(strategy, moved, data, {.verbose = false});  // the other trains on
  moved.infer(in, out);
}

#ifndef NDEBUG
BOOST_AUTO_TEST_CASE(two_threads_on_one_model_are_an_error_in_one_sentence) {
  OneDeviceStrategy<> const strategy;
  auto const samples = test::mlp_samples<float>(8);
  auto const data = samples.data().batch(GlobalBatch{4});
  auto model = trained();
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const in("in", 2, 6), out("out", 2, 4);
  std::vector<std::string> messages;
  LambdaCallback const meanwhile{.on_epoch_end = [&](auto const&) {
    std::thread([&] {
      messages.push_back(message_of<ValueError>([&] { model.infer(in, out); }));
      messages.push_back(message_of<ValueError>([&] { model.weights_view("dense/bias"); }));
      messages.push_back(message_of<ValueError>([&] { predict(strategy, model, data); }));
    }).join();
    model.infer(in, out);  // of the thread that fits
  }};
  fit(strategy, model, data, {.verbose = false}, meanwhile);
  std::vector<std::string> expected;
  for (std::string const what : {"infer", "weights_view", "predict"})
    expected.push_back("'" + what +
                       "' was called while another thread is in 'fit' of the same model, which one thread at a time "
                       "may use; for inference on any number of threads take model.predictor()");
  BOOST_TEST(messages == expected, boost::test_tools::per_element());
  std::thread([&] { model.infer(in, out); }).join();  // one after the other is no misuse
}
#endif
