// Fused steps of a device equal those of one kernel after the other to rounding, and repeat to the bit.
#define BOOST_TEST_MODULE device_fused_steps
#include "support/device.hpp"

#include "support/twin_graph.hpp"

#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/activations/elementwise.hpp"
#include "trireme/activations/elu.hpp"
#include "trireme/activations/gelu.hpp"
#include "trireme/activations/leaky_relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/silu.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/activations/softplus.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/categorical_crossentropy.hpp"
#include "trireme/losses/cosine_similarity.hpp"
#include "trireme/losses/elementwise_loss.hpp"
#include "trireme/losses/hinge.hpp"
#include "trireme/losses/huber.hpp"
#include "trireme/losses/kl_divergence.hpp"
#include "trireme/losses/log_cosh.hpp"
#include "trireme/losses/mean_absolute_error.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/poisson.hpp"
#include "trireme/metrics/binary_accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/lamb.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

using Strategy = OneDeviceStrategy<test::Device>;

constexpr std::size_t inputs = test::mlp_inputs, classes = test::classes;
constexpr std::size_t samples = 22, batch = 5;  // the last batch of an epoch is smaller

constexpr SparseCategoricalCrossentropy crossentropy{.from_logits = true};

/// Targets of `outputs` numbers in (0, 1), of which those of a sample have the sum 1.
template <class T>
auto dense_targets(std::size_t count, std::size_t outputs) {
  auto y = test::make_samples<T>(count, {outputs}, 2, 7).x;
  for (std::size_t i = 0; i < count; ++i) {
    T* const row = y.data() + i * outputs;
    T sum = 0;
    for (std::size_t j = 0; j < outputs; ++j) sum += row[j] = (row[j] + T(1.1)) / T(2.2);
    for (std::size_t j = 0; j < outputs; ++j) row[j] /= sum * T(1.01);
  }
  return y;
}

template <class T>
struct Result {
  std::vector<std::vector<T>> weights;
  std::uint64_t bits;
  History history;
  std::string placement;
};

/// Rows of batches, and where steps run.
struct Training {
  std::size_t batch = 5;
  std::size_t epochs = 3;
  DeviceOptions options{.fuse_steps = true};
};

