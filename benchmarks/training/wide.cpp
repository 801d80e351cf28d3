// 1024-4096-4096-10 ReLU, SGD with momentum: case wide_b256.
#include "workloads.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of wide");
  for (auto const& name : options.cases)
    bench::train_classifier(trireme::OneDeviceStrategy<>(options.device), bench::wide(),
                            trireme::SGD{.learning_rate = 1e-3, .momentum = 0.9}, name, options);
}
