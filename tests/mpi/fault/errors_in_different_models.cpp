// ranks: 2   labels: fault   exit: error   says: since errors ended this step in different places
// Errors take the ranks out of calls of two models, whose processes share a communicator for that.
#include "support/failing_fit.hpp"

#include <chrono>
#include <stdexcept>

#include <fmt/format.h>

#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

namespace {

struct Throws {
  void on_train_batch_end(auto&) const { throw std::runtime_error("no more"); }
};

}  // namespace

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  MultiWorkerMirroredStrategy<> const strategy(environment.world(), {}, 512, Exchange::messages);
  auto const make = [&] {
    return compile(strategy, Sequential{Input<3>{}, Dense<10>{}}, SGD{},
                   SparseCategoricalCrossentropy{.from_logits = true});
  };
  auto a = make(), b = make();
  test::ZeroSamples const samples{20};
  try {
    fit(strategy, environment.world().is_chief() ? a : b, samples.data().batch(GlobalBatch{20}), {.verbose = false},
        Throws{});
  } catch (std::exception const&) {
    fmt::print("the error was caught\n");
  }
}
