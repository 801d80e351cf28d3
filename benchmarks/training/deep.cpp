// Deep convolutional networks: cases resnet18_b32, vgg_b16, unet_b8 and conv1d_b64.
#include "workloads.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of resnet18, vgg, unet and conv1d");
  for (auto const& name : options.cases)
    bench::train_deep(trireme::OneDeviceStrategy<>(options.device), bench::model_of(name), name, options);
}
