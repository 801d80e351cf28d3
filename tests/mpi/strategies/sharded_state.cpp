// ranks: 1 2 3 4
// What happens to weights besides training: files, snapshots, single tensors, single batches.
#define BOOST_TEST_MODULE sharded_state
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <tuple>
#include <type_traits>

#include <unistd.h>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

template <std::size_t N>
using Number = std::integral_constant<std::size_t, N>;
using Stages = std::tuple<Number<1>, Number<2>, Number<3>>;
template <class Stage>
using Sharded = ShardedStrategy<Kokkos::DefaultExecutionSpace, Stage::value>;

auto layers() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)},
                    SyncBatchNormalization<>{}, Dropout{.rate = 0.25f}, Dense<test::classes>{}};
}

template <class Strategy>
auto compiled(Strategy const& strategy, std::uint64_t seed = 11) {
  return compile<double>(strategy, layers(), Adam{.learning_rate = 1e-2},
                         SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = seed});
}

auto batches() {
  static auto const samples = test::mlp_samples<double>(41);
  return samples.data().batch(GlobalBatch{5});
}

FitOptions quiet(std::size_t epochs) { return {.epochs = epochs, .verbose = false}; }

/// A file that all ranks name alike, gone at the end.
struct SharedFile {
  std::string path;
  explicit SharedFile(char const* ending) {
    path =
        (std::filesystem::temp_directory_path() / ("trireme_sharded_" + std::to_string(::getpid()) + ending)).string();
    world().broadcast(path);
  }
  ~SharedFile() {
    world().barrier();
    if (world().is_chief()) std::filesystem::remove(path);
  }
};