template <class T, class Used = Strategy, class Architecture, class Optimizer, class Data, class Loss, class... Metrics>
Result<T> trained(Training const& training, Architecture const& architecture, Optimizer const& optimizer,
                  Data const& data, Loss const& loss, Metrics const&... metrics) {
  Used const strategy(training.options, test::device(1));
  auto model = compile<T>(strategy, architecture, optimizer, loss, metrics..., CompileOptions{.seed = 6});
  History history =
      fit(strategy, model, data.batch(GlobalBatch{training.batch}), {.epochs = training.epochs, .verbose = false});
  Result<T> result{{}, test::weight_bits(model), history, model.engine().placement()};
  for (auto const& name : model.weight_names()) {
    auto const values = model.weights(name);
    result.weights.emplace_back(values.data(), values.data() + values.size());
  }
  return result;
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

template <class T>
constexpr double tolerance = sizeof(T) == sizeof(double) ? 1e-12 : 1e-5;

template <class T>
void check_close(Result<T> const& fused, Result<T> const& expected) {
  BOOST_REQUIRE(fused.weights.size() == expected.weights.size());
  for (std::size_t i = 0; i < fused.weights.size(); ++i)
    BOOST_TEST(test::distance(fused.weights[i], expected.weights[i]) <= tolerance<T>);
  for (auto const& [name, values] : expected.history.values)
    BOOST_TEST(test::distance(fused.history[name], values) <= tolerance<T>, name << " differs");
}

template <class T>
using Numbers = Kokkos::View<T*, test::Device::memory_space>;

template <class T>
auto on_device(test::Device const& space, std::vector<T> const& values) {
  auto const view = make_view<Numbers<T>>(space, "values", values.size());
  copy_view(view, host_view(values.data(), values.size()));
  return view;
}

/// Gradients and sums of a pass over `rows` rows equal those of single kernels to rounding, and repeat to the bit.
template <class T, class Architecture, class Loss, class... Metrics>
void check_pass_of(std::size_t rows, Architecture const& architecture, Loss const& loss, Metrics const&... metrics) {
  using TrainedModel = Model<T, Architecture, SGD, Loss, Metrics...>;
  using L = typename TrainedModel::label;
  TrainedModel const model(architecture, SGD{}, loss, 6, metrics...);
  auto const space = test::device(1);
  SpaceContext<test::Device> context(space);
  StepFuser<TrainedModel, test::Device, SingleProcess> fuser;
  fuser.start(model, space);
  BOOST_REQUIRE(fuser.active());

  std::vector<T> weights(model.description().arena_elements());
  model.initialize(weights);
  for (auto const& weight : model.description().parameters)  // biases, too
    for (std::size_t i = 0; i < weight.size; ++i) weights[weight.offset + i] += static_cast<T>(i % 7) / 70;
  auto const drawn = test::make_samples<T>(rows, {model.input_size()}, test::classes);
  std::vector<L> targets;
  if constexpr (TrainedModel::class_labels) {
    for (std::int32_t const label : drawn.y) targets.push_back(label % static_cast<std::int32_t>(model.classes()));
  } else {
    auto const numbers = dense_targets<T>(rows, model.output_size());
    targets.assign(numbers.data(), numbers.data() + numbers.size());
  }
  auto const parameters = on_device(space, weights);
  auto const x = on_device(space, std::vector<T>(drawn.x.data(), drawn.x.data() + drawn.x.size()));
  auto const y = on_device(space, targets);
  auto const weight = on_device(space, drawn.weight);
  Slice<T, L> const slice{x.data(), y.data(), weight.data(), rows};
  auto const scales = reciprocals(model.positions(rows));

  auto const run = [&](auto const& pass) {
    auto const gradients = make_view<Numbers<T>>(space, "gradients", model.description().elements);
    auto const totals = make_view<Numbers<double>>(space, "totals", TrainedModel::totals_width, 1.0);
    pass(gradients.data(), totals.data());
    context.fence("pass");
    return std::pair(to_host(gradients), to_host(totals));
  };
  auto const fused = [&](T* gradients, double* totals) {
    fuser.train(context, model, slice, scales, parameters.data(), gradients, totals);
  };
  auto const workspace = make_view<Numbers<std::byte>>(
      space, "workspace", model.template workspace_bytes<SpaceContext<test::Device>>(rows));
  auto const expected = run([&](T* gradients, double* totals) {
    model.train(context, slice, scales, parameters.data(), gradients, workspace.data(), totals, StepKeys{},
                static_cast<GradientSink<T>*>(nullptr));
  });
  auto const first = run(fused), second = run(fused);
  BOOST_TEST(test::distance(first.first, expected.first) <= tolerance<T>, rows << " rows");
  BOOST_TEST(test::distance(first.second, expected.second) <= tolerance<T>, rows << " rows");
  BOOST_TEST((first == second));
}
/// The same for whole tiles and others.
template <class T, class... Arguments>
void check_pass(Arguments const&... arguments) {
  for (std::size_t const rows : {8u, 21u}) check_pass_of<T>(rows, arguments...);
}

/// Fused and not, to rounding; fused twice, to the bit.
template <class T = double, class Used = Strategy, class... Arguments>
void check_fused(Training const& training, Arguments const&... arguments) {
  auto const fused = trained<T, Used>(training, arguments...);
  BOOST_TEST(contains(fused.placement, ", steps fused"), fused.placement);
  auto const again = trained<T, Used>(training, arguments...);
  BOOST_TEST(fused.bits == again.bits);
  BOOST_TEST((fused.history.values == again.history.values));
  Training unfused = training;
  unfused.options = {};
  auto const expected = trained<T, Used>(unfused, arguments...);
  BOOST_TEST(!contains(expected.placement, "fused"), expected.placement);
  check_close(fused, expected);
}
/// Not fused, to the bit, and why.
template <class T = double, class... Arguments>
void check_not_fused(std::string const& why, Arguments const&... arguments) {
  auto const run = trained<T>(Training{}, arguments...);
  BOOST_TEST(contains(run.placement, ", steps not fused: " + why), run.placement);
  BOOST_TEST(run.bits == trained<T>(Training{.options = {}}, arguments...).bits);
}

constexpr char const* no_chain = "only those of a Sequential of Dense layers";

template <class T = double>
auto class_data(std::size_t count = samples) {
  auto all = test::mlp_samples<T>(count);
  return data::from_tensor_slices(std::move(all.x), std::move(all.y));
}
template <class T = double>
auto dense_data(std::size_t outputs, std::size_t count = samples) {
  return data::from_tensor_slices(test::mlp_samples<T>(count).x, dense_targets<T>(count, outputs));
}

template <class... Options>
auto network() {
  return Sequential{Input<inputs>{}, Dense<7, Options...>{}, Dense<5, Options...>{}, Dense<classes>{}};
}

/// A metric of more sums than a team adds up at once.
struct Wide {
  static constexpr FixedString name = "wide";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = 70;
  template <class T>
  KOKKOS_FUNCTION void update(T const* prediction, T const* target, std::size_t size, double weight,
                              double* state) const {
    for (std::size_t s = 0; s < state_size; ++s)
      state[s] += weight * static_cast<double>(s) * static_cast<double>(prediction[s % size] - target[s % size]);
  }
  double result(double const* state) const { return state[0]; }
};

/// An activation and a loss of a program's own.
struct Square {
  template <class N>
  KOKKOS_FUNCTION auto operator()(N x) const {
    return x * x + x;
  }
};
struct Quartic {
  template <class N, class Truth>
  KOKKOS_FUNCTION auto operator()(N prediction, Truth truth) const {
    auto const error = prediction - truth;
    return error * error * error * error;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(activations_equal_those_of_single_kernels) {
  auto const check = [](auto const& architecture) { check_pass<double>(architecture, crossentropy, Accuracy{}); };
  check(Sequential{Input<inputs>{}, Dense<7>{}, Dense<6, ReLU>{}, Dense<5, Tanh>{}, Dense<7, Sigmoid>{},
                   Dense<6, SiLU>{}, Dense<classes>{}});
  check(Sequential{Input<inputs>{}, Dense<7, GELU>{.activation = {.approximate = true}}, Dense<6, ELU>{},
                   Dense<5, LeakyReLU>{}, Dense<7, Softplus>{}, Dense<6, Elementwise<Square>>{}, Dense<classes>{}});
}

BOOST_AUTO_TEST_CASE(losses_equal_those_of_single_kernels) {
  Sequential const regression{Input<inputs>{}, Dense<11, Tanh>{}, Dense<3>{}};
  Sequential const positive{Input<inputs>{}, Dense<11, Tanh>{}, Dense<3, Sigmoid>{}};
  Sequential const probabilities{Input<inputs>{}, Dense<11, Tanh>{}, Dense<3, Softmax>{}};
  Sequential const separate{Input<inputs>{}, Dense<11>{}, Tanh{}, Dense<3>{}, Softmax{}};
  auto const check = [](auto const&... arguments) { check_pass<double>(arguments...); };
  check(regression, MeanSquaredError{}, metrics::MeanAbsoluteError{});
  check(regression, MeanSquaredError{}, Wide{});
  check(positive, MeanSquaredError{});
  check(regression, MeanAbsoluteError{});
  check(regression, Huber{.delta = 0.2});
  check(regression, LogCosh{});
  check(regression, CosineSimilarity{});
  check(regression, Hinge{});
  check(regression, ElementwiseLoss{Quartic{}});
  check(positive, Poisson{});
  check(positive, KLDivergence{});
  check(regression, BinaryCrossentropy{.from_logits = true});
  check(positive, BinaryCrossentropy{.label_smoothing = 0.1}, BinaryAccuracy{}, metrics::MeanSquaredError{});
  check(regression, CategoricalCrossentropy{.from_logits = true}, Accuracy{});
  check(probabilities, CategoricalCrossentropy{}, Accuracy{}, metrics::CategoricalCrossentropy{});
  check(separate, CategoricalCrossentropy{}, Accuracy{}, metrics::CategoricalCrossentropy{});
  check(positive, SparseCategoricalCrossentropy{}, Accuracy{});
}

BOOST_AUTO_TEST_CASE(networks_of_any_width_and_depth_equal_those_of_single_kernels) {
  auto const check = [](auto const& architecture) {
    check_pass<double>(architecture, MeanSquaredError{});
    check_pass<float>(architecture, MeanSquaredError{});
  };
  check(Sequential{Input<inputs>{}, Dense<classes>{}});
  check(Sequential{Input<1>{}, Dense<1, Tanh>{}, Dense<1, NoBias>{}});
  check(Sequential{Input<inputs>{}, Dense<37, Tanh, NoBias>{}, Dense<33, SiLU>{}, Dense<32, Tanh>{}, Dense<classes>{}});
  check(Sequential{Input<inputs>{}, Dense<dynamic, Tanh>{.units = 13}, Dense<5>{}, Tanh{}, Dense<6, SiLU>{},
                   Dense<7, Sigmoid>{}, Dense<8, Tanh>{}, Dense<9, GELU>{}, Dense<dynamic>{.units = classes}});
  check(Sequential{test::law::input(), Flatten{}, Reshape<60>{}, Dense<40, Tanh>{}, Dense<classes>{}});
}

BOOST_AUTO_TEST_CASE(batches_of_any_size_equal_those_of_single_kernels) {
  Sequential const small{Input<inputs>{}, Dense<5, Tanh>{}, Dense<3>{}};
  // Tiles of 4, 8 and 16 rows, and several of them a team; last tiles of few rows.
  for (std::size_t const rows : {1u, 3u, 4u, 67u, 512u, 600u, 1025u, 1500u, 2100u, 4200u})
    check_pass_of<double>(rows, small, MeanSquaredError{});
}

BOOST_AUTO_TEST_CASE(weights_of_samples_and_ignored_labels_count_as_in_single_kernels) {
  auto const all = test::mlp_samples<double>(samples);
  check_fused({}, network<Tanh>(), Adam{.learning_rate = 0.03}, all.weighted_data(), crossentropy, Accuracy{},
              Weighted{Accuracy{}});
  check_fused({}, network<Tanh>(), Adam{.learning_rate = 0.03}, all.data(),
              SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 1}, test::Margin{});
}

BOOST_AUTO_TEST_CASE(optimizers_penalties_and_clipping_equal_those_of_single_kernels) {
  auto const check = [](auto const& architecture, auto const& optimizer) {
    check_fused({}, architecture, optimizer, class_data(), crossentropy);
  };
  Sequential const penalized{Input<inputs>{}, Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)},
                             Dense<classes>{.bias_regularizer = L1(1e-3)}};
  check(network<Tanh>(), Adam{.learning_rate = 0.03, .amsgrad = true});
  check(network<Tanh>(), Adam{.learning_rate = 0.03, .global_clipnorm = 0.1});
  check(network<Tanh>(), Lamb{.learning_rate = 0.03});
  check(penalized, Adam{.learning_rate = 0.03});
}

