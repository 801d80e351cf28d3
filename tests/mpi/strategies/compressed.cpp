// ranks: 1 2 3 4   labels: law
// What compression leaves out of a step comes later: over the steps nothing is lost.
#define BOOST_TEST_MODULE compressed
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "trireme/callbacks/archive.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/gradients/compressed_gradients.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

Communicator const& world() { return test::environment().world(); }

/// A model of two parameters and a state, where only its extents matter.
ModelDescription description(std::size_t first, std::size_t second, std::size_t state) {
  ModelDescription model;
  model.parameters.resize(2);
  model.parameters[0].size = first;
  model.parameters[1].size = second;
  model.parameters[1].offset = aligned_count<double>(first);
  model.elements = aligned_count<double>(first) + aligned_count<double>(second);
  model.state_elements = aligned_count<double>(state);
  return model;
}

double value_of(std::size_t step, std::size_t rank, std::size_t i) {
  std::mt19937_64 random(1000 * step + 10 * rank + 7 * i + 1);
  return std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5, static_cast<int>(random() % 12));
}

/// Adds up the gradients of 25 steps, and what was made of them.
template <class T, class Codec>
void check_nothing_is_lost(Codec const& codec, ModelDescription const& model) {
  std::size_t const ranks = world().size(), steps = 25;
  CompressedGradients<T, Space, Communicator, Codec> gradients(world(), Space(), model, codec);
  std::vector<double> wanted(model.elements, 0.0), applied(model.elements, 0.0);
  double scale = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<T> arena(model.reduced_elements());
    for (std::size_t i = 0; i < arena.size(); ++i) arena[i] = static_cast<T>(value_of(step, world().rank(), i));
    gradients.begin(arena.data());
    gradients.finish();
    std::uint64_t const bits = data::hash_bytes(arena.data(), arena.size() * sizeof(T));
    BOOST_REQUIRE(world().allreduce_min(bits).value() == world().allreduce_max(bits).value());
    for (std::size_t i = 0; i < model.elements; ++i) {
      applied[i] += static_cast<double>(arena[i]);
      for (std::size_t rank = 0; rank < ranks; ++rank)
        wanted[i] += static_cast<double>(static_cast<T>(value_of(step, rank, i)));
      scale = std::max(scale, std::abs(wanted[i]));
    }
    for (std::size_t i = model.elements; i < arena.size(); ++i) {
      T sum = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) sum += static_cast<T>(value_of(step, rank, i));
      BOOST_REQUIRE_EQUAL(arena[i], sum);
    }
  }
  BOOST_TEST((ranks == 1 || test::distance(applied, wanted) > 8 * std::numeric_limits<T>::epsilon()),
             "something was left out");
  std::vector<double> left(model.elements, 0.0);
  if (ranks > 1) std::copy(gradients.residual().begin(), gradients.residual().end(), left.begin());
  world().allreduce_sum(left);
  for (std::size_t i = 0; i < model.elements; ++i) left[i] += applied[i];
  double const lost = test::distance(left, wanted);
  BOOST_TEST(lost <= 4 * std::numeric_limits<T>::epsilon(), lost << " of the gradients were lost");

  std::uint64_t const all = world().allreduce_sum(gradients.bytes_sent()).value();
  std::size_t const states = model.state_elements * sizeof(T);
  std::size_t const of_all = gradients.contribution() - states;  // one contribution to the parameters' sums
  bool const sparse = std::is_same_v<Codec, TopK>;
  // Dense sums are added up in parts and given to all, and sparse contributions go to all.
  BOOST_TEST(all == steps * (ranks - 1) * ((sparse ? ranks : 2) * of_all + ranks * states));
}

/// What an archive asks a part for.
struct NoEngine {
  using T = double;
  using Snapshot = int;
};

