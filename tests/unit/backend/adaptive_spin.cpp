#define BOOST_TEST_MODULE adaptive_spin
#include "support/kokkos_fixture.hpp"

#include <cstdint>

#include "trireme/backend/threads/adaptive_spin.hpp"
#include "trireme/backend/threads/backoff.hpp"

using namespace trireme;
using detail::AdaptiveSpin;

namespace {

/// True if it spins longer than briefly for what does not happen.
bool spins_long(AdaptiveSpin& spin) {
  std::uint32_t turns = 0;
  BOOST_TEST(!spin([&] { return ++turns == 0; }));
  return turns > AdaptiveSpin::turns;
}

/// Waits until it spins long again.
std::uint32_t brief_waits(AdaptiveSpin& spin) {
  std::uint32_t waits = 0;
  while (!spins_long(spin)) ++waits;
  return waits;
}

}  // namespace

BOOST_AUTO_TEST_CASE(after_each_spin_in_vain_more_waits_spin_briefly) {
  AdaptiveSpin spin;
  BOOST_TEST(spins_long(spin));
  for (std::uint32_t const waits : {1u, 3u, 7u, 15u, 31u, 63u, 127u, 255u, 511u, 511u, 511u})
    BOOST_TEST(brief_waits(spin) == waits);
}

BOOST_AUTO_TEST_CASE(spins_that_end_in_time_make_it_spin_again) {
  AdaptiveSpin spin;
  for (int i = 0; i < 20; ++i) brief_waits(spin);
  for (std::uint32_t i = 0; i < detail::Backoff::usual_most; ++i) BOOST_TEST(!spin([] { return false; }));
  for (int i = 0; i < 10; ++i) BOOST_TEST(spin([] { return true; }));
  BOOST_TEST(spins_long(spin));
  BOOST_TEST(brief_waits(spin) == 1u);
}

BOOST_AUTO_TEST_CASE(a_wait_that_is_over_ends_the_spin_at_once) {
  AdaptiveSpin spin;
  for (std::uint32_t const last : {1u, 2u, AdaptiveSpin::turns}) {
    std::uint32_t turns = 0;
    BOOST_TEST(spin([&] { return ++turns == last; }));
    BOOST_TEST(turns == last);
  }
}
