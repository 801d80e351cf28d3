// ranks: 1 2 3
// The inputs of a training go to a device once, if they fit there; steps take them from there, with the results of a
// host.
#define BOOST_TEST_MODULE device_kept_inputs
#include "support/device.hpp"

#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "trireme/fit.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using test::Device;

constexpr std::size_t samples = 23, batch = 5, steps = 5;  // the last batch is smaller

/// Steps that took scattered rows from the device's copy, copies of blocks within the device, and copies of all inputs.
std::atomic<std::size_t> gathers = 0, blocks = 0, whole = 0;

void note_kernel(char const* label, std::uint32_t, std::uint64_t*) {
  gathers += std::string_view(label) == "trireme: gather_rows";
}
void note_copy(Kokkos::Tools::SpaceHandle to, char const*, void const*, Kokkos::Tools::SpaceHandle from, char const*,
               void const*, std::uint64_t bytes) {
  whole += bytes >= samples * test::mlp_inputs * sizeof(double);
  blocks += std::string_view(to.name) == Device::memory_space::name() &&
            std::string_view(from.name) == Device::memory_space::name();
}

template <class Space>
Space space() {
  if constexpr (std::is_same_v<Space, Device>)
    return test::device(1);
  else
    return Space();
}

/// Counts what a scope launches and copies.
struct Counts {
  Counts() {
    for (auto* const count : {&gathers, &blocks, &whole}) *count = 0;
    space<Device>();  // the first one sets callbacks of its own
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(note_kernel);
    Kokkos::Tools::Experimental::set_begin_deep_copy_callback(note_copy);
  }
  ~Counts() {
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_deep_copy_callback(nullptr);
  }
};

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
void leave_memory(std::size_t) {}
constexpr bool sets_memory = false;
#else
void leave_memory(std::size_t bytes) { test::free_memory = bytes; }
constexpr bool sets_memory = true;
#endif

std::size_t ranks() { return test::environment().world().size(); }

template <class Space>
using Workers = MultiWorkerMirroredStrategy<Space>;
template <class Space>
struct Stages : PipelineStrategy<Space> {
  Stages(Communicator const& all, Space const& space) : PipelineStrategy<Space>(all, {}, space) {}
};
template <class Space>
using Shards = ShardedStrategy<Space, 3>;
/// Two devices of one process, or as many replicas of a host.
template <class Space>
struct Mirrors : MirroredStrategy<Space> {
  Mirrors(Communicator const&, Space const&) : MirroredStrategy<Space>(places()) {}
  static auto places() {
    if constexpr (std::is_same_v<Space, Device>)
      return test::devices(2);
    else
      return std::size_t{2};
  }
};