BOOST_AUTO_TEST_CASE(training_in_float_equals_that_of_single_kernels) {
  check_fused<float>({.batch = 7}, network<Tanh>(), SGD{.learning_rate = 0.1, .momentum = 0.9}, class_data<float>(),
                     crossentropy, Accuracy{});
  check_fused<float>({}, network<SiLU>(), Adam{.learning_rate = 0.03}, dense_data<float>(classes), MeanSquaredError{});
}

BOOST_AUTO_TEST_CASE(accumulated_pieces_equal_those_of_single_kernels) {
  check_fused<double, Accumulate<Strategy, 2>>({}, network<Tanh>(), Adam{.learning_rate = 0.03}, class_data(),
                                               crossentropy, Accuracy{});
}

BOOST_AUTO_TEST_CASE(gradients_equal_finite_differences) {
  auto const data = dense_data(3, 11).batch(GlobalBatch{11});
  Strategy const strategy({.fuse_steps = true}, test::device(1));
  auto model = compile<double>(strategy, Sequential{Input<inputs>{}, Dense<5, SiLU>{}, Dense<4, Tanh>{}, Dense<3>{}},
                               SGD{.learning_rate = 1.0}, MeanSquaredError{});
  auto const loss = [&] { return evaluate(strategy, model, data).begin()->value.value(); };
  std::vector<std::string> const names = model.weight_names();
  std::vector<xt::xarray<double>> before;
  for (auto const& name : names) before.emplace_back(model.weights(name));
  fit(strategy, model, data, {.epochs = 1, .verbose = false});
  std::vector<xt::xarray<double>> gradients;
  for (std::size_t i = 0; i < names.size(); ++i) gradients.emplace_back(before[i] - model.weights(names[i]));
  for (std::size_t i = 0; i < names.size(); ++i) model.set_weights(names[i], before[i]);
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t e = 0; e < before[i].size(); ++e) {
      auto const at = [&](double shift) {
        auto values = before[i];
        values.data()[e] += shift;
        model.set_weights(names[i], values);
        return loss();
      };
      double const expected = (at(h) - at(-h)) / (2 * h);
      model.set_weights(names[i], before[i]);
      BOOST_TEST(std::abs(gradients[i].data()[e] - expected) <= 1e-9, names[i] << " at " << e);
    }
}

