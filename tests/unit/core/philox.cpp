#define BOOST_TEST_MODULE philox
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>

#include "trireme/core/philox.hpp"

namespace {

void check_block(trireme::PhiloxCounter counter, trireme::PhiloxKey key, std::array<std::uint32_t, 4> expected) {
  trireme::PhiloxCounter const words = trireme::Philox4x32::block(counter, key);
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(words[i] == expected[i]);
}

}  // namespace

// The vectors are those of Random123's kat_vectors for philox4x32 with 10 rounds.
BOOST_AUTO_TEST_CASE(philox_gives_the_published_words_for_counter_and_key_zero) {
  check_block({{0, 0, 0, 0}}, {{0, 0}}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
}

BOOST_AUTO_TEST_CASE(philox_gives_the_published_words_for_all_bits_set) {
  std::uint32_t const all = 0xffffffff;
  check_block({{all, all, all, all}}, {{all, all}}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

BOOST_AUTO_TEST_CASE(philox_gives_the_published_words_for_the_digits_of_pi) {
  check_block({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}},
              {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}
