#define BOOST_TEST_MODULE adaptive_yield
#include "support/kokkos_fixture.hpp"

#include <chrono>
#include <cstdint>

#include "trireme/backend/threads/adaptive_yield.hpp"

using namespace trireme;
using detail::AdaptiveYield;

namespace {

/// Yields of a time of their own, until a wait is over.
struct Waits {
  AdaptiveYield yield;
  std::chrono::nanoseconds absence{1000}, now{0};
  std::uint32_t yields = 0;

  /// A wait that is over after so many yields. \return the result
  bool wait(std::uint32_t last) {
    yields = 0;
    return yield.run([&] { return yields >= last; }, [&] { ++yields, now += absence; }, [&] { return now; });
  }
  /// Waits until it yields again.
  std::uint32_t skipped() {
    std::uint32_t waits = 0;
    while (wait(1'000'000), yields == 0) ++waits;
    return waits;
  }
};

constexpr std::chrono::milliseconds time_slice{3};

}  // namespace

BOOST_AUTO_TEST_CASE(a_wait_that_is_over_ends_the_yields) {
  Waits waits;
  for (std::uint32_t const last : {1u, 2u, AdaptiveYield::turns}) {
    BOOST_TEST(waits.wait(last));
    BOOST_TEST(waits.yields == last);
  }
}

BOOST_AUTO_TEST_CASE(yields_in_vain_are_few) {
  Waits waits;
  BOOST_TEST(!waits.wait(AdaptiveYield::turns + 1));
  BOOST_TEST(waits.yields == AdaptiveYield::turns);
}

BOOST_AUTO_TEST_CASE(after_each_long_absence_more_waits_do_not_yield) {
  Waits waits;
  waits.absence = time_slice;
  BOOST_TEST(!waits.wait(2));
  BOOST_TEST(waits.yields == 1u);
  for (std::uint32_t expected = 1; expected < AdaptiveYield::most_skipped_waits; expected = 2 * expected + 1)
    BOOST_TEST(waits.skipped() == expected);
  for (int i = 0; i < 3; ++i) BOOST_TEST(waits.skipped() == AdaptiveYield::most_skipped_waits);
}

BOOST_AUTO_TEST_CASE(a_wait_that_is_over_after_a_long_absence_is_one) {
  Waits waits;
  waits.absence = time_slice;
  BOOST_TEST(waits.wait(1));
  BOOST_TEST(!waits.wait(1));
  BOOST_TEST(waits.yields == 0u);
}

BOOST_AUTO_TEST_CASE(short_absences_make_it_yield_again) {
  Waits waits;
  waits.absence = time_slice;
  for (int i = 0; i < 5; ++i) waits.skipped();
  waits.absence = std::chrono::microseconds(1);
  waits.skipped();
  for (int i = 0; i < 20; ++i) BOOST_TEST(waits.wait(1));
  waits.absence = time_slice;
  BOOST_TEST(waits.wait(1));
  BOOST_TEST(waits.skipped() == 1u);
}
