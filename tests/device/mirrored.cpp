// Several devices of one process train as one does: rows of the table in support/law_table.hpp, and what is one
// device's or all devices' alone.
#define BOOST_TEST_MODULE device_mirrored
#include "support/device.hpp"

#include "../../examples/own_model/decay.hpp"
#include "support/law_table.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "trireme/layers/embedding.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;
using namespace trireme::test::law;

namespace {

using Devices = MirroredStrategy<test::Device>;
using Host = Kokkos::DefaultHostExecutionSpace;

Devices over(std::size_t count) { return Devices(test::devices(count)); }

/// The devices of a model have the same weights to the bit.
template <class Model>
void check_equal_devices(Model& model) {
  auto& engine = model.engine();
  for (std::size_t device = 1; device < engine.devices(); ++device)
    BOOST_TEST(engine.replica(device).weights().host_parameters() == engine.replica(0).weights().host_parameters(),
               boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(devices_train_as_one_host) {
  check_row<Mlp, Normalization>("Mirrored over 2 devices", over(2));
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>("Mirrored over 3 devices", over(3));
}

BOOST_AUTO_TEST_CASE(accumulated_pieces_train_as_one_host) {
  check_row<Mlp>("Accumulate around 2 devices", Accumulate<Devices, 3>(test::devices(2)));
}

/// Statistics are those of a replica's rows: so many devices are so many replicas of a host.
BOOST_AUTO_TEST_CASE(batch_normalization_is_that_of_as_many_replicas_on_a_host) {
  auto const network = normalized(BatchNormalization<>{.momentum = 0.8});
  for (std::size_t const count : {2u, 3u})
    for (std::size_t const batch : {7u, 2u}) {
      Training const training{.batch = batch};
      trained<double>(MirroredStrategy<Host>(count), network, training, [&](auto const& expected, History const& host) {
        trained<double>(over(count), network, training, [&](auto& model, History const& history) {
          check_equal_devices(model);
          test::check_same_weights(model, expected, 1e-12);
          test::check_same_history(history, host, 1e-12);
        });
      });
    }
}

BOOST_AUTO_TEST_CASE(weights_of_all_devices_are_the_same_in_every_run) {
  std::vector<std::uint64_t> bits;
  for (int run = 0; run < 3; ++run)
    trained<float>(over(3), perceptron(), {}, [&](auto& model, History const&) {
      check_equal_devices(model);
      bits.push_back(test::weight_bits(model));
    });
  BOOST_TEST(bits[0] == bits[1]);
  BOOST_TEST(bits[0] == bits[2]);
}

BOOST_AUTO_TEST_CASE(a_device_whose_weights_differ_is_named) {
  auto model = compile<double>(over(3), test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  model.engine().verify_replicas();
  auto const& wrong = model.engine().replica(2).weights().parameters();
  auto values = to_host(wrong);
  values[3] = std::nextafter(values[3], 1.0);
  copy_view(wrong, host_view(values));
  BOOST_CHECK_EXCEPTION(model.engine().verify_replicas(), Error, [](Error const& error) {
    return std::string(error.what()) == "the weights of device 2 differ from those of device 0 after step 0";
  });
}

BOOST_AUTO_TEST_CASE(several_replicas_of_one_device_are_one_device) {
  trained<double>(Devices(3, test::device(1)), perceptron(), {}, [&](auto& model, History const&) {
    BOOST_TEST(model.engine().devices() == 1u);
    trained<double>(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), perceptron(), {},
                    [&](auto const& expected, History const&) { test::check_same_weights(model, expected, 1e-12); });
  });
}

BOOST_AUTO_TEST_CASE(positions_of_the_ignored_class_leave_the_global_count) {
  auto train = test::mlp_samples<double>(41);
  train.y[4] = train.y[5] = train.y[6] = train.y[7] = 2;  // a whole batch of them
  auto const fitted = [&](auto const& strategy) {
    auto model = compile<double>(strategy, test::mlp(), SGD{.learning_rate = 0.1},
                                 SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 2}, Accuracy{});
    fit(strategy, model, train.weighted_data().batch(GlobalBatch{4}), {.epochs = 2, .verbose = false});
    return model;
  };
  auto const expected = fitted(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>());
  auto const model = fitted(over(3));
  test::check_same_weights(model, expected, 1e-12);
}

BOOST_AUTO_TEST_CASE(sparse_gradients_are_summed_by_rows) {
  xt::xarray<double> x = xt::xarray<double>::from_shape({20, 3});
  std::vector<double> y(20);
  for (std::size_t i = 0; i < 60; ++i) x.data()[i] = static_cast<double>(i * i % 11 % 7 + (i < 30 ? 0 : 90));
  for (std::size_t i = 0; i < 20; ++i) y[i] = static_cast<double>(i % 3);
  Sequential const network{Input<3>{}, Embedding<200, 4>{}, Flatten{}, Dense<5, Tanh>{}, Dense<1>{}};
  auto const fitted = [&](auto const& strategy) {
    auto model = compile<double>(strategy, network, Adam{.learning_rate = 0.02}, MeanSquaredError{});
    fit(strategy, model, data::from_tensor_slices(x, y).shuffle(20, 2).batch(GlobalBatch{5}),
        {.epochs = 3, .verbose = false});
    return model;
  };
  auto const expected = fitted(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>());
  for (std::size_t const count : {2u, 3u}) {
    auto model = fitted(over(count));
    check_equal_devices(model);
    test::check_same_weights(model, expected, 1e-12);
  }
  auto const pieces = fitted(Accumulate<Devices, 2>(test::devices(2)));
  test::check_same_weights(pieces, expected, 1e-12);
}

BOOST_AUTO_TEST_CASE(models_for_inference_predict_on_all_devices) {
  auto const samples = test::mlp_samples<double>(23);
  auto const data = samples.data().batch(GlobalBatch{7});
  OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace> const host;
  auto const strategy = over(3);
  auto reference = compile<double>(host, test::mlp(), CompileOptions{.seed = 3});
  auto model = compile<double>(strategy, test::mlp(), CompileOptions{.seed = 3});
  auto const expected = predict(host, reference, data);
  BOOST_TEST(test::distance(predict(strategy, model, data), expected) <= 1e-12);
  BOOST_TEST(test::distance(model.predictor().predict(samples.x), expected) <= 1e-12);
}

BOOST_AUTO_TEST_CASE(weights_can_be_set_and_read_on_all_devices) {
  auto const strategy = over(2);
  auto const samples = test::mlp_samples<double>(12);
  auto model = compile<double>(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  xt::xarray<double> kernel = model.weights("dense/kernel");
  kernel *= 3;
  model.set_weights("dense/kernel", kernel);
  BOOST_TEST(model.weights("dense/kernel") == kernel);
  check_equal_devices(model);
  auto const kept = model.engine().weights().snapshot();
  Logs const logs = model.train_on_batch(samples.x, samples.y);
  BOOST_TEST(std::isfinite(logs.find("loss")->value()));
  BOOST_TEST(test::distance(model.weights("dense/kernel"), kernel) > 1e-6);
  check_equal_devices(model);
  model.engine().weights().restore(kept);
  BOOST_TEST(model.weights("dense/kernel") == kernel);
  check_equal_devices(model);
}

BOOST_AUTO_TEST_CASE(a_summary_says_how_many_devices_there_are) {
  auto const model = compile<float>(over(2), test::mlp(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
  std::string const text = model.summary(32);
  BOOST_TEST(text.find("Placement: 2 devices with ") != std::string::npos, text);
  BOOST_TEST(text.find("Reduced between devices: ") != std::string::npos, text);
}

namespace {

/// Hands its input on; fails in the step `at` on one device.
struct FailsOn {
  test::Device device;
  std::atomic<int>* left;

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if constexpr (std::is_same_v<Context, SpaceContext<test::Device>>)
      if (f.training && context.space() == device && --*left == 0) throw std::runtime_error("this device is gone");
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) kernels::copy(context, b.rows * in.size(), static_cast<T const*>(b.dy), b.dx);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_error_of_one_device_ends_the_step_of_all) {
  auto const samples = test::mlp_samples<double>(12);
  auto const data = samples.data().batch(GlobalBatch{6});
  auto const devices = test::devices(3);
  Devices const strategy(devices);
  for (std::size_t const failing : {0u, 2u}) {
    std::atomic<int> left = 4;
    // Statistics over the batch: the others wait for that device in the middle of forward.
    auto model = compile<double>(
        strategy,
        Sequential{Input<6>{}, Dense<5>{}, FailsOn{devices[failing], &left}, SyncBatchNormalization<>{}, Dense<4>{}},
        SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
    auto const before = model.engine().weights().snapshot();
    BOOST_CHECK_EXCEPTION(fit(strategy, model, data, {.epochs = 5, .verbose = false}), std::runtime_error,
                          [](auto const& error) { return std::string(error.what()) == "this device is gone"; });
    // The devices go on together from weights that are the same again.
    model.engine().weights().restore(before);
    fit(strategy, model, data, {.epochs = 2, .verbose = false});
    check_equal_devices(model);
  }
}

BOOST_AUTO_TEST_CASE(parameters_of_the_application_are_those_of_one_device) {
  using Decay = decay::Model<test::Device>;
  auto const devices = test::devices(2);
  typename Decay::View const parameters(Kokkos::view_alloc(devices[0], "parameters"), 4);
  BOOST_CHECK_THROW(compile(Devices(devices), Decay(parameters, Adam{})), ValueError);
  auto const model = compile(Devices(1, devices[0]), Decay(parameters, Adam{}));
  BOOST_TEST(model.engine().devices() == 1u);
}

BOOST_AUTO_TEST_CASE(lists_of_devices_that_make_no_sense_are_errors) {
  BOOST_CHECK_THROW(Devices(std::vector<test::Device>()), ValueError);
  BOOST_CHECK_THROW(Devices({test::device(1), test::device(1)}), ValueError);
  BOOST_CHECK_THROW(Devices(0, test::device(1)), ValueError);
  BOOST_CHECK_THROW(compile<double>(VirtualReplicas<Devices, 4>(test::devices(2)), test::mlp(), SGD{},
                                    SparseCategoricalCrossentropy{.from_logits = true}),
                    ValueError);
}

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
BOOST_AUTO_TEST_CASE(devices_are_found_by_their_numbers) {
  auto const all = Devices::over_devices();
  BOOST_TEST(all.replicas() == 3u);
  auto const some = Devices::over_devices({2, 0});
  BOOST_TEST((some.devices() == std::vector{test::device(2), test::device(0)}));
  BOOST_TEST((Devices::over_devices({2}).devices()[0] == some.devices()[0]));
  BOOST_CHECK_THROW(Devices::over_devices({0, 3}), ValueError);
}
#endif
