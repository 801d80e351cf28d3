// ranks: 1 2 3   labels: law
// Law 1 for a model that is not made of layers and has states and frozen weights behind its parameters.
#define BOOST_TEST_MODULE own_model_states
#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/own_model.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

Communicator const& world() { return test::environment().world(); }

/// Weights and phases of the waves: three lines of the arena, the last one not full.
constexpr std::size_t waves = 21;
/// In the arena: weights of the waves, the moving means of x and of its square, phases and a frequency.
constexpr std::size_t means = waves, phases = means + 2, frequency = phases + waves, numbers = frequency + 1;

KOKKOS_FUNCTION double wave(double const* p, std::size_t k, double x) {
  double const centred = (x - p[means]) / Kokkos::sqrt(1 + p[means + 1]);
  return Kokkos::cos(static_cast<double>(k + 1) * p[frequency] * centred + p[phases + k]);
}

struct Sum {
  double const* p;
  double const* x;
  double* y;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    y[i] = 0;
    for (std::size_t k = 0; k < waves; ++k) y[i] += p[k] * wave(p, k, x[i]);
  }
};

/// The gradient of a weight, or the slice's summand of a mean of the batch.
struct GradientsAndMeans {
  std::size_t rows;
  double share;
  double const* p;
  double const* x;
  double const* dy;
  double* gradients;
  KOKKOS_FUNCTION void operator()(std::size_t k) const {
    gradients[k] = 0;
    for (std::size_t i = 0; i < rows; ++i)
      gradients[k] += k < waves ? dy[i] * wave(p, k, x[i]) : share * (k == means ? x[i] : x[i] * x[i]);
  }
};

/// A sum of waves, y(x) = sum over k of w_k cos((k + 1) f (x - m) / sqrt(1 + s) + phase_k): w is trained, m and s are
/// states, frequency and phases are frozen.
class Waves : public OwnModel<double, Adam, MeanSquaredError, metrics::MeanAbsoluteError> {
 public:
  Waves()
      : OwnModel({.name = "waves", .parameters = {{"weights", waves}}}, Adam{.learning_rate = 0.02}, MeanSquaredError{},
                 0, metrics::MeanAbsoluteError{}) {
    ModelDescription description = OwnModel::description();
    description.states = {{{"waves/mean", 0, Shape{1}, means, 1}, 0.0, 0.9},
                          {{"waves/square", 0, Shape{1}, means + 1, 1}, 1.0, 0.8}};
    description.state_elements = 2;
    description.frozen = {{{"waves/phases", 0, Shape{waves}, phases, waves}, {}, false},
                          {{"waves/frequency", 0, Shape{1}, frequency, 1}, {}, false}};
    description.frozen_elements = waves + 1;
    description.layers[0].parameters = numbers;
    description_ = std::make_shared<ModelDescription const>(std::move(description));
  }

  ModelDescription const& description() const { return *description_; }

  static void initialize(std::span<double> arena) {
    std::fill(arena.begin(), arena.end(), 0.1);
    arena[means] = 0, arena[means + 1] = 1, arena[frequency] = 0.4;
    for (std::size_t k = 0; k < waves; ++k) arena[phases + k] = 0.3 * static_cast<double>(k);
  }

  template <class Context>
  std::size_t workspace_bytes(std::size_t rows) const {
    return 2 * aligned_bytes(rows * sizeof(double));
  }

  template <class Context>
  void train(Context& context, Slice<double, double> const& slice, PerOutput<1> const& scales, double const* p,
             double* gradients, std::byte* memory, double* totals, StepKeys const& keys, GradientSink<double>*) const {
    Workspace workspace(memory);
    auto* const y = workspace.take<double>(slice.rows);
    auto* const dy = workspace.take<double>(slice.rows);
    predict(context, slice.rows, slice.x.block(), y, p, memory);
    score(context, slice, y, scales, dy, totals);
    context.for_rows(
        "waves::gradients", means + 2,
        GradientsAndMeans{slice.rows, 1.0 / static_cast<double>(keys.global_rows), p, slice.x.block(), dy, gradients});
  }

