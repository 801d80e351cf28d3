// ranks: 1 3   labels: fault   exit: 1   says: trireme: no-such-images.idx: cannot be opened
#include "trireme/environment/environment.hpp"
#include "trireme/io/idx.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  environment.world().together([] { return trireme::io::read_idx("no-such-images.idx"); });
}
