// ranks: 1 2 3 4
// What a rank takes for weights, gradients and optimizer is what the constant expression says, byte for byte.
#define BOOST_TEST_MODULE sharded_memory
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

template <std::size_t N>
using Number = std::integral_constant<std::size_t, N>;
using Stages = std::tuple<Number<1>, Number<2>, Number<3>>;

std::map<std::string, std::size_t>& live_bytes() {
  static std::map<std::string, std::size_t> bytes;
  return bytes;
}

/// While one lives, the bytes that Kokkos has allocated under each label are counted.
struct ByteHooks {
  ByteHooks() {
    live_bytes().clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback([](Kokkos_Profiling_SpaceHandle, char const* label,
                                                               void const*,
                                                               std::uint64_t size) { live_bytes()[label] += size; });
    Kokkos::Tools::Experimental::set_deallocate_data_callback([](Kokkos_Profiling_SpaceHandle, char const* label,
                                                                 void const*,
                                                                 std::uint64_t size) { live_bytes()[label] -= size; });
  }
  ~ByteHooks() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
};

/// Beside these there are a byte or eight: counters, norms, sums of metrics, and what batches take.
std::size_t of(std::string const& label) { return live_bytes()["trireme::" + label]; }

constexpr Sequential architecture{
    Input<6, 5, 2>{},  Conv2D<3, 3, 3, Same, NoBias>{}, SyncBatchNormalization<>{}, ReLU{}, Flatten{},
    Dense<33, ReLU>{}, Dense<test::classes>{}};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_takes_the_bytes_that_were_foretold, Stage, Stages) {
  constexpr std::size_t stage = Stage::value;
  constexpr ShardedMemory first_of_four = sharded_memory<float, stage>(architecture, 2, 0, 4);
  static_assert(first_of_four.total() > 0);
  auto const train = test::cnn_samples<float>(20);
  ByteHooks const hooks;
  ShardedStrategy<Kokkos::DefaultExecutionSpace, stage> const strategy(world());
  auto model = compile(strategy, architecture, Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
  fit(strategy, model, train.data().batch(GlobalBatch{7}), {.epochs = 2, .verbose = false});

  auto const foretold = sharded_memory<float, stage>(architecture, 2, world().rank(), world().size());
  BOOST_TEST(of("parameters") == foretold.parameters);
  BOOST_TEST(of("gradients") == foretold.gradients);
  BOOST_TEST(of("optimizer_slot") == foretold.optimizer);
  BOOST_TEST(model.engine().memory_use(1).optimizer_bytes() == foretold.optimizer);
  BOOST_TEST(of("gradient_buffers") + of("parameter_buffers") == foretold.buffers);
  std::size_t const rows =
      row_range(7, world().rank(), world().size()).end - row_range(7, world().rank(), world().size()).begin;
  BOOST_TEST(of("workspace") == model.engine().memory_use(std::max<std::size_t>(rows, 1)).workspace_bytes);
  std::size_t largest_other = 0;
  for (auto const& [label, bytes] : live_bytes())
    if (label.rfind("trireme::", 0) == 0 && label != "trireme::parameters" && label != "trireme::gradients" &&
        label != "trireme::optimizer_slot" && label != "trireme::gradient_buffers" &&
        label != "trireme::parameter_buffers" && label != "trireme::workspace" && label != "trireme::partial_sums")
      largest_other = std::max(largest_other, bytes);
  BOOST_TEST(largest_other <= 16 * sizeof(double));  // nothing of the model's size hides under another name
}

BOOST_AUTO_TEST_CASE(shards_of_all_ranks_make_up_the_model) {
  constexpr auto cost = model_cost<float>(architecture);
  constexpr std::size_t ranks = 4;
  std::size_t parameters = 0, optimizer = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto const use = sharded_memory<float, 3>(architecture, 2, rank, ranks);
    parameters += use.parameters - cost.state_bytes;
    optimizer += use.optimizer;
  }
  BOOST_TEST(parameters == cost.arena_bytes);
  BOOST_TEST(optimizer == 2 * cost.arena_bytes);
}
