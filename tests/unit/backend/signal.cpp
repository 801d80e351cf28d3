// Numbers that threads wait for: no wake is lost, whether they spin or sleep.
#define BOOST_TEST_MODULE signal
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "trireme/backend/threads/signal.hpp"

using trireme::detail::Signal;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(each_change_wakes_the_thread_that_waits) {
  for (auto const patience : {0us, 20us}) {
    Signal there, back;
    constexpr std::uint32_t rounds = 2000;
    std::thread other([&] {
      for (std::uint32_t round = 0; round < rounds; ++round) {
        there.wait_while(round, patience);
        back.raise();
      }
    });
    for (std::uint32_t round = 0; round < rounds; ++round) {
      there.set(round + 1);
      back.wait_while(round, patience);
    }
    other.join();
    BOOST_TEST(back.load() == rounds);
  }
}

BOOST_AUTO_TEST_CASE(the_last_of_several_threads_wakes_the_one_that_waits_for_all) {
  for (int round = 0; round < 300; ++round) {
    constexpr std::uint32_t threads = 4;
    Signal left;
    left.reset(threads);
    std::vector<int> written(threads, 0);
    std::vector<std::thread> others;
    for (std::uint32_t thread = 0; thread < threads; ++thread)
      others.emplace_back([&, thread] {
        written[thread] = 1;
        left.count_down();
      });
    for (std::uint32_t now = left.load(); now != 0; now = left.load()) left.wait_while(now, 0ns);
    for (int const one : written) BOOST_REQUIRE(one == 1);
    for (std::thread& other : others) other.join();
  }
}

BOOST_AUTO_TEST_CASE(a_number_that_has_changed_is_not_waited_for) {
  Signal signal;
  signal.set(7);
  signal.wait_while(6, 0ns);
  BOOST_TEST(signal.load() == 7u);
}
