// ranks: 2 3   labels: fault   exit: 1   says: trireme: rank 1: train.idx: is truncated
#include "trireme/environment/environment.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  if (environment.world().rank() == 1) throw trireme::FileError("train.idx", "is truncated");
  environment.world().barrier();
}
