// ranks: 1 2 3 4   labels: law
// Law 1 with samples that each rank owns: every global batch takes from a rank in proportion to what it has.
#define BOOST_TEST_MODULE own_data
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

template <class T, class Strategy>
auto compiled(Strategy const& strategy) {
  return compile<T>(strategy, test::mlp(), SGD{.learning_rate = 0.1, .momentum = 0.9},
                    SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, test::Margin{},
                    CompileOptions{.seed = 4});
}

/// Rows [first, first + rows) of samples, after those of `batch`.
template <class T>
void append(test::Samples<T>& batch, test::Samples<T> const& samples, std::size_t first, std::size_t rows) {
  std::vector<T> x(batch.x.data(), batch.x.data() + batch.x.size());
  x.insert(x.end(), samples.x.data() + first * test::mlp_inputs, samples.x.data() + (first + rows) * test::mlp_inputs);
  for (std::size_t i = first; i < first + rows; ++i) {
    batch.y.push_back(samples.y[i]);
    batch.weight.push_back(samples.weight[i]);
  }
  batch.x = to_xarray(x.data(), {batch.y.size(), test::mlp_inputs});
}

/// Batch k of B as documented: of n_r of N samples, floor(n_r min((k+1) B, N) / N) - floor(n_r min(k B, N) / N) each.
template <class T>
std::vector<test::Samples<T>> global_batches(std::vector<test::Samples<T>> const& owned, std::size_t size) {
  std::size_t const total = std::accumulate(owned.begin(), owned.end(), std::size_t{0},
                                            [](std::size_t sum, auto const& s) { return sum + s.size(); });
  std::vector<test::Samples<T>> batches;
  for (std::size_t begin = 0; begin < total; begin += size) {
    std::size_t const end = std::min(begin + size, total);
    test::Samples<T> batch = test::mlp_samples<T>(0);
    for (auto const& own : owned) {
      std::size_t const first = own.size() * begin / total;
      append(batch, own, first, own.size() * end / total - first);
    }
    if (batch.size() != 0) batches.push_back(batch);
  }
  return batches;
}

/// Sizes by rank; the first has none where there are several.
template <class T>
std::vector<test::Samples<T>> owned_samples() {
  std::vector<std::size_t> sizes{0, 31, 7, 23};
  if (world().size() == 1) sizes = {61};
  std::vector<test::Samples<T>> owned;
  for (std::size_t rank = 0; rank < world().size(); ++rank)
    owned.push_back(test::mlp_samples<T>(sizes[rank], 100 + rank));
  return owned;
}

/// A model of all ranks for the samples that each owns, and the same on one device for all of them.
struct OwnAndAll {
  std::vector<test::Samples<double>> owned = owned_samples<double>();
  test::Samples<double> const& mine = owned[world().rank()];
  test::Samples<double> all = test::mlp_samples<double>(0);
  OneDeviceStrategy<> one;
  MultiWorkerMirroredStrategy<> many{world()};
  decltype(compiled<double>(one)) reference = compiled<double>(one);
  decltype(compiled<double>(many)) model = compiled<double>(many);
  OwnAndAll() {
    for (auto const& own : owned) append(all, own, 0, own.size());
  }
};

using Scalars = std::tuple<float, double>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_train_on_their_own_samples_as_one_device_on_the_same_batches, T, Scalars) {
  auto const owned = owned_samples<T>();
  auto const& mine = owned[world().rank()];
  for (std::size_t size : {7u, 3u}) BOOST_TEST_CONTEXT("batches of " << size) {
      auto const batches = global_batches(owned, size);
      OneDeviceStrategy<> const one;
      auto reference = compiled<T>(one);
      std::size_t epochs = 0;
      double loss = 0, right = 0, samples = 0;
      for (; reference.engine().iteration() < 20; ++epochs) {
        loss = right = samples = 0;
        for (auto const& batch : batches) {
          auto const logs = reference.train_on_batch(batch.x, batch.y, batch.weight);
          auto const rows = static_cast<double>(batch.size());
          loss += rows * logs.find("loss")->value();
          right += rows * logs.find("accuracy")->value();
          samples += rows;
        }
      }
      MultiWorkerMirroredStrategy<> const strategy(world());
      auto model = compiled<T>(strategy);
      auto const data = data::from_local_slices(strategy, mine.x, mine.y, mine.weight).batch(GlobalBatch{size});
      auto const history = fit(strategy, model, data, {.epochs = epochs, .verbose = false});
      BOOST_TEST(model.engine().iteration() == reference.engine().iteration());
      test::check_same_weights(model, reference);
      test::check_close(history["loss"].back(), loss / samples, test::tolerance<T>, "loss");
      test::check_close(history["accuracy"].back(), right / samples, test::tolerance<T>, "accuracy");
      test::check_equal_on_all(world(), model);
    }
}

