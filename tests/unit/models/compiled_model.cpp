// Weights, infer, train_on_batch and summary of a compiled model.
#define BOOST_TEST_MODULE compiled_model
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/weights_file.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/nadam.hpp"
#include "trireme/optimizers/rmsprop.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/schedules/exponential_decay.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

#include "../io/folder.hpp"

using namespace trireme;
using test::message_of;

namespace {

struct Fixture {
  OneDeviceStrategy<> strategy;
  decltype(compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{}, Accuracy{})) model =
      compile(strategy, test::mlp(), SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true},
              Accuracy{}, CompileOptions{.seed = 1});
  test::Samples<float> samples = test::mlp_samples<float>(7);

  /// A model of this optimizer.
  auto of(auto const& optimizer) const {
    return compile(strategy, test::mlp(), optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                   CompileOptions{.seed = 2});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(weights_have_keras_names_and_extents, Fixture) {
  BOOST_TEST(model.weight_names() ==
                 (std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(model.weights("dense_1/kernel").shape() == (std::vector<std::size_t>{9, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(model.parameter_count() == 6u * 9 + 9 + 9 * 4 + 4);
}

BOOST_FIXTURE_TEST_CASE(initial_weights_follow_the_seed_and_glorots_limit, Fixture) {
  auto const of_seed = [&](std::uint64_t seed) {
    return compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{}, Accuracy{},
                   CompileOptions{.seed = seed})
        .weights("dense/kernel");
  };
  BOOST_TEST((of_seed(1) == model.weights("dense/kernel")));
  BOOST_TEST(!(of_seed(2) == model.weights("dense/kernel")));
  double const limit = std::sqrt(6.0 / (6 + 9));
  for (float w : of_seed(1)) BOOST_TEST(std::abs(w) <= limit);
  for (float b : model.weights("dense/bias")) BOOST_TEST(b == 0.0f);
}

BOOST_FIXTURE_TEST_CASE(kernels_of_attention_start_within_keras_limits, Fixture) {
  // Largest weights of keras.layers.MultiHeadAttention(4, 8, value_dim=6, output_shape=40): 0.3061, 0.3061, 0.3269,
  // 0.3061.
  auto const attention = compile(
      strategy, Sequential{Input<10, 32>{}, MultiHeadAttention<4, 8, ValueDim<6>, OutputDim<40>>{.name = "attention"}},
      SGD{}, MeanSquaredError{}, CompileOptions{.seed = 1});
  auto const frozen =
      compile(strategy,
              Sequential{Input<10, 32>{},
                         Frozen{MultiHeadAttention<4, 8, ValueDim<6>, OutputDim<40>>{.name = "attention"}}, Dense<2>{}},
              SGD{}, MeanSquaredError{}, CompileOptions{.seed = 1});
  struct Kernel {
    char const* path;
    double inputs, outputs;
  };
  for (Kernel const& kernel :
       {Kernel{"attention/query/kernel", 32, 32}, Kernel{"attention/key/kernel", 32, 32},
        Kernel{"attention/value/kernel", 32, 24}, Kernel{"attention/attention_output/kernel", 24, 40}}) {
    double const limit = std::sqrt(6 / (kernel.inputs + kernel.outputs));
    auto const weights = attention.weights(kernel.path);
    double largest = 0;
    for (float w : weights) largest = std::max(largest, static_cast<double>(std::abs(w)));
    BOOST_TEST(largest <= limit);
    BOOST_TEST(largest > 0.97 * limit);
    BOOST_TEST((frozen.weights(kernel.path) == weights));
  }
}

BOOST_FIXTURE_TEST_CASE(weights_can_be_set_and_written_through_a_view, Fixture) {
  auto const other = model.weights("dense/kernel");
  auto bias = xt::xtensor<double, 1>::from_shape({4});
  for (std::size_t i = 0; i < 4; ++i) bias(i) = static_cast<double>(i) / 2;
  model.set_weights("dense_1/bias", bias);
  BOOST_TEST(model.weights("dense_1/bias")(3) == 1.5f);
  model.weights_view("dense_1/bias")(3) = 7;
  BOOST_TEST(model.weights("dense_1/bias")(3) == 7.0f);
  BOOST_TEST((model.weights("dense/kernel") == other));
}

BOOST_FIXTURE_TEST_CASE(a_parameter_that_is_not_there_and_values_that_do_not_fit_are_named, Fixture) {
  BOOST_TEST(message_of<ValueError>([&] { model.weights("dense_2/kernel"); }) ==
             "the model has no parameter 'dense_2/kernel'; it has dense/kernel, dense/bias, dense_1/kernel, "
             "dense_1/bias");
  auto const before = test::weight_bits(model);
  BOOST_TEST(message_of<ShapeError>([&] { model.set_weights("dense/bias", std::vector<float>(8)); }) ==
             "'dense/bias' has extents (9,), and cannot be set to values of extents (8,)");
  BOOST_TEST(test::weight_bits(model) == before);
}

BOOST_FIXTURE_TEST_CASE(the_state_of_another_optimizer_is_left_out_with_a_warning, Fixture) {
  test::Folder const folder;
#ifdef TRIREME_HAVE_HDF5
  std::vector<char const*> const names{"m.npz", "m.weights.h5"};
#else
  std::vector<char const*> const names{"m.npz"};
#endif
  auto const check = [&](auto&& writes, auto&& reads, bool fits) {
    writes.train_on_batch(samples.x, samples.y);
    std::FILE* const messages = std::tmpfile();
    for (char const* const name : names) {
      std::string const path = folder.file(name);
      writes.save_weights(path);
      detail::MessageScope const scope(messages);
      reads.load_weights(path);
      BOOST_TEST((reads.weights("dense/kernel") == writes.weights("dense/kernel")));
      BOOST_TEST(reads.engine().iteration() == (fits ? 1u : 0u));
    }
    std::rewind(messages);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), messages));
    std::fclose(messages);
    for (char const* const name : names)
      BOOST_TEST((text.find("warning: " + folder.file(name)) != std::string::npos) == !fits);
  };
  check(of(Adam{}), of(Adam{.learning_rate = 0.5}), true);
  check(of(SGD{}), of(Adam{}), false);
  check(of(Adam{}), of(SGD{}), false);
  check(of(Adam{}), of(Adam{.learning_rate = ExponentialDecay{}}), false);
  check(of(Nadam{}), of(Nadam{}), true);
  // As many variables of another meaning.
  check(of(RMSprop{}), of(SGD{.momentum = 0.9}), false);
  check(of(SGD{.momentum = 0.9}), of(SGD{.momentum = 0.5, .nesterov = true}), true);
  check(of(RMSprop{.momentum = 0.9}), of(RMSprop{.centered = true}), false);
  check(of(RMSprop{.centered = true}), of(RMSprop{.centered = true}), true);
}

BOOST_FIXTURE_TEST_CASE(the_warning_names_the_optimizer_of_the_file_and_of_the_model, Fixture) {
  test::Folder const folder;
  auto writes = of(RMSprop{});
  writes.train_on_batch(samples.x, samples.y);
  auto reads = of(SGD{.momentum = 0.9});
  std::string const path = folder.file("m.npz");
  writes.save_weights(path);
  std::FILE* const messages = std::tmpfile();
  {
    detail::MessageScope const scope(messages);
    reads.load_weights(path);
  }
  std::rewind(messages);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), messages));
  std::fclose(messages);
  BOOST_TEST(text.find("warning: " + path +
                       ": the optimizer's state is left out, since it is that of RMSprop (velocity), and this model's "
                       "optimizer is SGD (momentum)") != std::string::npos,
             text);
}