constexpr double limit = 30 * test::tolerance<double>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_file_of_shards_is_read_by_one_device_and_back, Stage, Stages) {
  OneDeviceStrategy<> const one;
  Sharded<Stage> const strategy(world());
  auto model = compiled(strategy);
  fit(strategy, model, batches(), quiet(1));
  SharedFile const file(".npz");
  model.save_weights(file.path);

  auto whole = compiled(one, 12);
  auto again = compiled(strategy, 12);
  whole.load_weights(file.path);
  again.load_weights(file.path);
  test::check_same_weights(model, whole, 0);
  test::check_same_weights(again, whole, 0);
  auto const slots_of = [](auto const& any) {
    detail::HostState<double> state;
    any.engine().gather_state(state);
    return state;
  };
  auto const expected = slots_of(whole), sharded = slots_of(again);
  if (world().is_chief()) {
    BOOST_TEST(sharded.parameters == expected.parameters, boost::test_tools::per_element());
    BOOST_TEST(sharded.slots.size() == 2u);
    for (std::size_t slot = 0; slot < expected.slots.size(); ++slot)
      BOOST_TEST(sharded.slots[slot] == expected.slots[slot], boost::test_tools::per_element());
  } else {
    BOOST_TEST(sharded.parameters.empty());  // nobody else was given the model
  }
  BOOST_TEST(again.engine().iteration() == whole.engine().iteration());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(training_goes_on_from_a_file_to_the_bit, Stage, Stages) {
  Sharded<Stage> const strategy(world());
  auto model = compiled(strategy);
  fit(strategy, model, batches(), quiet(1));
  SharedFile const file(".npz");
  model.save_weights(file.path);
  auto again = compiled(strategy);
  again.load_weights(file.path);
  fit(strategy, model, batches(), quiet(1));
  fit(strategy, again, batches(), quiet(1));
  test::check_same_weights(again, model, 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_best_weights_come_back, Stage, Stages) {
  auto const trained = [](auto const& strategy) {
    auto model = compiled(strategy);
    EarlyStopping<"loss"> stopping{.min_delta = 10, .patience = 2, .restore_best_weights = true};
    auto const history = fit(strategy, model, batches(), quiet(6), stopping);
    BOOST_TEST(history.epochs.size() == 3u);  // no epoch is better by 10 than the first
    return model;
  };
  test::check_same_weights(trained(Sharded<Stage>(world())), trained(OneDeviceStrategy<>()), limit);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_tensor_is_set_on_all_ranks_to_the_values_of_the_chief, Stage, Stages) {
  Sharded<Stage> const strategy(world());
  auto model = compiled(strategy);
  xt::xarray<double> values = model.weights("dense/kernel");
  double const sum = xt::sum(values)();
  for (std::size_t i = 0; i < values.size(); ++i)
    values.data()[i] = static_cast<double>(i) + static_cast<double>(1000 * world().rank());
  model.set_weights("dense/kernel", values);
  auto const read = model.weights("dense/kernel");
  for (std::size_t i = 0; i < read.size(); ++i) BOOST_TEST(read.data()[i] == static_cast<double>(i));
  BOOST_TEST(sum != xt::sum(read)());
  OneDeviceStrategy<> const one;
  auto reference = compiled(one);
  reference.set_weights("dense/kernel", read);
  test::check_same_weights(model, reference, 0);
  fit(strategy, model, batches(), quiet(2));
  fit(one, reference, batches(), quiet(2));
  test::check_same_weights(model, reference, limit);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(single_batches_train_as_on_one_device, Stage, Stages) {
  auto const samples = test::mlp_samples<double>(5);
  Sharded<Stage> const strategy(world());
  OneDeviceStrategy<> const one;
  auto model = compiled(strategy);
  auto reference = compiled(one);
  for (int step = 0; step < 20; ++step) {
    auto const logs = model.train_on_batch(samples.x, samples.y);
    test::check_same_logs(logs, reference.train_on_batch(samples.x, samples.y), limit);
  }
  test::check_same_weights(model, reference, limit);
}

BOOST_AUTO_TEST_CASE(a_rank_with_all_weights_infers_alone) {
  ShardedStrategy<Kokkos::DefaultExecutionSpace, 2> const strategy(world());
  auto model = compiled(strategy);
  fit(strategy, model, batches(), quiet(1));
  using View = Kokkos::View<double*, Kokkos::DefaultExecutionSpace::memory_space>;
  View const x("x", 2 * test::mlp_inputs), y("y", 2 * test::classes);
  Kokkos::View<double**, Kokkos::LayoutRight, View::memory_space> const in(x.data(), 2, test::mlp_inputs),
      out(y.data(), 2, test::classes);
  if (world().rank() + 1 == world().size()) model.infer(in, out);
  auto const zeros = xt::xarray<double>(xt::zeros<double>({2ul, test::mlp_inputs}));
  auto const expected =
      predict(strategy, model, data::from_tensor_slices(zeros, std::vector<std::int32_t>(2)).batch(GlobalBatch{2}));
  if (world().rank() + 1 == world().size()) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
    // Not to the bit: predict gives ranks a row each, and a BLAS adds up one row in another order than two.
    for (std::size_t i = 0; i < host.extent(0); ++i)
      test::check_close(host(i), expected.data()[i], test::tolerance<double>, "y");
  }
}

BOOST_AUTO_TEST_CASE(a_predictor_has_the_weights_of_all_ranks) {
  ShardedStrategy<Kokkos::DefaultExecutionSpace, 2> const strategy(world());
  auto model = compiled(strategy);
  fit(strategy, model, batches(), quiet(1));
  auto const predictor = model.predictor();  // collective
  auto const x = test::mlp_samples<double>(9).x;
  auto const expected = predict(strategy, model, data::from_tensor_slices(x).batch(GlobalBatch{9}));
  if (world().rank() + 1 != world().size()) return;
  BOOST_TEST(test::distance(predictor.predict(x), expected) <= 1e-14);
}

BOOST_AUTO_TEST_CASE(models_for_inference_share_samples_and_have_the_chiefs_weights) {
  ShardedStrategy<Kokkos::DefaultExecutionSpace, 1> const sharded(world());
  auto model = compiled(sharded);
  fit(sharded, model, batches(), quiet(1));
  SharedFile const file(".npz");
  model.save_weights(file.path);
  MultiWorkerMirroredStrategy<> const strategy(world());
  auto reader = compile<double>(strategy, layers());
  test::check_equal_on_all(world(), reader);
  reader.load_weights(file.path);
  auto const data = data::from_tensor_slices(test::mlp_samples<double>(11).x).batch(GlobalBatch{4});
  auto const found = predict(strategy, reader, data), expected = predict(sharded, model, data);
  BOOST_TEST(found.shape() == expected.shape(), boost::test_tools::per_element());
  BOOST_TEST(test::distance(found, expected) <= 1e-14);
}
