// Data parallelism over MPI ranks, to be run under mpiexec: cases ddp_mlp_b32 ddp_cnn_b64 ddp_wide_b256, whose number
// is the global batch.
#include "workloads.hpp"

int main(int argc, char** argv) {
  namespace tr = trireme;
  tr::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of several MPI ranks");
  tr::MultiWorkerMirroredStrategy<> const strategy(environment.world());
  for (auto const& name : options.cases) {
    auto const is = [&](char const* start) { return name.rfind(start, 0) == 0; };
    if (is("ddp_mlp"))
      bench::train_classifier(strategy, bench::mlp(), tr::Adam{.learning_rate = 1e-3}, name, options);
    else if (is("ddp_cnn"))
      bench::train_classifier(strategy, bench::cnn(), tr::Adam{.learning_rate = 1e-3}, name, options);
    else if (is("ddp_wide"))
      bench::train_classifier(strategy, bench::wide(), tr::SGD{.learning_rate = 1e-3, .momentum = 0.9}, name, options);
    else
      throw tr::ValueError(fmt::format("there is no case '{}'", name));
  }
}
