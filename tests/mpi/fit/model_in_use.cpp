// ranks: 1 2 3   labels: fault   exit: 0   says: trained
// On one rank a thread calls functions on a model that the main thread uses. Its errors are its own: the other ranks,
// which have no part in these calls, are not waited for, and all train on together.
#include "support/failing_fit.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

#include "trireme/core/error.hpp"
#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  auto model = test::classifier(strategy);
  test::ZeroSamples const samples{40};
  auto const data = samples.data().batch(GlobalBatch{20});
#ifdef NDEBUG
  int const errors = 3;  // where nothing is checked
#else
  int errors = 0;
  if (environment.world().is_chief()) {
    auto const use = model.begin_use("main");
    std::thread([&] {
      auto const count = [&](auto const& call) {
        try {
          call();
        } catch (ValueError const&) {
          ++errors;
        }
      };
      count([&] { fit(strategy, model, data, {.verbose = false}); });
      count([&] { evaluate(strategy, model, data); });
      count([&] { predict(strategy, model, data); });
    }).join();
  }
#endif
  fit(strategy, model, data, {.verbose = false});
  if (environment.world().is_chief() && errors == 3) std::puts("trained");
}
