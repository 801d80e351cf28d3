// 784-128-10 ReLU, Adam: cases mlp_b32 mlp_b64 mlp_b512.
#include "workloads.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of mlp");
  for (auto const& name : options.cases)
    bench::train_classifier(trireme::OneDeviceStrategy<>(options.device), bench::mlp(),
                            trireme::Adam{.learning_rate = 1e-3}, name, options);
}
