// Turns of work and rest: the share of a core that a thread takes, and that it takes all of it.
#define BOOST_TEST_MODULE duty_cycle
#include <boost/test/unit_test.hpp>

#include <chrono>

#include "trireme/backend/threads/duty_cycle.hpp"

using trireme::detail::DutyCycle;
using namespace std::chrono_literals;

namespace {

/// The part of a core that tasks take, offered one after another or every `offer`.
double share_of(DutyCycle::Duration task, DutyCycle::Duration offer) {
  DutyCycle cycle;
  DutyCycle::Time const start{1h};
  DutyCycle::Duration used{};
  auto now = start;
  while (now < start + 1s) {
    if (cycle.continues(now, [&] { return used; })) {
      now += task;
      used += task;
    } else {
      now += offer;
    }
  }
  return std::chrono::duration<double>(used).count();
}

}  // namespace

BOOST_AUTO_TEST_CASE(tasks_of_any_length_take_two_fifths_of_a_core) {
  for (auto const task : {5us, 20us, 250us, 1100us, 6000us})
    for (auto const offer : {5us, 40us}) BOOST_TEST(share_of(task, offer) == 0.4, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(a_thread_that_has_little_to_do_never_rests) {
  DutyCycle cycle;
  DutyCycle::Duration used{};
  for (DutyCycle::Time now{1h}; now < DutyCycle::Time{1h + 1s}; now += 100us) {
    BOOST_REQUIRE(cycle.continues(now, [&] { return used; }));
    used += 30us;
  }
}

// Time without a core is rest: it waits for its turn no longer than it has to.
BOOST_AUTO_TEST_CASE(time_in_which_another_process_has_the_core_is_rest) {
  DutyCycle cycle;
  DutyCycle::Duration used{};
  DutyCycle::Time now{1h};
  BOOST_TEST(cycle.continues(now, [&] { return used; }));
  BOOST_TEST(cycle.works(now));
  now += 5ms, used += 1ms;  // a task that lost its core for 4 ms
  BOOST_TEST(cycle.continues(now, [&] { return used; }));
}
