// ranks: 1 3   labels: fault   exit: error   says: has waited in MPI_Comm_split for
#include <chrono>
#include <thread>

#include "trireme/environment/environment.hpp"

/// As if a call did not return that MPI offers in a blocking form only: no deadline is looked at meanwhile.
int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv, {.threads = 1, .deadline = std::chrono::seconds(1)});
  trireme::DeadlineWait const waiting("MPI_Comm_split");
  std::this_thread::sleep_for(std::chrono::minutes(5));
}