  template <class Context>
  void test(Context& context, Slice<double, double> const& slice, double const* p, std::byte* memory,
            double* totals) const {
    auto* const y = Workspace(memory).take<double>(slice.rows);
    predict(context, slice.rows, slice.x.block(), y, p, memory);
    score(context, slice, y, {}, nullptr, totals);
  }

  template <class Context>
  void predict(Context& context, std::size_t rows, double const* x, double* y, double const* p, std::byte*) const {
    context.for_rows("waves::sum", rows, Sum{p, x, y});
  }

 private:
  std::shared_ptr<ModelDescription const> description_;
};

/// The same in memory of the application's.
class WavesInView : public Waves {
 public:
  using View = Kokkos::View<double*, Space::memory_space>;
  WavesInView() {
    std::vector<double> first(numbers);
    initialize(first);
    copy_view(view_, host_view(first));
  }
  View parameter_view() const { return view_; }

 private:
  View view_{"waves", numbers};
};

/// 21 samples: the last one of batches of 8 has 5, uneven over 2 and 3 ranks; of batches of 4 it has 1.
auto samples(std::size_t batch = 8) {
  static auto const x = [] {
    std::vector<double> values(21);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5 + 0.17 * static_cast<double>(i);
    return values;
  }();
  static auto const y = [] {
    std::vector<double> values(21);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(2 * x[i]) + 0.2 * x[i];
    return values;
  }();
  return data::from_tensor_slices(x, y).shuffle(x.size(), 1).batch(GlobalBatch{batch});
}

template <class Strategy, class... Callbacks>
auto trained(Strategy const& strategy, std::size_t epochs, Callbacks&&... callbacks) {
  auto model = compile(strategy, Waves(), Parallelism::intra_op);
  auto history = fit(strategy, model, samples(), validation(samples(4)), {.epochs = epochs, .verbose = false},
                     std::forward<Callbacks>(callbacks)...);
  return std::pair(std::move(model), std::move(history));
}

template <std::size_t N>
using Number = std::integral_constant<std::size_t, N>;
using Stages = std::tuple<Number<1>, Number<2>, Number<3>>;
template <class Stage>
using Sharded = ShardedStrategy<Space, Stage::value>;

/// A file that all ranks name alike, gone at the end.
struct SharedFile {
  std::string path;
  explicit SharedFile(std::string const& ending) {
    path = (std::filesystem::temp_directory_path() / ("trireme_waves_" + std::to_string(::getpid()) + ending)).string();
    world().broadcast(path);
  }
  ~SharedFile() {
    world().barrier();
    if (world().is_chief()) std::filesystem::remove(path);
  }
};

constexpr double limit = 1e-12;

