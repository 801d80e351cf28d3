// The convolutional network of examples/digits, Adam: cases cnn_b64 cnn_b256.
#include "workloads.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of cnn");
  for (auto const& name : options.cases)
    bench::train_classifier(trireme::OneDeviceStrategy<>(options.device), bench::cnn(),
                            trireme::Adam{.learning_rate = 1e-3}, name, options);
}
