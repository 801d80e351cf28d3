// ranks: 2 3 4
// Generators that give ranks other numbers of samples: one sentence on all ranks, with the first batch that differs, in
// training, tests and predictions. Workers that acquire batches find it at the end of the epoch. The deadline of
// failure detection lies beyond the time that this test has.
#define BOOST_TEST_MODULE differing_generators
#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }
std::size_t last_rank() { return world().size() - 1; }
bool on_last_rank() { return world().rank() == last_rank(); }

constexpr std::size_t batch = 4;

struct Synchronous {
  ParameterServerStrategy<> operator()() const { return ParameterServerStrategy<>(world(), {.staleness = 0}); }
};
struct Local {
  LocalSGD<MultiWorkerMirroredStrategy<>, 2> operator()() const {
    return LocalSGD<MultiWorkerMirroredStrategy<>, 2>(MultiWorkerMirroredStrategy<>(world()));
  }
};
struct Asynchronous {
  ParameterServerStrategy<> operator()() const { return ParameterServerStrategy<>(world()); }
};
template <class Strategy>
struct Plain {
  Strategy operator()() const { return Strategy(world()); }
};
using Strategies =
    std::tuple<Plain<MultiWorkerMirroredStrategy<>>, Plain<ShardedStrategy<Kokkos::DefaultExecutionSpace, 3>>,
               Plain<PipelineStrategy<>>, Synchronous, Local>;
using TestStrategies = decltype(std::tuple_cat(Strategies(), std::tuple<Asynchronous>()));

/// The sentence where one rank has drawn so many samples and the others, of one epoch too, `most`.
std::string differing(std::size_t most, std::size_t last, std::string const& data = "the training data",
                      std::size_t rank = last_rank()) {
  return fmt::format(
      "rank {} has drawn {} samples of {} where rank 0 has drawn {}: a generator has to give all ranks the same "
      "samples",
      rank, last, data, most);
}

/// The sentence at the first batch that differs, of an epoch whose `begin` samples before were the same. `repeated`:
/// passes follow one another, each with a partial batch of its own.
std::string differing_batch(std::size_t most, std::size_t last, std::size_t begin = 0, bool repeated = false,
                            std::size_t rank = last_rank()) {
  auto const rows = [&](std::size_t size, std::size_t index) {
    std::size_t const first = begin + index * batch, batches = (size + batch - 1) / batch;
    std::size_t const in_pass = repeated && batches > 0 ? first % (batches * batch) : first;
    return std::min(size, in_pass + batch) - std::min(size, in_pass);
  };
  std::size_t of_most = 0, of_last = 0;
  for (std::size_t index = 0; of_most == of_last; ++index) {
    of_most += rows(most, index);
    of_last += rows(last, index);
  }
  return differing(of_most, of_last, "the training data", rank);
}

/// The first `count` of the samples, one after another; each pass begins late if it is `slow`.
auto generated(test::Samples<float> const& samples, std::size_t count, bool slow = false) {
  return data::from_generator({test::mlp_inputs}, {}, [&samples, count, slow] {
    return [&samples, count, slow, i = std::size_t{0}](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i == 0 && slow) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (i == count) return false;
      std::copy_n(samples.x.data() + i * test::mlp_inputs, test::mlp_inputs, x.data());
      y[0] = samples.y[i++];
      return true;
    };
  });
}

/// Workers at their own pace, with all numbers of servers and bounds that the ranks allow.
std::vector<ParameterServerOptions> divisions() {
  std::vector<ParameterServerOptions> result{{}, {.staleness = 1}};
  if (world().size() > 3) result.insert(result.end(), {{.servers = 2}, {.staleness = 2, .evaluator = true}});
  return result;
}

/// Requests to stop in each batch from the tenth on, whichever worker has it.
struct Stopper {
  Control on_train_batch_end(auto const& run) const { return run.batch() < 9 ? Control::proceed : Control::stop; }
};