BOOST_AUTO_TEST_CASE(recorded_fused_steps_have_the_bits_of_fused_ones) {
  auto const run = [](bool record, auto const& optimizer) {
    Training const training{.epochs = 5, .options = {.record_steps = record, .fuse_steps = true}};
    return trained<double>(training, network<Tanh>(), optimizer, class_data(), crossentropy, Accuracy{});
  };
  auto const check = [&](auto const& optimizer) {
    auto const recorded = run(true, optimizer), expected = run(false, optimizer);
    BOOST_TEST(contains(recorded.placement, ", steps fused, steps recorded"), recorded.placement);
    BOOST_TEST(recorded.bits == expected.bits);
    BOOST_TEST((recorded.history.values == expected.history.values));
  };
  check(Adam{.learning_rate = 0.03});
  check(Adam{.learning_rate = 0.03, .global_clipnorm = 0.1});
}

BOOST_AUTO_TEST_CASE(a_run_that_was_killed_goes_on_to_the_bit) {
  constexpr char const* run_file = "fused_run.npz";
  auto const killed_after = [&](std::size_t steps) {
    return test::unless_killed([&] {
      Strategy const strategy({.fuse_steps = true}, test::device(1));
      auto model = compile<double>(strategy, network<Tanh>(), Adam{.learning_rate = 0.03}, crossentropy, Accuracy{});
      History history = fit(strategy, model, class_data().batch(GlobalBatch{batch}), {.epochs = 5, .verbose = false},
                            test::Killer{steps}, BackupAndRestore{.path = run_file, .save_freq = std::size_t{2}});
      return std::pair(test::weight_bits(model), history);
    });
  };
  std::filesystem::remove(run_file);
  auto const expected = killed_after(test::never);
  BOOST_TEST(!killed_after(13).has_value());
  auto const resumed = killed_after(test::never);
  BOOST_REQUIRE(resumed.has_value());
  BOOST_TEST(resumed->first == expected->first);
  BOOST_TEST((resumed->second.values == expected->second.values));
}

