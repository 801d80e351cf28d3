// Sequences, Adam: transformer_b16, a block of attention and perceptron with normalization before each; lstm_b32.
#include "workloads.hpp"

namespace tr = trireme;

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of transformer and lstm");
  tr::OneDeviceStrategy<> const strategy(options.device);
  tr::Adam const adam{.learning_rate = 1e-3};
  for (auto const& name : options.cases)
    if (name.starts_with("transformer"))
      bench::train_classifier(strategy, bench::transformer(), adam, name, options);
    else
      bench::train_classifier(strategy, bench::lstm(), adam, name, options);
}
