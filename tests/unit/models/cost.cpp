// What a model takes is known while it is compiled, and is what is allocated.
#define BOOST_TEST_MODULE cost
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trireme/activations/softmax.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/workspace.hpp"
#include "trireme/strategies/gradients/gradient_buckets.hpp"

using namespace trireme;

namespace {

constexpr Sequential digits{Input<28, 28, 1>{}, Conv2D<32, 3, 3, ReLU>{}, MaxPooling2D<2, 2>{},
                            Flatten{},          Dropout{.rate = 0.25f},   Sequential{Dense<64, Tanh>{}},
                            Dense<10>{},        Activation<Softmax>{}};

constexpr ModelCost cost = model_cost<float>(digits);
static_assert(cost.parameters == 9 * 32 + 32 + 13 * 13 * 32 * 64 + 64 + 64 * 10 + 10);
static_assert(cost.arena_bytes == 4 * (9 * 32 + 32 + 13 * 13 * 32 * 64 + 64 + 64 * 10 + 16));
static_assert(cost.activation_bytes == 4 * (26 * 26 * 32 + 2 * 13 * 13 * 32 + 64 + 10 + 10));
static_assert(cost.reduced_bytes() == cost.arena_bytes);
static_assert(model_cost<double>(digits).activation_bytes == 2 * cost.activation_bytes);

// Twice the rows take more, under either plan.
constexpr PartitionPlan two_threads = plan_partitions(Parallelism::samples, 1, 2, cost.arena_bytes, true);
constexpr std::size_t workspace(PartitionPlan const& plan, std::size_t rows) {
  return workspace_bytes<float, SparseCategoricalCrossentropy, Kokkos::DefaultHostExecutionSpace>(digits, plan, rows);
}
// The library's own kernels pool a convolution's outputs before they would be written.
constexpr std::size_t written = cost.activation_bytes - (detail::has_simd ? 4 * 26 * 26 * 32 : 0);
static_assert(workspace(two_threads, 32) > 32 * written);
static_assert(workspace(two_threads, 64) > workspace(two_threads, 32));
static_assert(workspace(PartitionPlan{}, 64) > workspace(PartitionPlan{}, 32));

/// Bytes of the Views that Kokkos allocates under each of the names while one lives.
struct Allocated {
  static inline std::size_t workspace, parameters, gradients, slots;
  Allocated() {
    workspace = parameters = gradients = slots = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, char const* label, void const*, std::uint64_t size) {
          if (std::strcmp(label, "trireme::workspace") == 0) workspace += size;
          if (std::strcmp(label, "trireme::parameters") == 0) parameters += size;
          if (std::strcmp(label, "trireme::gradients") == 0) gradients += size;
          if (std::strcmp(label, "trireme::optimizer_slot") == 0) slots += size;
        });
  }
  ~Allocated() { Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr); }
};

/// The forecast for `replicas` against what is allocated for batches of `rows`.
template <class T, class Strategy, class Architecture>
void check_forecast(Strategy const& strategy, std::size_t replicas, Architecture const& architecture,
                    std::size_t rows) {
  using Space = typename Strategy::Space;
  constexpr std::size_t inputs = decltype(architecture.input())::static_extents[0];
  auto const samples = test::make_samples<T>(2 * rows, {inputs}, 4);
  auto const data = samples.data().batch(GlobalBatch{rows});
  ModelCost const forecast = model_cost<T>(architecture);
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
    BOOST_TEST_CONTEXT((plan == Parallelism::samples ? "samples" : "intra_op")) {
      Allocated const allocated;
      auto model = compile<T>(strategy, architecture, Adam{}, SparseCategoricalCrossentropy{},
                              CompileOptions{.parallelism = plan});
      fit(strategy, model, data, {.verbose = false});
      PartitionPlan const partitions =
          plan_partitions(plan, replicas, static_cast<std::size_t>(Space().concurrency()), 0, true);
      BOOST_TEST(Allocated::parameters == forecast.arena_bytes);
      BOOST_TEST(Allocated::gradients == partitions.partitions * forecast.arena_bytes);
      BOOST_TEST(Allocated::slots == 2 * forecast.arena_bytes);
      BOOST_TEST(Allocated::workspace ==
                 (workspace_bytes<T, SparseCategoricalCrossentropy, Space>(architecture, partitions, rows)));

      MemoryUse const use = model.engine().memory_use(rows);
      BOOST_TEST(use.workspace_bytes == Allocated::workspace);
      BOOST_TEST(use.optimizer_bytes() == Allocated::slots);
      BOOST_TEST(model.parameter_count() == forecast.parameters);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_forecast_is_what_is_allocated) {
  Sequential const plain{Input<6>{}, Dense<9, Tanh>{}, Dropout{}, Sequential{Dense<7>{}}, Dense<4>{}};
  Sequential const ends_in_softmax{Input<6>{}, Dense<9, ReLU>{}, Dense<4, Softmax>{}};
  for (std::size_t rows : {1u, 6u, 13u}) {
    check_forecast<float>(OneDeviceStrategy<>(), 1, plain, rows);
    check_forecast<double>(MirroredStrategy<>(3), 3, plain, rows);
    check_forecast<float>(OneDeviceStrategy<>(), 1, ends_in_softmax, rows);
  }
}

BOOST_AUTO_TEST_CASE(what_is_reduced_is_what_the_buckets_hold) {
  for (std::size_t bucket_bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{1} << 30}) {
    std::size_t bytes = 0;
    for (auto const& range : bucket_ranges<float>(describe<float>(digits), bucket_bytes))
      bytes += (range.end - range.begin) * sizeof(float);
    BOOST_TEST(bytes == cost.reduced_bytes());
  }
}

BOOST_AUTO_TEST_CASE(the_forecast_of_a_model_whose_width_is_given_at_run_time_is_computed_then) {
  Sequential const model{Input<6>{}, Dense<dynamic, ReLU>{.units = 9}, Dense<4>{}};
  BOOST_TEST(model_cost<float>(model).parameters == 6u * 9 + 9 + 9 * 4 + 4);
  check_forecast<float>(OneDeviceStrategy<>(), 1, model, 13);
}
