// Steps of a device that are recorded once and launched as a whole have the bits of steps that are not.
#define BOOST_TEST_MODULE device_recorded_steps
#include "support/device.hpp"

#include "support/twin_graph.hpp"

#include "../../examples/extending/parts.hpp"
#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/lamb.hpp"
#include "trireme/schedules/cosine_decay.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

using Strategy = OneDeviceStrategy<test::Device>;

constexpr std::size_t samples = 22, batch = 5;  // the last batch of an epoch is smaller

struct Result {
  std::uint64_t weights;
  History history;
  std::string placement;
  std::size_t replays;  ///< as the device in software counts them
};

/// Sets the rate and weights in the midst of an epoch.
struct Meddler {
  std::string weight;
  std::size_t batches = 0;
  template <class Run>
  void on_train_batch_begin(Run& run) {
    if (++batches % 4 == 0) run.set_learning_rate(run.learning_rate().value() * 0.7);
    if (batches == 11) {
      auto values = run.model().weights(weight);
      values *= 1.5;
      run.model().set_weights(weight, values);
    }
  }
};

template <class Loss, class Metric>
struct Scores {
  Loss loss;
  Metric metric;
};

/// Five epochs with validation on larger batches, from the second epoch on with memory in other places.
template <class Used = Strategy, class P = double, class Architecture, class Optimizer, class Loss, class Metric,
          class... Callbacks>