/// One step on all ranks leaves something out; the run goes on with the first `ranks` of them.
template <class Codec>
void check_residuals_go_on(Codec const& codec, std::size_t ranks) {
  ModelDescription const model = description(37, 8, 0);
  NoEngine part;
  Archive<NoEngine> saving(part, "run.npz");
  saving.placed("was placed otherwise", "placement", world(), "all ranks");
  std::vector<double> arena(model.reduced_elements());
  for (std::size_t i = 0; i < arena.size(); ++i) arena[i] = value_of(0, world().rank(), i);
  CompressedGradients<double, Space, Communicator, Codec> before(world(), Space(), model, codec);
  before.begin(arena.data());
  before.finish();
  std::vector<double> left(before.residual().begin(), before.residual().end());
  world().allreduce_sum(left);
  before.state(saving);

  Communicator const fewer = world().split(world().rank() < ranks ? 0 : 1);
  Archive<NoEngine> loading(part, "run.npz", saving.tensors(), Placement::any);
  loading.placed("was placed otherwise", "placement", world(), "some ranks");
  CompressedGradients<double, Space, Communicator, Codec> after(fewer, Space(), model, codec);
  after.state(loading);
  std::fill(arena.begin(), arena.end(), 0.0);
  after.begin(arena.data());
  after.finish();
  std::vector<double> still(after.residual().begin(), after.residual().end());
  fewer.allreduce_sum(still);
  for (std::size_t i = 0; i < model.elements; ++i) still[i] += arena[i];
  BOOST_TEST(test::distance(still, left) <= 1e-14);
}

/// Fits three lines by a common matrix; `samples` (x, y) are exact, so that the loss's minimum is 0, at the matrix.
struct Lines {
  static constexpr std::size_t inputs = 8, outputs = 3, count = 48;
  Lines() : x(xt::xarray<float>::from_shape({count, inputs})), y(xt::xarray<float>::from_shape({count, outputs})) {
    std::mt19937 random(9);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto& value : matrix) value = uniform(random);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < inputs; ++j) x(i, j) = uniform(random);
      for (std::size_t o = 0; o < outputs; ++o) {
        y(i, o) = 0;
        for (std::size_t j = 0; j < inputs; ++j) y(i, o) += x(i, j) * matrix[j * outputs + o];
      }
    }
  }
  std::array<float, inputs * outputs> matrix{};
  xt::xarray<float> x, y;
};

template <class Strategy>
double distance_to_minimum(Strategy const& strategy, std::size_t batch, std::size_t passes) {
  Lines const lines;
  auto model = compile<float>(strategy, Sequential{Input<Lines::inputs>{}, Dense<Lines::outputs, NoBias>{}},
                              SGD{.learning_rate = 1}, MeanSquaredError{}, CompileOptions{.seed = 1});
  auto const data = data::from_tensor_slices(lines.x, lines.y).shuffle(48, 5).batch(GlobalBatch{batch});
  fit(strategy, model, data.repeat(passes), {.verbose = false});
  test::check_equal_on_all(world(), model);
  return test::distance(model.weights(model.weight_names()[0]), lines.matrix);
}

template <class Codec>
auto compressed(Codec const& codec) {
  return Compressed(MultiWorkerMirroredStrategy<>(world()), codec);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_was_sent_and_what_is_left_are_the_gradients_and_bytes_are_as_few_as_promised) {
  auto const model = description(37, 5, 6);
  check_nothing_is_lost<float>(BFloat16{}, model);
  check_nothing_is_lost<double>(BFloat16{}, model);
  check_nothing_is_lost<double>(float{}, model);
  for (double fraction : {0.01, 0.2, 0.5}) {
    check_nothing_is_lost<float>(TopK{.fraction = fraction}, model);
    check_nothing_is_lost<double>(TopK{.fraction = fraction}, model);
  }
  check_nothing_is_lost<float>(BFloat16{}, description(3, 2, 0));
}

BOOST_AUTO_TEST_CASE(half_the_bytes_of_a_reduction_in_float_travel) {
  if (world().size() == 1) return;
  auto const model = description(640, 64, 0);
  CompressedGradients<float, Space, Communicator, BFloat16> gradients(world(), Space(), model, BFloat16{});
  std::vector<float> arena(model.reduced_elements(), 1.0f);
  gradients.begin(arena.data());
  gradients.finish();
  std::size_t const ranks = world().size();
  // A ring sends (ranks - 1) / ranks of the arena twice.
  BOOST_TEST(world().allreduce_sum(gradients.bytes_sent()).value() ==
             (ranks - 1) * 2 * model.elements * sizeof(float) / 2);
}

