// ranks: 2 3 4   labels: collectives
#define BOOST_TEST_MODULE probe
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <vector>

using namespace trireme;

BOOST_AUTO_TEST_CASE(a_message_is_seen_by_its_tag_whoever_sends_it_and_received_later) {
  auto const& world = test::environment().world();
  if (world.is_chief()) {
    BOOST_TEST(!world.probe(8).has_value());
    std::vector<int> received(world.size(), 0);
    for (std::size_t seen = 0; seen < 2 * (world.size() - 1);)
      if (auto const from = world.probe(7)) {
        std::vector<std::size_t> value(1);
        world.receive(value, *from, 7);
        BOOST_TEST(value[0] == 10 * *from + static_cast<std::size_t>(received[*from]++));
        ++seen;
      }
    BOOST_TEST(!world.probe(7).has_value());
    BOOST_TEST(!world.probe(8).has_value());
  } else {
    for (std::size_t i = 0; i < 2; ++i) world.send(std::vector<std::size_t>{10 * world.rank() + i}, 0, 7);
  }
  world.barrier();
}
