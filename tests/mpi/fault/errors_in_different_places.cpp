// ranks: 2 3 4   labels: fault   exit: error   says: since errors ended this step in different places
// All ranks catch an error of the same step, which the first rank left later than the others, or earlier.
#include "support/failing_fit.hpp"
#include "support/refusing_layer.hpp"

#include <chrono>
#include <stdexcept>

#include <fmt/format.h>

#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

/// Throws where a step has been taken.
struct Throws {
  bool throws;
  template <class Run>
  void on_train_batch_end(Run const&) const {
    if (throws) throw std::runtime_error("no more");
  }
};

void train(auto const& strategy, bool after_step) {
  auto model = compile(
      strategy, Sequential{Input<3>{}, Dense<10>{}, test::Refusing{}, Dense<10>{}, Dense<10>{}, Dense<10>{}}, SGD{},
      SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.parallelism = Parallelism::intra_op});
  test::ZeroSamples const samples{20};
  try {
    fit(strategy, model, samples.data().batch(GlobalBatch{20}), {.verbose = false}, Throws{after_step});
  } catch (std::exception const&) {
    fmt::print("the error was caught\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  auto const& world = environment.world();
  bool const is_first = world.rank() == 0;
  test::refuses = is_first ? test::Refuses::backward : test::Refuses::forward;
  if (world.size() == 2) {  // one has begun sums of gradients
    train(MultiWorkerMirroredStrategy<>(world, {}, 64, Exchange::messages), false);
  } else if (world.size() == 3) {
    train(ShardedStrategy<Kokkos::DefaultHostExecutionSpace, 2>(world), false);
  } else {  // the first stage has not taken the step that the others have
    train(PipelineStrategy<Kokkos::DefaultHostExecutionSpace, 2, 3, 4>(world), !is_first);
  }
}