/// Four layers, for as many stages of a pipeline.
auto compiled(auto const& strategy) {
  return compile(strategy,
                 Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{}, Dense<8, Tanh>{}, Dense<7, Tanh>{},
                            Dense<test::classes>{}},
                 SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_generator_that_ends_elsewhere_on_one_rank_is_an_error_of_all_at_that_batch, Strategy,
                              Strategies) {
  auto const samples = test::mlp_samples<float>(20);
  auto const strategy = Strategy()();
  auto model = compiled(strategy);
  auto const says = [&](auto const& data, std::optional<std::size_t> steps = {}) {
    return test::uniform_message_of<ValueError>(
        world(), [&] { fit(strategy, model, data, {.epochs = 3, .steps_per_epoch = steps, .verbose = false}); });
  };
  std::size_t const most = 13;
  for (std::size_t const last : {0u, 3u, 8u, 9u, 12u, 14u, 17u}) {
    auto const samples_of_rank = generated(samples, on_last_rank() ? last : most);
    auto const data = samples_of_rank.batch(GlobalBatch{batch});
    std::uint64_t const before = model.engine().iteration();
    BOOST_TEST(says(data) == differing_batch(most, last), last);
    BOOST_TEST(model.engine().iteration() - before == std::min(most, last) / batch, last);
    BOOST_TEST(says(data.prefetch(2)) == differing_batch(most, last), last);
    BOOST_TEST(says(data.repeat(), 5) == differing_batch(most, last, 0, true), last);
    BOOST_TEST(says(data.take(4)) == differing_batch(most, last), last);
    BOOST_TEST(says(data, 4) == differing_batch(most, last), last);
    // The second epoch goes on at sample 8.
    BOOST_TEST(says(data, 2) == differing_batch(most, last, last < 2 * batch ? 0 : 2 * batch), last);
    if (last == 0) BOOST_TEST(says(samples_of_rank.repeat().batch(GlobalBatch{batch}), 2) == differing(batch, 0));
    if (last == 0) BOOST_TEST(says(samples_of_rank.repeat().take(9).batch(GlobalBatch{batch})) == differing(batch, 0));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_generator_that_ends_elsewhere_on_one_rank_is_an_error_of_tests_and_predictions,
                              Strategy, TestStrategies) {
  auto const samples = test::mlp_samples<float>(20);
  auto const strategy = Strategy()();
  auto model = compiled(strategy);
  auto const says = [&](auto const& call) { return test::uniform_message_of<ValueError>(world(), call); };
  for (std::size_t const last : {0u, 5u, 14u}) {
    std::size_t const other = last == 14 ? 13 : last == 5 ? 8 : 4;
    auto const data = generated(samples, on_last_rank() ? last : 13).batch(GlobalBatch{batch});
    BOOST_TEST(says([&] { evaluate(strategy, model, data); }) == differing(other, last, "the test data"));
    BOOST_TEST(says([&] { predict(strategy, model, data); }) == differing(other, last, "the data to predict"));
    BOOST_TEST(says([&] {
                 fit(strategy, model, samples.data().batch(GlobalBatch{batch}), validation(data), {.verbose = false});
               }) == differing(other, last, "the validation data"));
  }
}

BOOST_AUTO_TEST_CASE(the_sentence_names_the_first_rank_that_differs_from_rank_0) {
  auto const samples = test::mlp_samples<float>(13);
  MultiWorkerMirroredStrategy<> const strategy(world());
  auto model = compiled(strategy);
  auto const data = generated(samples, world().is_chief() ? 5 : 13).batch(GlobalBatch{batch});
  BOOST_TEST(test::uniform_message_of<ValueError>(world(), [&] { fit(strategy, model, data, {.verbose = false}); }) ==
             "rank 1 has drawn 8 samples of the training data where rank 0 has drawn 5: a generator has to give all "
             "ranks the same samples");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(generators_of_one_length_train_as_the_same_samples_in_memory_do, Strategy, Strategies) {
  auto const samples = test::mlp_samples<float>(13), tests = test::mlp_samples<float>(6, 2);
  auto const strategy = Strategy()();
  auto const check = [&](auto const& data, auto const& reference, std::optional<std::size_t> steps) {
    auto a = compiled(strategy), b = compiled(strategy);
    auto const train = [&](auto& model, auto const& with, auto const& validated) {
      return fit(strategy, model, with, validation(validated),
                 {.epochs = 5, .steps_per_epoch = steps, .validation_freq = 2, .verbose = false});
    };
    auto const history = train(a, data, generated(tests, 6).batch(GlobalBatch{batch}));
    test::check_same_history(history, train(b, reference, tests.data().batch(GlobalBatch{batch})), 0);
    BOOST_TEST(a.engine().iteration() == b.engine().iteration());
    if constexpr (!std::is_same_v<Strategy, Synchronous>)  // whose servers hold a part of the weights each
      BOOST_TEST(test::weight_bits(a) == test::weight_bits(b));
  };
  auto const batches = generated(samples, 13).batch(GlobalBatch{batch}),
             in_memory = samples.data().batch(GlobalBatch{batch});
  check(batches, in_memory, {});
  check(batches.prefetch(2), in_memory, {});
  check(batches.repeat(), in_memory.repeat(), 3);
  check(generated(samples, 13).repeat().batch(GlobalBatch{batch}), samples.data().repeat().batch(GlobalBatch{batch}),
        3);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_goes_on_in_a_generator_and_finds_one_that_ends_elsewhere_now) {
  auto const samples = test::mlp_samples<float>(13);
  MultiWorkerMirroredStrategy<> const strategy(world());
  std::string folder = (std::filesystem::temp_directory_path() / fmt::format("generators.{}", getpid())).string();
  world().broadcast(folder);
  if (world().is_chief()) std::filesystem::create_directory(folder);
  world().barrier();
  BackupAndRestore const backup{.path = folder + "/run.npz", .save_freq = 2, .delete_checkpoint = false};
  auto const train = [&](auto& model, std::size_t last, std::size_t killed_after, auto... callbacks) {
    auto const data = generated(samples, on_last_rank() ? last : 13).batch(GlobalBatch{batch});
    fit(strategy, model, data, {.epochs = 2, .verbose = false}, callbacks..., test::Killer{killed_after});
    return true;
  };
  auto unbroken = compiled(strategy), killed = compiled(strategy), resumed = compiled(strategy);
  train(unbroken, 13, test::never);
  BOOST_TEST(!test::unless_killed([&] { return train(killed, 13, 6, backup); }));
  BOOST_TEST(test::uniform_message_of<ValueError>(world(), [&] { train(killed, 9, test::never, backup); }) ==
             differing_batch(13, 9, 8));
  train(resumed, 13, test::never, backup);
  BOOST_TEST(test::weight_bits(resumed) == test::weight_bits(unbroken));
  world().barrier();
  if (world().is_chief()) std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(a_generator_that_ends_elsewhere_on_one_worker_is_an_error_of_all_at_the_end_of_the_epoch) {
  auto const samples = test::mlp_samples<float>(20);
  std::size_t const most = 13;
  enum class Slow { none, last, others };
  for (auto const& options : divisions()) {
    ParameterServerStrategy<> const strategy(world(), options);
    auto model = compiled(strategy);
    std::size_t const rank = strategy.roles().workers - 1;
    if (rank == 0) continue;
    bool const here = world().rank() == rank;
    auto const says = [&](auto const& data, std::optional<std::size_t> steps = {}) {
      return test::uniform_message_of<ValueError>(
          world(), [&] { fit(strategy, model, data, {.epochs = 3, .steps_per_epoch = steps, .verbose = false}); });
    };
    auto const expected = [&](std::size_t last, std::size_t begin = 0, bool repeated = false) {
      return differing_batch(most, last, begin, repeated, rank);
    };
    for (Slow const slow : {Slow::none, Slow::last, Slow::others})
      for (std::size_t const last : {0u, 3u, 8u, 9u, 12u, 14u, 17u}) {
        auto const samples_of_rank = generated(samples, here ? last : most, slow == (here ? Slow::last : Slow::others));
        auto const data = samples_of_rank.batch(GlobalBatch{batch});
        BOOST_TEST(says(data) == expected(last), last);
        BOOST_TEST(says(data.prefetch(2)) == expected(last), last);
        BOOST_TEST(says(data.repeat(), 5) == expected(last, 0, true), last);
        BOOST_TEST(says(data.take(4)) == expected(last), last);
        BOOST_TEST(says(data, 4) == expected(last), last);
        // The second epoch goes on at sample 8.
        BOOST_TEST(says(data, 2) == expected(last, last < 2 * batch ? 0 : 2 * batch), last);
        std::string const none = differing(batch, 0, "the training data", rank);
        if (last == 0) BOOST_TEST(says(samples_of_rank.repeat().batch(GlobalBatch{batch}), 2) == none);
        if (last == 0) BOOST_TEST(says(samples_of_rank.repeat().take(9).batch(GlobalBatch{batch})) == none);
        // Batches of 4, 4, 1, 4 samples add up to as many as those of 4, 4, 4, 1.
        if (last == 9) BOOST_TEST(says(data.repeat(), 4) == expected(last, 0, true));
      }
  }
}

BOOST_AUTO_TEST_CASE(generators_of_one_length_train_each_batch_once_where_workers_go_their_own_pace) {
  auto const samples = test::mlp_samples<float>(13), tests = test::mlp_samples<float>(6, 2);
  for (auto const& options : divisions()) {
    ParameterServerStrategy<> const strategy(world(), options);
    auto model = compiled(strategy);
    // Ranks that acquire no batch do not draw from theirs.
    std::size_t const size = strategy.roles().is_worker(world().rank()) ? 13 : 5;
    auto const steps_of = [&](auto const& data, std::size_t epochs, std::optional<std::size_t> steps,
                              auto... callbacks) {
      std::uint64_t const before = model.engine().iteration();
      fit(strategy, model, data, validation(generated(tests, 6).batch(GlobalBatch{batch})),
          {.epochs = epochs, .steps_per_epoch = steps, .verbose = false}, callbacks...);
      return model.engine().iteration() - before;
    };
    for (std::size_t const slow : {world().size(), std::size_t{0}, last_rank() - 1}) {
      auto const samples_of_rank = generated(samples, size, world().rank() == slow);
      auto const data = samples_of_rank.batch(GlobalBatch{batch});
      BOOST_TEST(steps_of(data, 5, {}) == 20u);
      BOOST_TEST(steps_of(data.prefetch(2), 5, {}) == 20u);
      BOOST_TEST(steps_of(data.take(3), 2, {}) == 6u);
      BOOST_TEST(steps_of(data.skip(1).repeat(2), 2, {}) == 12u);
      BOOST_TEST(steps_of(data.repeat(), 5, 3) == 15u);
      BOOST_TEST(steps_of(data, 2, 2) == 4u);
      BOOST_TEST(steps_of(samples_of_rank.shuffle(5, 1).batch(GlobalBatch{batch}), 2, {}) == 8u);
      BOOST_TEST(steps_of(samples_of_rank.repeat().batch(GlobalBatch{batch}), 5, 3) == 15u);
      BOOST_TEST(steps_of(samples_of_rank.repeat().take(9).batch(GlobalBatch{batch}), 4, 2) == 6u);
      BOOST_TEST(steps_of(data.repeat(), 2, 50, Stopper()) < 20u);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_resumed_run_of_workers_at_their_own_pace_finds_a_generator_that_ends_elsewhere_now) {
  auto const samples = test::mlp_samples<float>(20);
  ParameterServerStrategy<> const strategy(world());
  std::size_t const rank = strategy.roles().workers - 1;
  std::string folder = (std::filesystem::temp_directory_path() / fmt::format("paces.{}", getpid())).string();
  world().broadcast(folder);
  if (world().is_chief()) std::filesystem::create_directory(folder);
  world().barrier();
  BackupAndRestore backup{.path = folder + "/run.npz", .delete_checkpoint = false};
  auto const steps = [&](std::size_t last, std::size_t epochs) {
    auto model = compiled(strategy);
    auto const data = generated(samples, world().rank() == rank ? last : 17).batch(GlobalBatch{batch});
    fit(strategy, model, data, {.epochs = epochs, .steps_per_epoch = 2, .verbose = false}, backup);
    return model.engine().iteration();
  };
  BOOST_TEST(steps(17, 1) == 2u);
  if (rank > 0)
    BOOST_TEST(test::uniform_message_of<ValueError>(world(), [&] { steps(13, 2); }) ==
               differing(8, 5, "the training data", rank));
  BOOST_TEST(steps(17, 2) == 4u);
  world().barrier();
  if (world().is_chief()) std::filesystem::remove_all(folder);
}