/// f(strategy, model) trains a model on this space; then check(model, history).
template <class Strategy, class F, class Check>
void trained(F const& f, Check const& check) {
  Strategy const strategy(test::environment().world(), space<typename Strategy::Space>());
  auto model = compile<double>(strategy, test::mlp(), Adam{.learning_rate = 0.02},
                               SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
  History const history = f(strategy, model);
  check(model, history);
}

/// Trains as on a host. Counts what the device launches.
template <template <class> class Strategy = Workers, class F>
void check_same(F const& f) {
  trained<Strategy<Kokkos::DefaultHostExecutionSpace>>(f, [&](auto const& expected, History const& expected_history) {
    Counts const counts;
    trained<Strategy<Device>>(f, [&](auto const& model, History const& history) {
      test::check_same_weights(model, expected, 1e-12);
      test::check_same_history(history, expected_history, 1e-12);
    });
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(inputs_stay_once_as_many_were_sent_as_there_are) {
  auto const data = test::mlp_samples<double>(samples);
  std::size_t const epochs = 2 * ranks() + 2;
  check_same([&](auto const& strategy, auto& model) {
    return fit(strategy, model, data.weighted_data().shuffle(samples, 7).batch(GlobalBatch{batch}),
               {.epochs = epochs, .verbose = false});
  });
  BOOST_TEST(gathers > 0u);                                // each rank draws some of the rows of an epoch
  if (ranks() == 1) BOOST_TEST(gathers == 3 * steps - 1);  // the first batch of the second epoch comes with the copy
  BOOST_TEST(blocks == 0u);
}

BOOST_AUTO_TEST_CASE(blocks_of_validation_data_and_of_data_in_order_are_copied_within_the_device) {
  auto const data = test::mlp_samples<double>(samples), others = test::mlp_samples<double>(samples, 2);
  std::size_t const epochs = 2 * ranks() + 1;
  check_same([&](auto const& strategy, auto& model) {
    return fit(strategy, model, data.data().batch(GlobalBatch{batch}),
               validation(others.weighted_data().batch(GlobalBatch{batch})), {.epochs = epochs, .verbose = false});
  });
  BOOST_TEST(gathers == 0u);
  BOOST_TEST(blocks > 0u);
  if (ranks() == 1) BOOST_TEST(blocks == 2 * (2 * steps - 1));
}

BOOST_AUTO_TEST_CASE(batches_that_were_gathered_before_the_copy_was_there_train_as_others) {
  auto const data = test::mlp_samples<double>(samples);
  check_same([&](auto const& strategy, auto& model) {
    return fit(strategy, model, data.data().shuffle(samples, 7).batch(GlobalBatch{batch}).prefetch(3),
               {.epochs = 2 * ranks() + 2, .verbose = false});
  });
  BOOST_TEST(gathers > 0u);
  BOOST_TEST(whole == 1u);
}

BOOST_AUTO_TEST_CASE(a_part_of_data_that_repeat_is_taken_from_all_of_them) {
  auto const data = test::mlp_samples<double>(samples + 9);
  check_same([&](auto const& strategy, auto& model) {
    return fit(strategy, model,
               data.data().skip(4).take(samples).shuffle(samples, 3).repeat().batch(GlobalBatch{batch}),
               {.epochs = 6 * ranks(), .steps_per_epoch = 4, .verbose = false});
  });
  BOOST_TEST(gathers > 0u);
}

BOOST_AUTO_TEST_CASE(one_pass_over_data_copies_none_of_them) {
  auto const data = test::mlp_samples<double>(samples);
  check_same([&](auto const& strategy, auto& model) {
    auto const batches = data.data().batch(GlobalBatch{batch});
    auto history = fit(strategy, model, batches, validation(batches), {.epochs = 1, .verbose = false});
    evaluate(strategy, model, batches, {.verbose = false});
    evaluate(strategy, model, batches, {.verbose = false});
    fit(strategy, model, batches, {.epochs = 1, .verbose = false});
    return history;
  });
  BOOST_TEST(gathers + blocks + whole == 0u);
}

BOOST_AUTO_TEST_CASE(inputs_stay_where_the_model_is_divided) {
  auto const data = test::mlp_samples<double>(samples);
  auto const training = [&](auto const& strategy, auto& model) {
    return fit(strategy, model, data.data().shuffle(samples, 7).batch(GlobalBatch{batch}),
               validation(data.data().batch(GlobalBatch{batch})), {.epochs = 2 * ranks() + 1, .verbose = false});
  };
  check_same<Shards>(training);
  BOOST_TEST(gathers > 0u);
  if (ranks() > 2) return;  // of two layers that have parameters
  check_same<Stages>(training);
  // Every stage draws all rows, and the first alone needs their inputs.
  bool const is_first = test::environment().world().is_chief();
  BOOST_TEST(gathers == (is_first ? 2 * ranks() * steps - 1 : 0));
  BOOST_TEST(blocks >= (is_first ? 2 * ranks() * steps - 1 : 0));
}

BOOST_AUTO_TEST_CASE(each_device_of_a_process_keeps_a_copy) {
  if (ranks() > 1) return;
  auto const data = test::mlp_samples<double>(samples);
  check_same<Mirrors>([&](auto const& strategy, auto& model) {
    return fit(strategy, model, data.weighted_data().shuffle(samples, 7).batch(GlobalBatch{batch}),
               validation(data.data().batch(GlobalBatch{batch})), {.epochs = 8, .verbose = false});
  });
  BOOST_TEST(whole == 4u);  // training and validation data on both
  BOOST_TEST(gathers > 0u);
  BOOST_TEST(blocks > 0u);
}

BOOST_AUTO_TEST_CASE(data_may_change_between_trainings) {
  check_same([](auto const& strategy, auto& model) {
    auto data = test::mlp_samples<double>(samples);
    auto const batches = data.data().shuffle(samples, 7).batch(GlobalBatch{batch});
    FitOptions const options{.epochs = 2 * ranks() + 1, .verbose = false};
    fit(strategy, model, batches, options);
    data.x *= -0.5;
    return fit(strategy, model, batches, options);
  });
  BOOST_TEST(gathers > 0u);
}

BOOST_AUTO_TEST_CASE(inputs_of_more_than_an_eighth_of_what_is_free_come_from_the_host) {
  auto const data = test::mlp_samples<double>(samples);
  std::size_t const bytes = samples * test::mlp_inputs * sizeof(double);
  auto const training = [&](auto const& strategy, auto& model) {
    return fit(strategy, model, data.data().shuffle(samples, 7).batch(GlobalBatch{batch}),
               {.epochs = 2 * ranks() + 1, .verbose = false});
  };
  if (!sets_memory) return;
  leave_memory(8 * bytes - 1);
  check_same(training);
  BOOST_TEST(gathers == 0u);
  leave_memory(8 * bytes);
  check_same(training);
  BOOST_TEST(gathers > 0u);
  leave_memory(std::size_t{1} << 30);
}