BOOST_FIXTURE_TEST_CASE(the_state_in_a_file_without_the_name_of_its_optimizer_is_read_as_it_is, Fixture) {
  test::Folder const folder;
  auto writes = of(RMSprop{});
  writes.train_on_batch(samples.x, samples.y);
  detail::HostState<float> state;
  writes.engine().gather_state(state);
  auto const tensors = detail::state_tensors<NamedTensor, RMSprop>(
      writes.engine().model().description(), state, true, true,
      [](auto group, std::size_t index, auto extents, auto const* data) {
        return named_tensor(std::move(group), index, std::move(extents), data);
      });
  auto const check = [&](char const* name, std::vector<NamedGroup> const& groups) {
    auto reads = of(SGD{.momentum = 0.9});
    write_weights(folder.file(name), tensors, groups);
    reads.load_weights(folder.file(name));
    BOOST_TEST(reads.engine().iteration() == 1u);
  };
  check("m.npz", {});
#ifdef TRIREME_HAVE_HDF5
  check("m.weights.h5", {});
  check("m.weights.h5", {{{"optimizer", "vars"}, "rm_sprop"}});  // as Keras, whose name users may choose
#endif
}

BOOST_FIXTURE_TEST_CASE(a_file_has_the_product_of_nadams_momenta_behind_the_slots_as_keras_has, Fixture) {
  test::Folder const folder;
  auto trained = compile(strategy, test::mlp(), Nadam{}, SparseCategoricalCrossentropy{.from_logits = true});
  for (int step = 0; step < 2; ++step) trained.train_on_batch(samples.x, samples.y);
  std::string const path = folder.file("m.npz");
  trained.save_weights(path);
  float product = 0;
  read_tensors(path, std::vector{named_destination({"optimizer", "vars"}, 10, {}, &product)});  // 2 + 2 slots * 4
  BOOST_TEST(static_cast<double>(product) == 0.9 * (1 - 0.5 * 0.96) * 0.9 * (1 - 0.5 * 0.96 * 0.96),
             boost::test_tools::tolerance(1e-6));
  BOOST_TEST(!weights_hold(path, "optimizer/vars/11"));
}

