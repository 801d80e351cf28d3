// StepNumber is an integer; where steps are recorded, reads by host code and streams that kernels need are noted.
#define BOOST_TEST_MODULE layers_step_number
#include "trireme/layers/step_number.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "trireme/layers/call.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(it_is_an_integer) {
  StepKeys keys{.seed = 3, .step = 5};
  ++keys.step;
  std::uint64_t const number = keys.step;
  BOOST_TEST(number == 6u);
  BOOST_TEST(keys.step.unnoted() == 6u);
  BOOST_TEST((keys.step.streams() == nullptr));
  BOOST_TEST((StepKeys{}.step == 0u));
}

BOOST_AUTO_TEST_CASE(only_a_read_as_an_integer_is_noted) {
  StepStreams streams;
  streams.begin(nullptr);
  StepNumber const number(7, nullptr, streams), copy = number;
  BOOST_TEST(copy.unnoted() == 7u);
  BOOST_TEST(!streams.read_on_host());
  std::uint64_t const read = copy;
  BOOST_TEST(read == 7u);
  BOOST_TEST(streams.read_on_host());
  streams.begin(nullptr);
  BOOST_TEST(!streams.read_on_host());
}

BOOST_AUTO_TEST_CASE(a_stream_is_in_memory_from_the_step_after_the_first_that_asks_for_it) {
  StreamName const dropout{3, Purpose::dropout, 1, 0}, noise{3, Purpose::noise, 1, 0};
  StepStreams streams;
  std::vector<RowStream> memory(2, dropout.in_step(0));
  auto const begin = [&](std::uint64_t step) {
    std::vector<std::byte> bytes(streams.count() * sizeof(RowStream));
    streams.write(step, bytes.data());
    if (!bytes.empty()) std::memcpy(static_cast<void*>(memory.data()), bytes.data(), bytes.size());
    streams.begin(memory.data());
  };
  begin(4);
  BOOST_TEST((streams.find(dropout) == nullptr));
  BOOST_TEST(!streams.complete());
  begin(5);
  BOOST_TEST((streams.find(dropout) == memory.data()));
  BOOST_TEST(streams.complete());
  BOOST_TEST((streams.find(noise) == nullptr));
  BOOST_TEST(!streams.complete());
  begin(6);
  BOOST_TEST((streams.find(noise) == memory.data() + 1));
  BOOST_TEST((streams.find(dropout) == memory.data()));
  BOOST_TEST(streams.complete());
  for (StreamName const& name : {dropout, noise})
    BOOST_TEST((streams.find(name)->block(8, 9) == name.in_step(6).block(8, 9)));
}
