// ranks: 1 2 3   labels: fault   exit: 0   says: trained
// On one rank a thread calls functions on a model that the main thread uses. Its errors are its own: the other ranks,
// which have no part in these calls, are not waited for, and all train on together.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "trireme/trireme.hpp"

namespace tr = trireme;

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  tr::MultiWorkerMirroredStrategy<> const strategy(environment.world());
  xt::xtensor<float, 2> const x = xt::zeros<float>({40, 3});
  std::vector<std::int32_t> const y(40, 1);
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<3>{}, tr::Dense<10>{}}, tr::SGD{},
                           tr::SparseCategoricalCrossentropy{.from_logits = true});
  auto const data = tr::data::from_tensor_slices(x, y).batch(tr::GlobalBatch{20});
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
        } catch (tr::ValueError const&) {
          ++errors;
        }
      };
      count([&] { tr::fit(strategy, model, data, {.verbose = false}); });
      count([&] { tr::evaluate(strategy, model, data); });
      count([&] { tr::predict(strategy, model, data); });
    }).join();
  }
#endif
  tr::fit(strategy, model, data, {.verbose = false});
  if (environment.world().is_chief() && errors == 3) std::puts("trained");
}