template <class Model, class Strategy>
void check_trains_as_one_device(Strategy const& strategy) {
  OneDeviceStrategy<> const one;
  for (std::size_t const batch : {std::size_t{8}, std::size_t{4}}) {
    auto reference = compile(one, Waves());
    auto model = compile(strategy, Model(), Parallelism::intra_op);
    auto const train = [batch](auto const& on, auto& trained) {
      return fit(on, trained, samples(batch), validation(samples(4)), {.epochs = 6, .verbose = false});
    };
    test::check_same_history(train(strategy, model), train(one, reference), limit);
    test::check_same_weights(model, reference, limit);
    test::check_equal_on_all(world(), model);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(states_move_to_the_means_of_batches_and_frozen_weights_stay) {
  auto const [model, history] = trained(OneDeviceStrategy<>(), 6);
  std::vector<double> first(numbers);
  Waves::initialize(first);
  auto const all = model.engine().weights().host_parameters();
  BOOST_TEST_REQUIRE(all.size() == numbers);
  for (std::size_t i = 0; i < phases; ++i) BOOST_TEST(all[i] != first[i]);
  for (std::size_t i = phases; i < numbers; ++i) BOOST_TEST(all[i] == first[i]);
  // 18 steps away from 0 towards batches' means around that of all samples, 2.2.
  double const expected = 2.2 * (1 - std::pow(0.9, 18));
  BOOST_TEST(std::abs(model.weights("waves/mean").data()[0] - expected) < 0.1);
  BOOST_TEST(history["loss"].back() < history["loss"].front());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(shards_train_as_one_device, Stage, Stages) {
  check_trains_as_one_device<Waves>(Sharded<Stage>(world()));
  if constexpr (Stage::value < 3) check_trains_as_one_device<WavesInView>(Sharded<Stage>(world()));
}

BOOST_AUTO_TEST_CASE(replicas_train_as_one_device) {
  check_trains_as_one_device<Waves>(MirroredStrategy<>(2));
  check_trains_as_one_device<Waves>(MultiWorkerMirroredStrategy<>(world()));
  check_trains_as_one_device<WavesInView>(MultiWorkerMirroredStrategy<>(world(), {}, 64, Exchange::messages));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(single_weights_are_set_in_shards, Stage, Stages) {
  Sharded<Stage> const strategy(world());
  OneDeviceStrategy<> const one;
  auto model = trained(strategy, 1).first;
  auto reference = trained(one, 1).first;
  for (auto* const name : {"waves/weights", "waves/mean", "waves/phases"}) {
    xt::xarray<double> values = model.weights(name);
    for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = 0.01 * static_cast<double>(i + 1);
    model.set_weights(name, values);
    reference.set_weights(name, values);
  }
  test::check_same_weights(model, reference, limit);
  auto const history = fit(strategy, model, samples(), {.epochs = 2, .verbose = false});
  test::check_same_history(history, fit(one, reference, samples(), {.epochs = 2, .verbose = false}), limit);
  test::check_same_weights(model, reference, limit);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(shards_predict_as_one_device, Stage, Stages) {
  Sharded<Stage> const strategy(world());
  OneDeviceStrategy<> const one;
  auto model = trained(strategy, 2).first;
  auto reference = trained(one, 2).first;
  std::vector<double> const x{0.1, 0.9, 1.7, 3.3, 2.5};
  auto const data = data::from_tensor_slices(x).batch(GlobalBatch{3});
  BOOST_TEST(test::distance(predict(strategy, model, data), predict(one, reference, data)) <= limit);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(files_of_shards_and_of_one_device_are_the_same, Stage, Stages) {
  Sharded<Stage> const strategy(world());
  OneDeviceStrategy<> const one;
  auto model = trained(strategy, 2).first;
  SharedFile const file(".npz");
  model.save_weights(file.path);
  auto whole = compile(one, Waves());
  auto again = compile(strategy, Waves(), Parallelism::intra_op);
  whole.load_weights(file.path);
  again.load_weights(file.path);
  test::check_same_weights(whole, model, 0);
  test::check_same_weights(again, model, 0);
  FitOptions const quiet{.epochs = 4, .initial_epoch = 2, .verbose = false};
  fit(strategy, model, samples(), quiet);
  fit(strategy, again, samples(), quiet);
  fit(one, whole, samples(), quiet);
  test::check_same_weights(again, model, 0);
  test::check_same_weights(whole, model, limit);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_resumed_run_of_shards_ends_as_an_unbroken_one, Stage, Stages) {
  Sharded<Stage> const strategy(world());
#ifdef TRIREME_HAVE_HDF5
  SharedFile const file(".h5"), other(".whole.h5");
#else
  SharedFile const file(".npz"), other(".whole.npz");
#endif
  auto const train = [&](std::string const& path, std::size_t steps) {
    return trained(strategy, 5, test::Killer{steps}, BackupAndRestore{.path = path, .save_freq = 2});
  };
  auto const [expected, history] = train(other.path, test::never);
  BOOST_TEST(!test::unless_killed([&] { return train(file.path, 7); }).has_value());
  auto const [model, resumed] = train(file.path, test::never);
  test::check_same_weights(model, expected, 0);
  BOOST_TEST((resumed.values == history.values));
}
