// ranks: 1 2 3 4   labels: law
// Ranks of a node that divide the weights: each updates its range for the rows of all.
#define BOOST_TEST_MODULE divided_update
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"

#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/mpi/fault/messages.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/divided_update.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

/// As if other programs had taken the memory.
bool shared_memory_is_full = false;

auto layers() {
  return Sequential{test::law::input(), Flatten{}, Dense<128, Tanh>{}, Dense<256, ReLU>{}, Dense<test::classes>{}};
}

template <class T, class Strategy>
auto compiled(Strategy const& strategy) {
  return compile<T>(strategy, layers(), Adam{.learning_rate = 0.01}, SparseCategoricalCrossentropy{.from_logits = true},
                    Accuracy{}, CompileOptions{.seed = 4});
}

/// Rows of each rank in one batch of all: some have none, and one has so many that it stores its gradients while the
/// others leave the operands of its products to all.
std::vector<std::size_t> rows_of_ranks() {
  std::vector<std::size_t> rows{9, 40, 0, 5};
  rows.resize(world().size());
  return rows;
}

template <class T>
test::Samples<T> rows_of(test::Samples<T> const& all, std::size_t first, std::size_t rows) {
  test::Samples<T> part = test::cnn_samples<T>(rows);
  std::size_t const inputs = all.x.size() / all.size();
  std::copy_n(all.x.data() + first * inputs, rows * inputs, part.x.data());
  for (std::size_t i = 0; i < rows; ++i) {
    part.y[i] = all.y[first + i];
    part.weight[i] = all.weight[first + i];
  }
  return part;
}

}  // namespace

/// In place of the system's, for this program.
extern "C" int statvfs(char const* path, struct statvfs* status) noexcept {
  struct statfs all{};
  if (::statfs(path, &all) != 0) return -1;
  *status = {};
  status->f_bsize = static_cast<unsigned long>(all.f_bsize);
  status->f_frsize = static_cast<unsigned long>(all.f_frsize);
  status->f_bavail = shared_memory_is_full ? 0 : all.f_bavail;
  return 0;
}

