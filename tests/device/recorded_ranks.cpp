// ranks: 1 2 3
// Steps of several processes that record their passes and their updates have the bits of steps that are not recorded.
#define BOOST_TEST_MODULE device_recorded_ranks
#include "support/device.hpp"

#include "support/twin_graph.hpp"

#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/fit.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

namespace {

using Strategy = MultiWorkerMirroredStrategy<test::Device>;

constexpr std::size_t samples = 22, batch = 5, epochs = 6;  // the last batch, of two rows, is uneven or empty on a rank
constexpr SparseCategoricalCrossentropy crossentropy{.from_logits = true};
std::vector<std::size_t> const mlp_extents{test::mlp_inputs},
    cnn_extents{test::cnn_inputs.begin(), test::cnn_inputs.end()};

struct Result {
  std::uint64_t weights;
  History history;
  std::string placement;
  std::size_t replays;
};

template <class P, class Architecture, class Optimizer>
Result trained(DeviceOptions const& options, Exchange exchange, Architecture const& architecture,
               Optimizer const& optimizer, std::vector<std::size_t> const& extents) {
  auto const train = test::make_samples<double>(samples, extents, test::classes),
             tests = test::make_samples<double>(9, extents, test::classes, 2);
  std::size_t const before = test::replays();
  Strategy const strategy(test::environment().world(), test::device(1), 256, exchange, options);
  auto model = compile<P>(strategy, architecture, optimizer, crossentropy, Accuracy{}, CompileOptions{.seed = 6});
  History history = fit(strategy, model, train.data().shuffle(samples, 4).batch(GlobalBatch{batch}),
                        validation(tests.data().batch(GlobalBatch{9})), {.epochs = epochs, .verbose = false});
  return {test::weight_bits(model), history, model.engine().placement(), test::replays() - before};
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

/// Recorded and not, to the bit. \return the recorded run
template <class P = double, class... Arguments>
Result check_same(Exchange exchange, Arguments const&... arguments) {
  auto const recorded = trained<P>({.record_steps = true}, exchange, arguments...),
             expected = trained<P>({}, exchange, arguments...);
  BOOST_TEST(recorded.weights == expected.weights);
  BOOST_TEST((recorded.history.values == expected.history.values));
  BOOST_TEST(!contains(expected.placement, "recorded"));
  BOOST_TEST(expected.replays == 0u);
  return recorded;
}
template <class P = double, class... Arguments>
void check_recorded(Exchange exchange, Arguments const&... arguments) {
  Result const run = check_same<P>(exchange, arguments...);
  BOOST_TEST(contains(run.placement, ", steps recorded"), run.placement);
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
  // Passes and update, or both as one of a rank that is alone. Memory moves until each rank has its copy of the inputs
  // and has validated.
  std::size_t const parts = test::environment().world().size() == 1 ? 1 : 2;
  BOOST_TEST(run.replays >= parts * 5);
#endif
}

}  // namespace

BOOST_AUTO_TEST_CASE(networks_have_the_same_bits) {
  check_recorded(Exchange::automatic, test::mlp(), Adam{.learning_rate = 0.03, .global_clipnorm = 0.5}, mlp_extents);
  check_recorded(Exchange::messages, test::law::convolutional(), SGD{.learning_rate = 0.05, .momentum = 0.9},
                 cnn_extents);
  check_recorded<Mixed<BFloat16, double>>(Exchange::messages, test::mlp(), Adam{.learning_rate = 0.03}, mlp_extents);
}

BOOST_AUTO_TEST_CASE(statistics_of_all_processes_keep_steps_from_being_recorded) {
  Result const run =
      check_same(Exchange::messages, test::law::normalized(SyncBatchNormalization<>{}), Adam{}, cnn_extents);
  BOOST_TEST(contains(run.placement, ", steps not recorded: statistics of the global batch pass through the host"),
             run.placement);
  BOOST_TEST(run.replays == 0u);
}

BOOST_AUTO_TEST_CASE(adaptors_say_why_they_record_nothing) {
  Strategy const strategy(test::environment().world(), test::device(1), 256, Exchange::messages,
                          {.record_steps = true});
  auto const placement = [](auto const& adapted) {
    return compile<double>(adapted, test::mlp(), Adam{}, crossentropy).engine().placement();
  };
  BOOST_TEST(contains(placement(Compressed<Strategy, BFloat16>(strategy)),
                      ", steps not recorded: gradients are brought together on the host"));
  BOOST_TEST(contains(placement(LocalSGD<Strategy, 2>(strategy)),
                      ", steps not recorded: the processes bring weights together, not gradients"));
  BOOST_TEST(contains(placement(VirtualReplicas<Strategy, 4>(strategy)),
                      ", steps not recorded: the shards of a batch are added up on the host"));
}

BOOST_AUTO_TEST_CASE(steps_of_several_processes_are_not_fused_and_the_placement_says_so) {
  Result const run = trained<double>({.fuse_steps = true}, Exchange::automatic, test::mlp(), Adam{}, mlp_extents);
  BOOST_TEST(contains(run.placement, ", steps not fused: "), run.placement);
}