BOOST_AUTO_TEST_CASE(other_models_run_as_before_and_the_placement_says_why) {
  auto const check = [](std::string const& why, auto const& architecture) {
    check_not_fused(why, architecture, SGD{}, class_data(), crossentropy);
  };
  check(no_chain, test::mlp());  // Dropout
  check(no_chain, Sequential{Input<inputs>{}, Dense<5, Softmax>{}, Dense<classes>{}});
  check(no_chain, Sequential{Input<inputs>{}, Dense<5, Tanh>{}, SiLU{}, Dense<classes>{}});
  check(no_chain, Sequential{Input<inputs>{}, Tanh{}, Dense<classes>{}});
  check(no_chain, Sequential{Input<inputs>{}, Sequential{Dense<5, Tanh>{}}, Dense<classes>{}});
}

BOOST_AUTO_TEST_CASE(layers_over_several_vectors_are_not_fused) {
  Strategy const strategy({.fuse_steps = true}, test::device(1));
  auto const model =
      compile<double>(strategy, Sequential{Input<2, 3>{}, Dense<5, Tanh>{}, Dense<3>{}}, SGD{}, MeanSquaredError{});
  BOOST_TEST(
      contains(model.engine().placement(), ", steps not fused: a Dense layer takes more than one vector of a sample"));
}