BOOST_FIXTURE_TEST_CASE(metrics_over_own_samples_are_those_over_all_of_them, OwnAndAll) {
  test::check_same_logs(evaluate(many, model, data::from_local_slices(many, mine.x, mine.y).batch(GlobalBatch{5})),
                        evaluate(one, reference, all.data().batch(GlobalBatch{all.size()})), 1e-14);
}

BOOST_FIXTURE_TEST_CASE(predictions_come_rank_after_rank_whatever_the_batches, OwnAndAll) {
  auto const expected = predict(one, reference, all.data().batch(GlobalBatch{all.size()}));
  for (std::size_t const size : {5u, 100u}) {
    auto const outputs = predict(many, model, data::from_local_slices(many, mine.x, mine.y).batch(GlobalBatch{size}));
    BOOST_TEST_REQUIRE((outputs.shape() == expected.shape()));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      test::check_close(outputs.data()[i], expected.data()[i], 1e-14, "output");
  }
}

namespace {

/// Trains for some epochs on own samples, of which the first input is `first` where there are any, and goes on from
/// what an earlier call has left.
template <class Strategy>
void go_on(Strategy const& strategy, std::size_t epochs, test::Samples<double> mine, std::uint64_t seed, double first) {
  if (mine.size() != 0) mine.x.data()[0] = first;
  auto model = compile<double>(strategy, test::mlp(), SGD{.learning_rate = 0.1},
                               SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = 4});
  fit(strategy, model, data::from_local_slices(strategy, mine.x, mine.y).shuffle(61, seed).batch(GlobalBatch{7}),
      {.epochs = epochs, .verbose = false}, BackupAndRestore{.path = "own_data.npz", .delete_checkpoint = false});
}

template <class Strategy>
void check_resume(Strategy const& strategy) {
  auto const owned = owned_samples<double>();
  auto const& mine = owned[world().rank()];
  auto const remove = [] {
    world().barrier();
    if (world().is_chief())
      for (auto const* const file : {"own_data.npz", "own_data.npz.previous"}) std::filesystem::remove(file);
    world().barrier();
  };
  remove();
  go_on(strategy, 1, mine, 1, 0.5);
  std::string const refused =
      "own_data.npz: holds a run that was trained on other data, or with other class weights or steps per epoch";
  auto const message = [&](std::uint64_t seed, double first) {
    return test::uniform_message_of<FileError>(world(), [&] { go_on(strategy, 3, mine, seed, first); });
  };
  BOOST_TEST(message(2, 0.5) == refused);
  BOOST_TEST(message(1, 0.25) == refused);
  bool const is_last = world().rank() == world().size() - 1;
  BOOST_TEST(message(1, is_last ? 0.25 : 0.5) == refused);
  go_on(strategy, 3, mine, 1, 0.5);
  remove();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_does_not_go_on_with_other_samples_of_a_rank) {
  check_resume(MultiWorkerMirroredStrategy<>(world()));
  check_resume(ShardedStrategy<Kokkos::DefaultExecutionSpace, 1>(world()));
}

BOOST_AUTO_TEST_CASE(every_rank_shuffles_its_own_samples_in_each_epoch) {
  auto const owned = owned_samples<double>();
  auto const& mine = owned[world().rank()];
  MultiWorkerMirroredStrategy<> const strategy(world());
  auto still = compiled<double>(strategy), shuffled = compiled<double>(strategy);
  auto const data = data::from_local_slices(strategy, mine.x, mine.y);
  fit(strategy, still, data.batch(GlobalBatch{7}), {.verbose = false});
  fit(strategy, shuffled, data.shuffle(61, 1).batch(GlobalBatch{7}), {.verbose = false});
  BOOST_TEST(still.engine().iteration() == shuffled.engine().iteration());
  BOOST_TEST(test::weight_bits(still) != test::weight_bits(shuffled));
  test::check_equal_on_all(world(), shuffled);
}
