// 3-64-64-64-1 tanh, mean squared error, Adam: cases surrogate_b256 surrogate_b4096.
#include "workloads.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of surrogate");
  for (auto const& name : options.cases)
    bench::train_surrogate(trireme::OneDeviceStrategy<>(options.device), name, options);
}