Result trained(bool record, Architecture const& architecture, Optimizer const& optimizer,
               Scores<Loss, Metric> const& scores, std::vector<std::size_t> const& extents, Callbacks&&... callbacks) {
  auto const train = test::make_samples<double>(samples, extents, test::classes),
             tests = test::make_samples<double>(9, extents, test::classes, 2);
  std::size_t const before = test::replays();
  Used const strategy(DeviceOptions{.record_steps = record}, test::device(1));
  auto model = compile<P>(strategy, architecture, optimizer, scores.loss, scores.metric, CompileOptions{.seed = 6});
  History history = fit(strategy, model, train.data().shuffle(samples, 4).batch(GlobalBatch{batch}),
                        validation(tests.data().batch(GlobalBatch{9})), {.epochs = 5, .verbose = false},
                        std::forward<Callbacks>(callbacks)...);
  return {test::weight_bits(model), history, model.engine().placement(), test::replays() - before};
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

constexpr SparseCategoricalCrossentropy crossentropy{.from_logits = true};
constexpr Scores<SparseCategoricalCrossentropy, Accuracy> on_logits{crossentropy, {}};
std::vector<std::size_t> const mlp_extents{test::mlp_inputs},
    cnn_extents{test::cnn_inputs.begin(), test::cnn_inputs.end()};

/// Recorded and not, to the bit. \return the recorded run
template <class Used = Strategy, class P = double, class Architecture, class Optimizer, class Scores,
          class... Callbacks>
Result check_same(Architecture const& architecture, Optimizer const& optimizer, Scores const& scores,
                  std::vector<std::size_t> const& extents, Callbacks const&... callbacks) {
  auto const run = [&](bool record) {
    return trained<Used, P>(record, architecture, optimizer, scores, extents, Callbacks(callbacks)...);
  };
  auto const recorded = run(true), expected = run(false);
  BOOST_TEST(recorded.weights == expected.weights);
  BOOST_TEST((recorded.history.values == expected.history.values));
  BOOST_TEST(!contains(expected.placement, "recorded"));
  BOOST_TEST(expected.replays == 0u);
  return recorded;
}
template <class P = double, class... Arguments>
void check_recorded(Arguments const&... arguments) {
  Result const run = check_same<Strategy, P>(arguments...);
  BOOST_TEST(contains(run.placement, ", steps recorded"), run.placement);
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
  // Five an epoch; those of the first two find memory in new places.
  BOOST_TEST(run.replays >= 5 * (run.history.epochs.size() - 2));
#endif
}
template <class Used = Strategy, class... Arguments>
void check_not_recorded(std::string const& why, Arguments const&... arguments) {
  Result const run = check_same<Used>(arguments...);
  BOOST_TEST(contains(run.placement, ", steps not recorded: " + why), run.placement);
  BOOST_TEST(run.replays == 0u);
}

using Numbers = Kokkos::View<double*, test::Device::memory_space>;

using Integers = Kokkos::View<std::uint64_t*, test::Device::memory_space>;

struct StoreStep {
  StepNumber step;
  std::uint64_t* to;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { to[i] = step + i; }
};

/// Waits for all devices. False: the wait has failed.
bool wait_in_another_thread() {
  bool waited = false;
  std::thread([&] {
    try {
      Kokkos::fence("in another thread");
      waited = true;
    } catch (std::exception const&) {
    }
  }).join();
  return waited;
}

struct AddHeld {
  double* to;
  double held;
  double const* stored;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { to[i] += held + *stored; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_recording_keeps_what_functors_hold_and_reads_memory_anew) {
  auto const space = test::device(1);
  SpaceContext<test::Device> const context(space);
  auto const sums = make_view<Numbers>(space, "sums", 3), stored = make_view<Numbers>(space, "stored", 1, 10.0);
  double held = 1;
  RecordedWork<test::Device> const work(space, [&] {
    context.for_each("add", 3, AddHeld{sums.data(), held, stored.data()});
    context.for_each("add", 2, AddHeld{sums.data(), held, stored.data()});
  });
  BOOST_TEST(to_host(sums) == std::vector<double>({0, 0, 0}), boost::test_tools::per_element());
  work.launch();
  context.fence("first");
  BOOST_TEST(to_host(sums) == std::vector<double>({22, 22, 11}), boost::test_tools::per_element());
  held = 1000;
  fill_view(space, stored, 20.0);
  work.launch();
  work.launch();
  context.fence("others");
  BOOST_TEST(to_host(sums) == std::vector<double>({106, 106, 53}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_kernel_that_holds_a_step_number_reads_that_of_each_launch) {
  auto const space = test::device(1);
  SpaceContext<test::Device> const context(space);
  auto const number = make_view<Integers>(space, "number", 1), stored = make_view<Integers>(space, "stored", 2);
  StepStreams streams;
  StepNumber const step(5, number.data(), streams);
  RecordedWork<test::Device> const work(space,
                                        [&] { context.for_each("store_step", 2, StoreStep{step, stored.data()}); });
  for (std::uint64_t const now : {6u, 7u, 9u}) {
    fill_view(space, number, now);
    work.launch();
    context.fence("launched");
    BOOST_TEST(to_host(stored) == std::vector<std::uint64_t>({now, now + 1}), boost::test_tools::per_element());
  }
  BOOST_TEST(!streams.read_on_host());
}

BOOST_AUTO_TEST_CASE(a_step_number_of_its_own_is_a_number_in_kernels) {
  auto const space = test::device(1);
  SpaceContext<test::Device> const context(space);
  auto const stored = make_view<Integers>(space, "stored", 2);
  context.for_each("store_step", 2, StoreStep{5, stored.data()});
  context.fence("stored");
  BOOST_TEST(to_host(stored) == std::vector<std::uint64_t>({5, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_recorded_throws_and_nothing_has_run) {
  auto const space = test::device(1);
  SpaceContext<test::Device> const context(space);
  auto const sums = make_view<Numbers>(space, "sums", 3), stored = make_view<Numbers>(space, "stored", 1, 10.0);
  auto const add = [&] { context.for_each("add", 3, AddHeld{sums.data(), 1, stored.data()}); };
  auto const check = [&](auto const& impossible) {
    BOOST_CHECK_THROW((RecordedWork<test::Device>(space,
                                                  [&] {
                                                    add();
                                                    impossible();
                                                  })),
                      std::exception);
    BOOST_TEST(to_host(sums) == std::vector<double>({0, 0, 0}), boost::test_tools::per_element());
  };
  add();  // for its launch to need nothing anew
  context.fence("first");
  fill_view(space, sums, 0);
  check([&] { context.fence("within a recording"); });
  check([&] { static_cast<void>(uninitialized_view<Numbers>(space, "within a recording", 1 << 20)); });
  check([&] { throw ValueError("within a recording"); });
  add();
  context.fence("as before");
  BOOST_TEST(to_host(sums) == std::vector<double>({11, 11, 11}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_wait_for_all_devices_in_another_thread_fails_and_ends_a_recording) {
  auto const space = test::device(1);
  SpaceContext<test::Device> const context(space);
  auto const sums = make_view<Numbers>(space, "sums", 3), stored = make_view<Numbers>(space, "stored", 1, 10.0);
  auto const add = [&] { context.for_each("add", 3, AddHeld{sums.data(), 1, stored.data()}); };
  add();
  context.fence("first");
  fill_view(space, sums, 0);
  bool waited = false;
  BOOST_CHECK_THROW((RecordedWork<test::Device>(space,
                                                [&] {
                                                  add();
                                                  waited = wait_in_another_thread();
                                                })),
                    std::exception);
  BOOST_TEST(!waited);
  BOOST_TEST(to_host(sums) == std::vector<double>({0, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST(wait_in_another_thread());
  RecordedWork<test::Device> const work(space, add);
  work.launch();
  context.fence("launched");
  BOOST_TEST(to_host(sums) == std::vector<double>({11, 11, 11}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_perceptron_with_a_schedule_and_dropout_has_the_same_bits) {
  check_recorded(
      test::law::perceptron(),
      Adam{.learning_rate =
               CosineDecay{.initial_learning_rate = 0.05, .decay_steps = 30, .warmup_target = 0.1, .warmup_steps = 4}},
      on_logits, cnn_extents);
  check_recorded(test::mlp(), Adam{.learning_rate = 0.03, .amsgrad = true, .global_clipnorm = 0.5}, on_logits,
                 mlp_extents);
}

BOOST_AUTO_TEST_CASE(a_rule_of_whole_tensors_has_the_same_bits) {
  check_recorded(test::mlp(), Lamb{.learning_rate = CosineDecay{.initial_learning_rate = 0.05, .decay_steps = 30}},
                 on_logits, mlp_extents);
}

BOOST_AUTO_TEST_CASE(networks_have_the_same_bits) {
  check_recorded(test::law::convolutional(), SGD{.learning_rate = 0.05, .momentum = 0.9}, on_logits, cnn_extents);
  check_recorded(test::law::normalized(BatchNormalization<>{.momentum = 0.8}), Adam{}, on_logits, cnn_extents);
  check_recorded(test::law::recurrent(), Adam{}, on_logits, cnn_extents);
  check_recorded(test::law::transformer(), Adam{}, on_logits, cnn_extents);
}

BOOST_AUTO_TEST_CASE(networks_in_mixed_precision_have_the_same_bits) {
  using Rounded = Mixed<BFloat16, double>;
  check_recorded<Rounded>(test::mlp(), Adam{.learning_rate = 0.03}, on_logits, mlp_extents, Meddler{"dense/kernel"});
  check_recorded<Rounded>(test::law::normalized(BatchNormalization<>{.momentum = 0.8}), Adam{}, on_logits, cnn_extents);
  check_recorded<Rounded>(test::law::transformer(), Adam{}, on_logits, cnn_extents);
}

BOOST_AUTO_TEST_CASE(rates_and_weights_that_callbacks_set_count_from_the_next_step) {
  check_recorded(test::mlp(), Adam{.learning_rate = 0.03}, on_logits, mlp_extents, Meddler{"dense/kernel"},
                 EarlyStopping<"val_loss">{.patience = 1, .restore_best_weights = true});
}

BOOST_AUTO_TEST_CASE(a_run_that_was_killed_goes_on_to_the_bit_recorded_or_not) {
  constexpr char const* run_file = "run.npz";
  auto const killed_after = [&](std::size_t steps, bool record) {
    return test::unless_killed([&] {
      return trained(record, test::mlp(), Adam{.learning_rate = 0.03}, on_logits, mlp_extents, test::Killer{steps},
                     BackupAndRestore{.path = run_file, .save_freq = std::size_t{2}});
    });
  };
  std::filesystem::remove(run_file);
  auto const expected = killed_after(test::never, false);
  for (bool const first : {true, false}) {
    BOOST_TEST(!killed_after(13, first).has_value());
    auto const resumed = killed_after(test::never, !first);
    BOOST_REQUIRE(resumed.has_value());
    BOOST_TEST(resumed->weights == expected->weights);
    BOOST_TEST((resumed->history.values == expected->history.values));
  }
}

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
BOOST_AUTO_TEST_CASE(a_recorded_step_is_a_copy_and_a_launch) {
  auto const calls = [](std::size_t batches) {
    auto const train = test::mlp_samples<double>(batches * batch);
    Strategy const strategy({.record_steps = true}, test::device(1));
    auto model = compile<double>(strategy, test::mlp(), Adam{}, crossentropy);
    auto const data = train.data().shuffle(100, 3).batch(GlobalBatch{batch});
    fit(strategy, model, data, {.epochs = 1, .verbose = false});
    test::twin::HostCalls const before = test::twin::state().calls;
    fit(strategy, model, data, {.epochs = 1, .verbose = false});
    test::twin::HostCalls const after = test::twin::state().calls;
    return std::array{after.kernels - before.kernels, after.copies - before.copies, after.replays - before.replays};
  };
  auto const few = calls(16), many = calls(64);
  BOOST_TEST(many[0] - few[0] == 0u);
  BOOST_TEST(many[1] - few[1] == 48u);
  BOOST_TEST(few[2] == 16u);
  BOOST_TEST(many[2] == 64u);
}
#endif

namespace {

/// Base of layers that add to their inputs: gradients pass through.
struct AddsToInputs {
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) kernels::copy(context, b.rows * in.size(), static_cast<T const*>(b.dy), b.dx);
  }
};

/// Noise from a stream within its kernel, of which the recorder does not know.
struct StalePerturbation : AddsToInputs {
  static constexpr std::string_view class_name = "StalePerturbation";
  double deviation = 0.1;
  LayerName name{};

  void config(Config& c) const { c("deviation", deviation, intervals::positive); }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if (!f.training) return kernels::copy(context, f.rows * in.size(), f.x, f.y);
    RowStream const stream(f.keys.seed, f.keys.layer, f.keys.step.unnoted(), f.keys.micro_step, Purpose::noise);
    context.for_each("stale_perturbation", f.rows, in.size(),
                     kernels::AddNoise<T>{stream, f.keys.first_row, in.size(), deviation, f.x, f.y});
  }
};

/// The kernel of StepShift, which holds the keys as they are.
template <class T>
struct AddStep {
  StepKeys keys;
  std::size_t columns;
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::uint64_t const row = keys.first_row + i / columns;
    y[i] = x[i] + static_cast<T>((keys.step + row) % 7) / 16;
  }
};

/// A shift that differs from step to step, which its kernel alone works out.
struct StepShift : AddsToInputs {
  static constexpr std::string_view class_name = "StepShift";
  LayerName name{};

  void config(Config&) const {}
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    context.for_each("step_shift", f.rows * in.size(), AddStep<T>{f.keys, in.size(), f.x, f.y});
  }
};

/// Another thread waits for all devices while its forward pass is enqueued.
struct WaitsElsewhere : AddsToInputs {
  static constexpr std::string_view class_name = "WaitsElsewhere";
  LayerName name{};

  void config(Config&) const {}
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    wait_in_another_thread();
    kernels::copy(context, f.rows * in.size(), static_cast<T const*>(f.x), f.y);
  }
};

template <class Layer>
auto with(Layer const& layer) {
  return Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{}, layer, Dense<test::classes>{}};
}

/// A metric as large as its table: it counts predictions.
template <std::size_t Numbers>
struct Table {
  static constexpr FixedString name = "table";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = 2;
  double numbers[Numbers] = {3.0, 4.0};
  template <class T>
  KOKKOS_FUNCTION void update(T const*, std::int32_t const* target, std::size_t, double weight, double* state) const {
    state[0] += weight * numbers[*target % 2];
    state[1] += weight;
  }
  double result(double const* state) const { return state[1] > 0 ? state[0] / state[1] : 0; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_stale_stream_changes_the_bits) {
  auto const run = [&](bool record) {
    return trained(record, with(StalePerturbation{}), Adam{}, on_logits, mlp_extents).weights;
  };
  BOOST_TEST(run(true) != run(false));
}

BOOST_AUTO_TEST_CASE(a_layer_whose_kernel_holds_the_keys_has_the_same_bits) {
  check_recorded(with(StepShift{}), Adam{.learning_rate = 0.03}, on_logits, mlp_extents);
}

BOOST_AUTO_TEST_CASE(accumulate_takes_its_pieces_unrecorded) {
  check_not_recorded<Accumulate<Strategy, 2>>("Accumulate takes them in pieces", test::mlp(),
                                              Adam{.learning_rate = 0.03}, on_logits, mlp_extents);
}

BOOST_AUTO_TEST_CASE(steps_that_cannot_be_recorded_run_as_before_and_the_placement_says_why) {
  check_not_recorded("a layer reads the step's number on the host", with(extending::MultiplicativeNoise{}), Adam{},
                     on_logits, mlp_extents);
  check_not_recorded("statistics of the global batch pass through the host",
                     test::law::normalized(SyncBatchNormalization{}), Adam{}, on_logits, cnn_extents);
  check_not_recorded("the loss leaves positions out", test::mlp(), Adam{},
                     Scores{SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 1}, Accuracy{}},
                     mlp_extents);
  // The sentence is that of the device.
  check_not_recorded("", with(WaitsElsewhere{}), Adam{}, on_logits, mlp_extents);
  check_not_recorded("a kernel's functor is larger", test::mlp(), Adam{}, Scores{crossentropy, Table<500>{}},
                     mlp_extents);
}

BOOST_AUTO_TEST_CASE(gradients_of_tables_keep_steps_from_being_recorded) {
  xt::xarray<double> words = xt::zeros<double>({samples, std::size_t{3}});
  for (std::size_t i = 0; i < words.size(); ++i) words.data()[i] = static_cast<double>(i * i % 7);
  auto const labels = test::mlp_samples<double>(samples).y;
  auto const run = [&](bool record) {
    Strategy const strategy({.record_steps = record}, test::device(1));
    auto model = compile<double>(
        strategy, Sequential{Input<3>{}, Embedding<7, 4>{.sparse_from = 1}, Flatten{}, Dense<test::classes>{}}, Adam{},
        crossentropy);
    fit(strategy, model, data::from_tensor_slices(words, labels).batch(GlobalBatch{batch}),
        {.epochs = 2, .verbose = false});
    return std::pair(test::weight_bits(model), model.engine().placement());
  };
  auto const recorded = run(true);
  BOOST_TEST(recorded.first == run(false).first);
  BOOST_TEST(contains(recorded.second, ", steps not recorded: gradients of tables pass through the host"));
}

BOOST_AUTO_TEST_CASE(functors_of_some_size_are_recorded) {
  check_recorded(test::mlp(), Adam{}, Scores{crossentropy, Table<100>{}}, mlp_extents);
}

BOOST_AUTO_TEST_CASE(hosts_record_nothing) {
  OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace> const strategy({.record_steps = true});
  auto const model = compile<double>(strategy, test::mlp(), Adam{}, crossentropy);
  BOOST_TEST(contains(model.engine().placement(), ", steps not recorded: only those of models of layers"));
}
