// Mixed precision: cases wide_b256, cnn_b256, transformer_b16 and resnet18_b32 with numbers stored as BFloat16.
#include "workloads.hpp"

namespace tr = trireme;

int main(int argc, char** argv) {
  using Precision = tr::Mixed<tr::BFloat16>;
  tr::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps in Mixed precision");
  tr::OneDeviceStrategy<> const strategy(options.device);
  tr::Adam const adam{.learning_rate = 1e-3};
  tr::SGD const sgd{.learning_rate = 1e-3, .momentum = 0.9};
  for (auto const& name : options.cases) {
    auto const model = bench::model_of(name);
    if (model == "wide")
      bench::train_classifier<Precision>(strategy, bench::wide(), sgd, name, options);
    else if (model == "cnn")
      bench::train_classifier<Precision>(strategy, bench::cnn(), adam, name, options);
    else if (model == "transformer")
      bench::train_classifier<Precision>(strategy, bench::transformer(), adam, name, options);
    else if (model == "resnet18")
      bench::train_classifier<Precision>(strategy, bench::resnet18(), sgd, name, options);
    else
      throw tr::ValueError(fmt::format("there is no case '{}'", name));
  }
}