BOOST_AUTO_TEST_CASE(ranges_cover_all_elements_and_cut_matrices_between_rows) {
  auto const model = compiled<float>(OneDeviceStrategy<>());
  ModelDescription const& description = model.description();
  for (std::size_t ranks : {1u, 2u, 3u, 7u, 64u, 5000u}) {
    BOOST_TEST(first_of_range<float>(description, 0, ranks) == 0u);
    BOOST_TEST(first_of_range<float>(description, ranks, ranks) == description.elements);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      std::size_t const first = first_of_range<float>(description, rank, ranks);
      BOOST_TEST(first >= first_of_range<float>(description, rank - 1, ranks));
      for (ParameterInfo const& p : description.parameters)
        if (p.shape.rank == 2 && first > p.offset && first < p.offset + p.size)
          BOOST_TEST((first - p.offset) % p.shape.extents[1] == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(uneven_ranks_train_as_one_device) {
  auto const counts = rows_of_ranks();
  std::size_t const total = std::accumulate(counts.begin(), counts.end(), std::size_t{0}), epochs = 6;
  auto const all = test::cnn_samples<double>(total);
  auto reference = compiled<double>(OneDeviceStrategy<>());
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) reference.train_on_batch(all.x, all.y, all.weight);

  std::size_t const first =
      std::accumulate(counts.begin(), counts.begin() + static_cast<long>(world().rank()), std::size_t{0});
  auto const own = rows_of(all, first, counts[world().rank()]);
  for (Exchange exchange : {Exchange::automatic, Exchange::messages}) {
    MultiWorkerMirroredStrategy<> const strategy(world(), {}, 0, exchange);
    auto model = compiled<double>(strategy);
    auto const data = data::from_local_slices(strategy, own.x, own.y, own.weight).batch(GlobalBatch{total});
    fit(strategy, model, data, {.epochs = epochs, .verbose = false});
    BOOST_TEST(model.engine().iteration() == epochs);
    test::check_same_weights(model, reference);
    test::check_equal_on_all(world(), model);
  }
}

BOOST_AUTO_TEST_CASE(each_rank_keeps_the_optimizer_state_of_its_range) {
  auto const samples = test::cnn_samples<double>(40);
  auto const data = samples.data().batch(GlobalBatch{8});
  OneDeviceStrategy<> const one;
  auto reference = compiled<double>(one);
  fit(one, reference, data, {.epochs = 2, .verbose = false});
  detail::HostState<double> expected, state;
  reference.engine().gather_state(expected);

  for (Exchange exchange : {Exchange::automatic, Exchange::messages}) {
    MultiWorkerMirroredStrategy<> const strategy(world(), {}, 0, exchange);
    auto model = compiled<double>(strategy);
    fit(strategy, model, data, {.epochs = 2, .verbose = false});
    state = {};
    model.engine().gather_state(state);
    BOOST_TEST(state.slots.size() == (world().is_chief() ? expected.slots.size() : 0));
    for (std::size_t slot = 0; slot < state.slots.size(); ++slot) {
      BOOST_TEST_REQUIRE(state.slots[slot].size() == expected.slots[slot].size());
      double largest = 0;
      for (std::size_t i = 0; i < state.slots[slot].size(); ++i)
        largest = std::max(largest, std::abs(state.slots[slot][i] - expected.slots[slot][i]));
      BOOST_TEST(largest <= 1e-12);
    }
  }
}

BOOST_AUTO_TEST_CASE(weights_set_right_after_a_step_are_those_of_all_ranks) {
  auto const samples = test::cnn_samples<float>(64);
  MultiWorkerMirroredStrategy<> const strategy(world());
  auto model = compiled<float>(strategy), expected = compiled<float>(strategy);
  auto const initial = expected.weights(expected.weight_names().front());
  auto const data = samples.data().batch(GlobalBatch{8});
  LambdaCallback const reset{.on_train_batch_end = [&](auto&) {
    model.set_weights(model.weight_names().front(), initial);
    auto last = model.weights_view(model.weight_names().back());
    last *= 0.5f;
  }};
  fit(strategy, model, data, {.epochs = 2, .verbose = false}, reset);
  BOOST_TEST((model.weights(model.weight_names().front()) == initial));
  test::check_equal_on_all(world(), model);
}

BOOST_AUTO_TEST_CASE(operands_without_shared_memory_are_stored_as_gradients_and_a_warning_says_so_once) {
  auto const samples = test::cnn_samples<double>(96);
  auto reference = compiled<double>(OneDeviceStrategy<>());
  MultiWorkerMirroredStrategy<> const strategy(world());
  auto model = compiled<double>(strategy);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::tmpfile(), std::fclose);
  trireme::detail::MessageScope const messages(file.get());
  auto const train = [&](std::size_t batch) {
    fit(OneDeviceStrategy<>(), reference, samples.data().batch(GlobalBatch{batch}), {.verbose = false});
    fit(strategy, model, samples.data().batch(GlobalBatch{batch}), {.verbose = false});
    test::check_same_weights(model, reference);
    test::check_equal_on_all(world(), model);
  };
  train(4);
  shared_memory_is_full = true;
  for (std::size_t const batch : {2u, 8u, 16u, 8u}) train(batch);  // the first one has room
  shared_memory_is_full = false;

  std::rewind(file.get());
  std::string text;
  for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get())) text += static_cast<char>(c);
  auto const warnings = [&](std::string const& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  bool const warns = world().size() > 1 && world().is_chief();
  BOOST_TEST(warnings("trireme: warning: ") == (warns ? 1u : 0u), text);
  BOOST_TEST(warnings("bytes more to share in /dev/shm") == (warns ? 1u : 0u), text);
}