BOOST_AUTO_TEST_CASE(weights_that_exceed_the_scratch_memory_are_not_fused) {
  check_not_fused("weights and activations take ",
                  Sequential{Input<inputs>{}, Dense<400, Tanh>{}, Dense<300, Tanh>{}, Dense<classes>{}}, SGD{},
                  class_data(), crossentropy);
}

BOOST_AUTO_TEST_CASE(memory_of_teams_is_counted_from_no_rows_on) {
  auto const bytes = [](bool fuse, std::size_t rows) {
    Strategy const strategy({.fuse_steps = fuse}, test::device(1));
    auto const model = compile<double>(strategy, network<Tanh>(), Adam{}, crossentropy);
    return model.engine().memory_use(rows).workspace_bytes;
  };
  BOOST_TEST(bytes(true, 0) >= bytes(false, 0));
  BOOST_TEST(bytes(true, 100) > bytes(false, 100));
}

BOOST_AUTO_TEST_CASE(mixed_precision_is_not_fused) {
  Strategy const strategy({.fuse_steps = true}, test::device(1));
  auto const model = compile<Mixed<BFloat16>>(strategy, network<Tanh>(), Adam{}, crossentropy);
  BOOST_TEST(contains(model.engine().placement(), std::string(", steps not fused: ") + no_chain));
}

BOOST_AUTO_TEST_CASE(hosts_fuse_nothing) {
  OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace> const strategy({.fuse_steps = true});
  auto const model = compile<double>(strategy, network<Tanh>(), Adam{}, crossentropy);
  BOOST_TEST(contains(model.engine().placement(), std::string(", steps not fused: ") + no_chain));
}

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
BOOST_AUTO_TEST_CASE(a_fused_step_is_two_launches) {
  auto const calls = [](DeviceOptions const& options, std::size_t batches) {
    Strategy const strategy(options, test::device(1));
    auto model = compile<double>(strategy, network<Tanh>(), Adam{}, crossentropy, Accuracy{});
    auto const data = class_data(batches * batch).batch(GlobalBatch{batch});
    fit(strategy, model, data, {.epochs = 1, .verbose = false});
    test::twin::HostCalls const before = test::twin::state().calls;
    fit(strategy, model, data, {.epochs = 1, .verbose = false});
    test::twin::HostCalls const after = test::twin::state().calls;
    return std::array{after.kernels - before.kernels, after.copies - before.copies, after.replays - before.replays};
  };
  DeviceOptions const fused{.fuse_steps = true}, recorded{.record_steps = true, .fuse_steps = true};
  auto const few = calls(fused, 16), many = calls(fused, 64);
  BOOST_TEST(many[0] - few[0] == 2u * 48u);
  BOOST_TEST(many[1] - few[1] == 48u);
  auto const few_recorded = calls(recorded, 16), many_recorded = calls(recorded, 64);
  BOOST_TEST(many_recorded[0] - few_recorded[0] == 0u);
  BOOST_TEST(many_recorded[2] - few_recorded[2] == 48u);
}
#endif
