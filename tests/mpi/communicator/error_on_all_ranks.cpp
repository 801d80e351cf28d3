// ranks: 1 3   labels: fault   exit: 1   says: trireme: train.idx: is missing
#include "trireme/environment/environment.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  environment.world().together([] { throw trireme::FileError("train.idx", "is missing"); });
}
