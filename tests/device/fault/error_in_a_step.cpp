// ranks: 2 3   labels: fault   exit: 1   says: trireme: rank 1: the sensor of this rank is gone
#include "device/fault/failing_layer.hpp"

#include <stdexcept>

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  trireme::test::train_until_rank_1_fails(environment.world(),
                                          [] { throw std::runtime_error("the sensor of this rank is gone"); });
}
