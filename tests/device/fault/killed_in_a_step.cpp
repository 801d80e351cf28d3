// ranks: 2 3   labels: fault   exit: error   says: is gone: it was killed, or ended without leaving its Environment, in
// epoch 1 after step 3
#include "device/fault/failing_layer.hpp"

#include <csignal>

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  trireme::test::train_until_rank_1_fails(environment.world(), [] { std::raise(SIGKILL); });
}
