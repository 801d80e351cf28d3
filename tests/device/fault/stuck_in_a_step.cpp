// ranks: 2 3   labels: fault   exit: error   says: is stuck, in epoch 1 after step 3, outside of the library's calls
#include "device/fault/failing_layer.hpp"

#include <chrono>
#include <thread>

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv, {.deadline = std::chrono::seconds(3)});
  trireme::test::train_until_rank_1_fails(environment.world(),
                                          [] { std::this_thread::sleep_for(std::chrono::minutes(5)); });
}
