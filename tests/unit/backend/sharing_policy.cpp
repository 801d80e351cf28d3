// How threads of a pool share tasks beside busy processes: what is measured, what is kept, and when that ends.
#define BOOST_TEST_MODULE sharing_policy
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>

#include "trireme/backend/threads/sharing_policy.hpp"

using namespace trireme::detail;
using namespace std::chrono_literals;
using Duration = Round::Duration;

namespace {

void pass() {}
void update() {}

/// A machine whose rounds take as long as its load has them.
struct Machine {
  std::array<Duration, 3> round{};  ///< under each way of sharing
  Duration lost{}, wait{};          ///< of a round under full sharing
  SharingPolicy policy{2};
  Round::Time now{1h};
  std::array<Duration, 3> spent{};  ///< under each way of sharing

  void step() {
    Sharing const sharing = policy.sharing();
    Duration const length = round[static_cast<std::size_t>(sharing)];
    Round done{.begin = now, .own_end = now + length, .end = now + length, .kind = pass};
    if (sharing == Sharing::full) done.own_end -= wait;
    if (policy.measures_losses()) done.lost = lost;
    now += length;
    spent[static_cast<std::size_t>(sharing)] += length;
    if (policy.follows() || done.end != done.own_end) policy.add(done);
  }
  void run(Duration time) {
    for (Round::Time const end = now + time; now < end;) step();
  }
  Sharing kept() {
    run(300ms);  // of which the trials take 170 ms
    return policy.sharing();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(without_long_waits_nothing_is_followed_or_measured) {
  Machine machine{.round = {40us, 50us, 60us}, .wait = 150us};
  machine.run(2s);
  BOOST_TEST(!machine.policy.follows());
  BOOST_TEST((machine.policy.sharing() == Sharing::full));
}

BOOST_AUTO_TEST_CASE(waits_for_longer_tasks_are_measured_seldom_and_change_nothing) {
  Machine machine{.round = {5ms, 6ms, 9ms}, .lost = 0us, .wait = 2ms};
  Duration measured{};
  for (int i = 0; i < 1000; ++i) {
    BOOST_REQUIRE((machine.policy.sharing() == Sharing::full));
    if (machine.policy.measures_losses()) measured += machine.round[0];
    machine.step();
  }
  BOOST_TEST(measured.count() > 0);
  BOOST_TEST(measured.count() < Duration(5s).count() / 10);
}

BOOST_AUTO_TEST_CASE(the_fastest_way_is_kept_where_tasks_lose_their_cores) {
  for (std::size_t fastest = 0; fastest < 3; ++fastest) {
    Machine machine{.round = {90us, 90us, 90us}, .lost = 45us, .wait = 300us};
    machine.round[fastest] = 60us;
    machine.kept();
    machine.spent = {};
    machine.run(10s);
    BOOST_TEST(machine.spent[fastest].count() > Duration(8s).count());
  }
}

// A pass of 300 ms takes one of 16 threads five seconds.
BOOST_AUTO_TEST_CASE(long_rounds_of_many_threads_are_not_the_callers_alone) {
  Machine machine{.round = {300ms, 600ms, 4800ms}, .lost = 100ms, .wait = 100ms, .policy = SharingPolicy(16)};
  Round::Time const begin = machine.now;
  machine.run(600s);
  BOOST_TEST(machine.spent[2].count() == 0);
  BOOST_TEST(machine.spent[1].count() > 0);
  BOOST_TEST(machine.spent[1] < (machine.now - begin) / 10);
}

BOOST_AUTO_TEST_CASE(trials_in_vain_are_seldom) {
  Machine machine{.round = {60us, 90us, 110us}, .lost = 45us, .wait = 300us};
  machine.run(60s);
  BOOST_TEST(machine.spent[1] + machine.spent[2] < Duration(60s) / 50);
}

BOOST_AUTO_TEST_CASE(all_threads_take_tasks_again_once_the_cores_are_free) {
  Machine machine{.round = {90us, 60us, 70us}, .lost = 45us, .wait = 300us};
  BOOST_TEST((machine.kept() == Sharing::limited));
  machine.round[0] = 40us;
  machine.lost = 0us;
  machine.wait = 0us;
  machine.run(800ms);
  BOOST_TEST((machine.policy.sharing() == Sharing::full));
  BOOST_TEST(!machine.policy.follows());
}

BOOST_AUTO_TEST_CASE(another_load_has_another_way_kept) {
  Machine machine{.round = {90us, 60us, 70us}, .lost = 45us, .wait = 300us};
  BOOST_TEST((machine.kept() == Sharing::limited));
  machine.round = {90us, 120us, 110us};
  machine.run(1s);
  BOOST_TEST((machine.policy.sharing() == Sharing::full));
  BOOST_TEST(machine.policy.follows());
}

BOOST_AUTO_TEST_CASE(a_pause_ends_what_was_kept) {
  Machine machine{.round = {90us, 60us, 70us}, .lost = 45us, .wait = 300us};
  BOOST_TEST((machine.kept() == Sharing::limited));
  machine.now += 1s;
  machine.step();
  BOOST_TEST((machine.policy.sharing() == Sharing::full));
}

// 45 ms of one function and 5 ms of another, in turn: counted by time alone, a trial of 50 ms has one or two of them.
BOOST_AUTO_TEST_CASE(trials_compare_whole_steps) {
  SharingPolicy policy(2);
  Round::Time now{1h};
  auto const round = [&](Duration length, void (*kind)()) {
    double const slower = policy.sharing() == Sharing::limited ? 1 : 1.1;
    auto const time = std::chrono::duration_cast<Duration>(length * slower);
    policy.add({.begin = now, .own_end = now + time / 2, .end = now + time, .lost = time / 2, .kind = kind});
    now += time;
  };
  std::array<int, 3> steps{};
  for (int step = 0; step < 200; ++step) {
    round(45ms, pass);
    round(5ms, update);
    ++steps[static_cast<std::size_t>(policy.sharing())];
  }
  BOOST_TEST(steps[1] > 100);
}