BOOST_AUTO_TEST_CASE(the_largest_are_chosen_and_nan_is_not_hidden) {
  if (world().size() == 1) return;
  auto const model = description(8, 8, 0);
  CompressedGradients<double, Space, Communicator, TopK> gradients(world(), Space(), model, TopK{.fraction = 0.125});
  double const nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> arena{0, -3, 2, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, -5};
  gradients.begin(arena.data());
  gradients.finish();
  auto const ranks = static_cast<double>(world().size());
  std::vector<double> const first{0, 0, 0, 0, 0, 5 * ranks, 0, 0, 0, 0, 0, 0, 0, 0, 0, -5 * ranks};
  BOOST_TEST(arena == first, boost::test_tools::per_element());
  arena.assign(16, 0.0);
  gradients.begin(arena.data());
  gradients.finish();
  BOOST_TEST(arena[1] == -3 * ranks);
  BOOST_TEST(arena[2] == 2 * ranks);
  arena.assign(16, 1.0);
  arena[9] = nan;
  gradients.begin(arena.data());
  gradients.finish();
  BOOST_TEST(std::isnan(arena[9]));
  // More than are sent in a step: what is left of them is gone, and the next step has numbers.
  arena.assign(16, nan);
  gradients.begin(arena.data());
  gradients.finish();
  arena.assign(16, 1.0);
  gradients.begin(arena.data());
  gradients.finish();
  for (double const sum : arena) BOOST_TEST(std::isfinite(sum));
}

BOOST_AUTO_TEST_CASE(compressed_training_comes_to_the_minimum_that_is_known) {
  BOOST_TEST(distance_to_minimum(compressed(BFloat16{}), 48, 150) < 1e-5);
  BOOST_TEST(distance_to_minimum(compressed(TopK{.fraction = 0.1}), 48, 300) < 1e-5);
  BOOST_TEST(distance_to_minimum(compressed(BFloat16{}), 5, 20) < 1e-5);
  BOOST_TEST(distance_to_minimum(compressed(TopK{.fraction = 0.2}), 2, 20) < 1e-5);  // some ranks have no rows
}

BOOST_AUTO_TEST_CASE(pieces_of_a_batch_are_compressed_once) {
  using Pieced = Accumulate<Compressed<MultiWorkerMirroredStrategy<>, BFloat16>, 3>;
  BOOST_TEST(distance_to_minimum(Pieced(world()), 48, 150) < 1e-5);
  BOOST_TEST(distance_to_minimum(Pieced(compressed(BFloat16{})), 2, 15) < 1e-5);
}

BOOST_AUTO_TEST_CASE(every_model_follows_one_device_as_closely_as_bfloat16_can) {
  auto const check = [](auto const& architecture) {
    test::law::trained<double>(OneDeviceStrategy<>(), architecture, {}, [&](auto const& reference, History const&) {
      for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
        test::law::trained<double>(compressed(BFloat16{}), architecture, {.parallelism = plan},
                                   [&](auto const& model, History const&) {
                                     // A rounding of 2^-9 in what 10 steps change.
                                     test::check_same_weights(model, reference, 2e-3);
                                     test::check_equal_on_all(world(), model);
                                   });
    });
  };
  check(test::law::perceptron());
  check(test::cnn());
  check(test::law::normalized(SyncBatchNormalization<>{.momentum = 0.8}));
  check(test::law::recurrent());
  check(test::law::transformer());
}

BOOST_AUTO_TEST_CASE(one_process_trains_as_without_compression) {
  if (world().size() > 1) return;
  test::law::trained<double>(OneDeviceStrategy<>(), test::cnn(), {}, [&](auto const& reference, History const&) {
    test::law::trained<double>(Compressed<OneDeviceStrategy<>, TopK>(), test::cnn(), {},
                               [&](auto const& model, History const&) {
                                 BOOST_TEST(test::weight_bits(model) == test::weight_bits(reference));
                               });
    test::law::trained<double>(compressed(TopK{}), test::cnn(), {}, [&](auto const& model, History const&) {
      BOOST_TEST(test::weight_bits(model) == test::weight_bits(reference));
    });
  });
}

BOOST_AUTO_TEST_CASE(a_fraction_that_is_none_is_an_error) {
  auto const place = [](double fraction) {
    compile<float>(compressed(TopK{.fraction = fraction}), test::mlp(), SGD{},
                   SparseCategoricalCrossentropy{.from_logits = true});
  };
  for (double fraction : {0.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN()})
    BOOST_CHECK_THROW(place(fraction), ValueError);
}

BOOST_AUTO_TEST_CASE(what_was_left_out_goes_on_with_fewer_ranks) {
  for (std::size_t ranks = 1; ranks < world().size(); ++ranks) {
    check_residuals_go_on(TopK{.fraction = 0.2}, ranks);
    check_residuals_go_on(BFloat16{}, ranks);
  }
}
