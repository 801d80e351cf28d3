// ranks: 1 3   labels: fault   exit: 1   says: trireme: truncated-images.idx: is truncated
#include <fstream>

#include "trireme/environment/environment.hpp"
#include "trireme/io/idx.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  auto const& world = environment.world();
  world.on_chief([](auto const&) {
    std::ofstream file("truncated-images.idx", std::ios::binary);  // says 3 images of 2 x 2 and holds one
    file.write("\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02\x01\x02\x03\x04", 20);
  });
  world.together([] { return trireme::io::read_idx("truncated-images.idx"); });
}