BOOST_FIXTURE_TEST_CASE(infer_gives_what_predict_gives, Fixture) {
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> in("in", 7, 6), out("out", 7, 4);
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t j = 0; j < 6; ++j) in(i, j) = samples.x(i, j);
  model.infer(in, out);
  auto const y = predict(strategy, model, samples.data().batch(GlobalBatch{3}));
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t k = 0; k < 4; ++k) BOOST_TEST(std::abs(out(i, k) - y(i, k)) <= 1e-6);
}

BOOST_FIXTURE_TEST_CASE(infer_refuses_views_that_do_not_fit, Fixture) {
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const in("in", 7, 5), out("out", 7, 4);
  BOOST_CHECK_THROW(model.infer(in, out), ShapeError);
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const good("in", 7, 6), small("out", 6, 4);
  BOOST_CHECK_THROW(model.infer(good, small), ShapeError);
}

BOOST_FIXTURE_TEST_CASE(infer_grows_with_the_rows_it_is_given, Fixture) {
  using View = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  for (std::size_t rows : {1u, 3u, 64u, 2u}) {
    View const in("in", rows, 6), out("out", rows, 4);
    Kokkos::deep_copy(in, 0.5f);
    model.infer(in, out);
    for (std::size_t i = 1; i < rows; ++i) BOOST_TEST(std::abs(out(i, 2) - out(0, 2)) <= 1e-6);
  }
}

BOOST_FIXTURE_TEST_CASE(train_on_batch_is_one_step_of_fit, Fixture) {
  auto other = compile(strategy, test::mlp(), SGD{.learning_rate = 0.1},
                       SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 1});
  auto const logs = model.train_on_batch(samples.x, samples.y);
  auto const history = fit(strategy, other, samples.data().batch(GlobalBatch{7}), {.verbose = false});
  BOOST_TEST(test::weight_bits(model) == test::weight_bits(other));
  BOOST_TEST(model.engine().iteration() == 1u);
  BOOST_TEST(logs.find("loss")->value() == history["loss"][0]);
  BOOST_TEST(logs.find("accuracy")->value() == history["accuracy"][0]);
}

BOOST_FIXTURE_TEST_CASE(train_on_batch_refuses_arrays_that_do_not_fit, Fixture) {
  BOOST_CHECK_THROW(model.train_on_batch(samples.x, std::vector<std::int32_t>(6)), ShapeError);
  BOOST_CHECK_THROW(model.train_on_batch(samples.x, samples.y, std::vector<double>(6)), ShapeError);
  BOOST_CHECK_THROW(model.train_on_batch(test::make_samples<float>(7, {5}, 4).x, samples.y), ShapeError);
  BOOST_CHECK_THROW(model.train_on_batch(test::mlp_samples<float>(0).x, std::vector<std::int32_t>{}), ValueError);
  // As many numbers in other extents.
  BOOST_TEST(message_of<ShapeError>([&] {
               model.train_on_batch(xt::xtensor<float, 3>(xt::zeros<float>({7, 3, 2})), samples.y);
             }) == "samples of the batch have the extents (3, 2), but the model takes (6,)");
  auto pairs = compile(strategy, Sequential{Input<6>{}, Dense<2>{}}, SGD{}, MeanSquaredError{});
  xt::xtensor<float, 2> const x = xt::zeros<float>({4, 6}), y = xt::zeros<float>({2, 4});
  BOOST_TEST(message_of<ShapeError>([&] { pairs.train_on_batch(x, y); }) ==
             "targets of the batch have the extents (4,), but the model's output and loss need (2,)");
  auto labels = samples.y;
  labels[2] = 4;
  BOOST_CHECK_THROW(model.train_on_batch(samples.x, labels), ValueError);
  BOOST_TEST(model.engine().iteration() == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_summary_is_the_table_that_keras_prints_and_what_training_takes, Fixture) {
  BOOST_TEST(model.summary() ==
             "-------------------------------------------------------------\n"
             " Layer (type)       Output shape  Param #  Bytes  Operations\n"
             "-------------------------------------------------------------\n"
             " dense (Dense)      (None, 9)          63  252 B         135\n"
             " dropout (Dropout)  (None, 9)           0    0 B           9\n"
             " dense_1 (Dense)    (None, 4)          40  160 B          84\n"
             "-------------------------------------------------------------\n"
             "Total params: 103 (412 B)\n"
             "Operations: 228 a sample, forward\n"
             "Optimizer state: 0 B\n"
             "Activations: 88 B a sample\n"
             "Workspace: " +
                 detail::readable_bytes(model.engine().memory_use(32).workspace_bytes) +
                 " for a batch of 32\n"
                 "Reduced between processes: 0 B a step\n"
                 "Placement: " +
                 model.engine().placement() + "\n");
}
