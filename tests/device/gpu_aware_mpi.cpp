// ranks: 2 3
// Messages leave a device's memory as it is where the MPI is GPU-aware, and through the host elsewhere, with the same
// bits.
#define BOOST_TEST_MODULE device_gpu_aware_mpi
#include "support/device.hpp"

#include "trireme/mpi/gpu_awareness.hpp"

/// The device in software lets MPI touch its memory, or not.
template <>
struct trireme::MpiReads<trireme::test::TwinMemory> {
  static bool value() { return test::twin::state().host_access; }
};

#include "support/law_models.hpp"
#include "support/law_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using namespace trireme::test::law;

namespace {

using test::Device;
using Workers = MultiWorkerMirroredStrategy<Device>;

/// Not the default instance, whose queue Kokkos uses where a call names no space.
Device device() { return test::device(1 + world().rank()); }

Workers workers() { return Workers(world(), device(), 256, Exchange::messages); }
template <std::size_t Stage>
ShardedStrategy<Device, Stage> sharded() {
  return ShardedStrategy<Device, Stage>(world(), device());
}
PipelineStrategy<Device> pipeline(std::size_t stages) {
  return PipelineStrategy<Device>(world(), {.micro_batches = 2, .stages = stages}, device());
}
ParameterServerStrategy<Device> servers(std::size_t staleness = 0) {
  return ParameterServerStrategy<Device>(world(), {.staleness = staleness}, device());
}

struct AwareMpi {
  AwareMpi() { test::twin::set_host_access(true); }
  ~AwareMpi() { test::twin::set_host_access(false); }
};

struct Result {
  std::vector<double> weights;
  History history;
  std::string placement;
};

auto perceptron_of_two() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{.kernel_regularizer = L2(0.1)},
                    BatchNormalization<>{.momentum = 0.8}, Dropout{.rate = 0.25f}, Dense<test::classes>{}};
}

template <class Make>
Result run(Make const& make, bool aware) {
  test::twin::set_host_access(aware);
  auto const samples = test::mlp_samples<double>(31);
  auto const strategy = make();
  auto model = compile<double>(strategy, perceptron_of_two(), Adam{.learning_rate = 0.03, .epsilon = 1e-3},
                               SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 1}, Accuracy{},
                               CompileOptions{.seed = 4});
  Result result;
  result.history = fit(strategy, model, samples.data().shuffle(31, 2).batch(GlobalBatch{4}),
                       validation(samples.weighted_data().batch(GlobalBatch{7})), {.epochs = 2, .verbose = false});
  for (auto const& name : model.weight_names())
    if (gives_weights(strategy))
      for (double const value : model.weights(name)) result.weights.push_back(value);
  result.placement = model.engine().placement();
  test::twin::set_host_access(false);
  return result;
}

/// A run's bits and its placement, both ways.
template <class Make>
void check_both_ways(Make const& make) {
  Result const staged = run(make, false), direct = run(make, true);
  BOOST_TEST(direct.weights == staged.weights);
  BOOST_TEST((direct.history.values == staged.history.values));
  auto const says = [](Result const& result, std::string_view text) {
    return result.placement.find(text) != std::string::npos;
  };
  BOOST_TEST(says(direct, ", messages from device memory"));
  BOOST_TEST(says(staged, ", messages through pinned host memory"));
}

/// Bytes that copies have brought from devices to the host.
std::uint64_t copied = 0;

void note(Kokkos::Tools::SpaceHandle to, char const*, void const*, Kokkos::Tools::SpaceHandle from, char const*,
          void const*, std::uint64_t size) {
  if (std::string_view(from.name) == "TwinMemory" && std::string_view(to.name) != "TwinMemory") copied += size;
}

/// The same in an epoch of so many batches, the second of a model: the first allocates.
template <class Make>
std::uint64_t copied_in_epoch(Make const& make, std::size_t batches) {
  auto const samples = test::mlp_samples<double>(6 * batches);
  auto const strategy = make();
  auto model = compile<double>(
      strategy, Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{}, Dense<6, Tanh>{}, Dense<test::classes>{}},
      momentum(), SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
  auto const data = samples.data().batch(GlobalBatch{6});
  fit(strategy, model, data, {.epochs = 1, .verbose = false});
  copied = 0;
  Kokkos::Tools::Experimental::set_begin_deep_copy_callback(note);
  fit(strategy, model, data, {.epochs = 1, .verbose = false});
  Kokkos::Tools::Experimental::set_begin_deep_copy_callback(nullptr);
  return copied;
}

/// Steps bring nothing to the host where the MPI is GPU-aware.
template <class Make>
void check_copies(Make const& make) {
  BOOST_TEST(copied_in_epoch(make, 9) > copied_in_epoch(make, 3));
  AwareMpi const aware;
  BOOST_TEST(copied_in_epoch(make, 9) == copied_in_epoch(make, 3));
}

}  // namespace

BOOST_AUTO_TEST_CASE(memory_of_hosts_is_read_and_unknown_memory_is_not) {
  BOOST_TEST(mpi_reads<Kokkos::DefaultHostExecutionSpace>());
  BOOST_TEST(message_path<Kokkos::DefaultHostExecutionSpace>().empty());
  BOOST_TEST(!MpiReads<int>::value());
  BOOST_TEST(!mpi_reads<Device>());
  AwareMpi const aware;
  BOOST_TEST(mpi_reads<Device>());
}

BOOST_AUTO_TEST_CASE(both_ways_give_the_same_bits_and_say_so) {
  check_both_ways(workers);
  check_both_ways(sharded<1>);
  check_both_ways(sharded<2>);
  check_both_ways(sharded<3>);
  check_both_ways([] { return pipeline(world().size()); });
  check_both_ways([] { return pipeline(1); });
  check_both_ways([] { return servers(); });
  if (world().size() <= 2) check_both_ways([] { return servers(2); });  // one worker at a time has no order to choose
}

BOOST_AUTO_TEST_CASE(steps_copy_nothing_to_the_host_where_mpi_reads_devices) {
  check_copies(workers);
  check_copies(sharded<1>);
  check_copies(sharded<2>);
  check_copies(sharded<3>);
  check_copies([] { return pipeline(world().size()); });
  check_copies([] { return pipeline(1); });
  check_copies([] { return servers(); });
}

BOOST_FIXTURE_TEST_CASE(an_aware_mpi_trains_as_one_device_does, AwareMpi) {
  check_row<Attention>("MultiWorkerMirrored with messages", workers());
  check_row<Cnn>("Sharded of stage 1", sharded<1>());
  check_row<Normalization>("Sharded of stage 2", sharded<2>());
  check_row<Lstm>("Sharded of stage 3", sharded<3>());
  check_row<Mlp>("Pipeline", pipeline(world().size()));
  check_row<Mlp>("ParameterServer", servers());
}
