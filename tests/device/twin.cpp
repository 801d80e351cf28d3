// The device of these tests: it computes as Kokkos says, and ends a program that misuses it with the misuse's name.
#define BOOST_TEST_MODULE twin
#include "support/twin_device.hpp"

#include "support/kokkos_fixture.hpp"
#include "support/launch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "unit/io/folder.hpp"

namespace {

using Device = trireme::test::TwinDevice;
using Memory = trireme::test::TwinMemory;
using Values = Kokkos::View<double*, Memory>;
using Range = Kokkos::RangePolicy<Device, Kokkos::IndexType<int>>;

constexpr int count = 1000;

Values ramp(Device const& space = Device(), double factor = 1) {
  Values const x(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "the ramp"), count);
  Kokkos::parallel_for("ramp", Range(space, 0, count), KOKKOS_LAMBDA(int i) { x(i) = factor * i; });
  return x;
}

/// The exit code and the text of a process of its own that runs one misuse.
struct Ending {
  int code;
  std::string text;
};

Ending ending_of(char const* misuse) {
  auto const& suite = boost::unit_test::framework::master_test_suite();
  trireme::test::Folder const temporary;  // the status records of that process go with it
  std::string const command = "TMPDIR=" + temporary.root.string() + " TWIN_MISUSE=" + misuse + " " +
                              trireme::test::command_of(suite.argv[0]) + " -t misuse 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  BOOST_REQUIRE(pipe != nullptr);
  Ending ending{0, {}};
  char line[512];
  while (std::fgets(line, sizeof line, pipe)) ending.text += line;
  int const status = pclose(pipe);
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ending;
}

/// Only on x86-64 does the device tell reads from writes.
#ifdef __x86_64__
std::string const reads = "reads", writes = "writes";
#else
std::string const reads = "touches", writes = "touches";
#endif

void check_ends(char const* misuse, std::string const& text) {
  Ending const ending = ending_of(misuse);
  BOOST_TEST(ending.code == trireme::test::twin_exit, misuse << " ends with " << ending.code);
  BOOST_TEST(ending.text.find(text) != std::string::npos, misuse << " says " << ending.text);
}

struct Team {
  Values x;
  KOKKOS_FUNCTION void operator()(Kokkos::TeamPolicy<Device>::member_type const& team) const {
    Kokkos::View<double*, Device::scratch_memory_space, Kokkos::MemoryUnmanaged> const scratch(team.team_scratch(0),
                                                                                               10);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 10), [&](int i) { scratch(i) = team.league_rank() * 10 + i; });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 10),
                         [&](int i) { x(team.league_rank() * 10 + i) = scratch(9 - i); });
  }
};

using Teams = Kokkos::TeamPolicy<Device>;
using Handle = Teams::member_type;
using Scratch = Kokkos::View<double*, Device::scratch_memory_space, Kokkos::MemoryUnmanaged>;

/// Each thread writes a number and reads that of the thread `ahead`, after a barrier or without.
struct Neighbours {
  Values x;
  int ahead;
  bool meets;
  KOKKOS_FUNCTION void operator()(Handle const& team) const {
    int const size = team.team_size(), rank = team.team_rank();
    Scratch const numbers(team.team_scratch(0), static_cast<std::size_t>(size));
    numbers(rank) = rank + 1;
    if (meets) team.team_barrier();
    x(team.league_rank() * size + rank) = numbers((rank + ahead + size) % size);
  }
};

/// Number of threads, of 4 teams, that read a value before their neighbour wrote it.
int too_early(int ahead, bool meets) {
  constexpr int size = 64;
  Values const x("neighbours", 4 * size);
  Kokkos::parallel_for("neighbours", Teams(4, size).set_scratch_size(0, Kokkos::PerTeam(size * 8)),
                       Neighbours{x, ahead, meets});
  auto const read = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  int wrong = 0;
  for (int i = 0; i < 4 * size; ++i) wrong += read(i) == (i + ahead + size) % size + 1 ? 0 : 1;
  return wrong;
}

/// Sums in every way that teams have; x(team) counts those that are right.
struct Sums {
  Values x;
  int threads;
  KOKKOS_FUNCTION void operator()(Handle const& team) const {
    int right = 0;
    double sum = 0;
    Kokkos::parallel_reduce(Kokkos::TeamThreadRange(team, 101), [](int i, double& s) { s += i; }, sum);
    right += sum == 5050;
    Kokkos::parallel_reduce(Kokkos::TeamVectorRange(team, 3, 101), [](int i, double& s) { s += i; }, sum);
    right += sum == 5047;
    Kokkos::parallel_reduce(Kokkos::ThreadVectorRange(team, 11), [](int i, double& s) { s += i; }, sum);
    right += sum == 55;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, 101), [](int i, double& s) { s = i == 37 || s > 99 ? 100 : s; },
        Kokkos::Max<double>(sum));
    right += sum == 100;
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(team, 10), [&](int i, int& before, bool final) {
      if (final && i == 9) Kokkos::atomic_add(&x(10 + team.league_rank()), static_cast<double>(before));
      before += i;
    });
    double value = team.team_rank();
    team.team_broadcast(value, 2);
    right += value == 2;
    right += team.team_scan(1) == team.team_rank();
    Kokkos::single(Kokkos::PerTeam(team), [](double& v) { v = 7; }, value);
    right += value == 7;
    value = team.team_rank();
    team.team_reduce(Kokkos::Sum<double>(value));
    right += value == threads * (threads - 1) / 2;
    Kokkos::single(Kokkos::PerTeam(team), [&] { x(team.league_rank()) += right; });
    Kokkos::single(Kokkos::PerThread(team), [&] { Kokkos::atomic_add(&x(20 + team.league_rank()), 1.0); });
    Kokkos::atomic_add(&x(30 + team.league_rank()), 1.0);  // by each lane
  }
};

enum Misuse { leaves, differs, overflow, exhausted };
constexpr char const* misuse_names[] = {"leaves", "differs", "overflow", "exhausted"};

struct Misused {
  Misuse how;
  KOKKOS_FUNCTION void operator()(Handle const& team) const {
    bool const is_first = team.team_rank() == 0;
    Scratch const scratch(team.team_scratch(0), 10);
    if (how == leaves && !is_first) team.team_barrier();
    if (how == differs) {
      double sum = 1;
      if (is_first)
        team.team_reduce(Kokkos::Sum<double>(sum));
      else
        team.team_barrier();
    }
    if (how == overflow) scratch(team.team_rank() + 10) = 1;
    if (how == exhausted) Scratch(team.team_scratch(0), 1)(0) = 1;
  }
};

void misuse_teams(Misuse how) {
  Kokkos::parallel_for("misused", Teams(3, 4).set_scratch_size(0, Kokkos::PerTeam(80)), Misused{how});
  Kokkos::fence();
}

void commit(std::string const& name) {
  Values const x = ramp();
  Device().fence();
  volatile double sink = 0;
  if (name == "read") sink = *static_cast<double volatile*>(x.data());
  if (name == "write") *static_cast<double volatile*>(x.data()) = sink;
  if (name == "view") sink = x(3);
  std::vector<double> const heap(4, 2.0);
  double const* const pointer = heap.data();
  if (name == "heap")
    Kokkos::parallel_for("reads the heap", Range(0, count), KOKKOS_LAMBDA(int i) { x(i) = pointer[i % 4]; });
  double const local[2] = {3, 4};
  double const* const stack = local;
  if (name == "stack")
    Kokkos::parallel_for("reads the stack", Range(0, count), KOKKOS_LAMBDA(int i) { x(i) = stack[i % 2]; });
  if (name == "member")
    Kokkos::parallel_for(
        "reads a vector", Range(0, count), KOKKOS_LAMBDA(int i) { x(i) = heap[static_cast<std::size_t>(i) % 4]; });
  Kokkos::fence();
  if (name == "peer") Kokkos::parallel_for("reads a peer", Range(Device(1), 0, 1), KOKKOS_LAMBDA(int i) { x(i) = 1; });
  Kokkos::fence();
  for (Misuse how : {leaves, differs, overflow, exhausted})
    if (name == misuse_names[how]) misuse_teams(how);
  {
    Kokkos::View<double*, Kokkos::HostSpace> const host("host", count);
    std::vector<double> vector(count);
    Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const unmanaged(vector.data(), count);
    if (name == "changed") Kokkos::deep_copy(Device(), x, host);
    if (name == "freed") Kokkos::deep_copy(Device(), unmanaged, x);
    if (name == "changed") host(5) = 7;
    if (name == "changed") Kokkos::fence();
  }
  Kokkos::fence();
  if (name == "team") Kokkos::parallel_for(Kokkos::TeamPolicy<Device>(10, 1025), Team{x});
  if (name == "scratch")
    Kokkos::parallel_for(Kokkos::TeamPolicy<Device>(10, 32).set_scratch_size(0, Kokkos::PerTeam(50000)), Team{x});
}

}  // namespace

static_assert(!Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, Memory>::accessible);
static_assert(!Kokkos::SpaceAccessibility<Device, Kokkos::HostSpace>::accessible);
static_assert(Kokkos::SpaceAccessibility<Device, Memory>::accessible);

BOOST_AUTO_TEST_CASE(kernels_reductions_and_teams_compute_what_they_say) {
  Values const x = ramp();
  double sum = 0;
  Kokkos::parallel_reduce("sum", Range(0, count), KOKKOS_LAMBDA(int i, double& s) { s += x(i); }, sum);
  BOOST_TEST(sum == 499500.0);
  Kokkos::View<double, Memory> const on_device("sum");
  Kokkos::parallel_reduce("sum", Range(0, count), KOKKOS_LAMBDA(int i, double& s) { s += 2 * x(i); }, on_device);
  auto const read = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), on_device);
  BOOST_TEST(read() == 999000.0);
  Kokkos::parallel_for(Kokkos::TeamPolicy<Device>(100, Kokkos::AUTO).set_scratch_size(0, Kokkos::PerTeam(256)),
                       Team{x});
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  bool reversed = true;
  for (std::size_t i = 0; i < count; ++i)
    reversed = reversed && host(i) == static_cast<double>(i / 10 * 10 + 9 - i % 10);
  BOOST_TEST(reversed);
  Kokkos::deep_copy(x, 3.0);
  auto const filled = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  BOOST_TEST(filled(count - 1) == 3.0);
}

BOOST_AUTO_TEST_CASE(a_missing_barrier_gives_a_wrong_result) {
  for (int ahead : {-1, 1, 17}) {
    BOOST_TEST(too_early(ahead, true) == 0);
    BOOST_TEST(too_early(ahead, false) > 0);
  }
}

BOOST_AUTO_TEST_CASE(teams_of_all_forms_sum_and_scan) {
  for (auto const& [threads, lanes] : {std::pair{64, 1}, std::pair{5, 4}, std::pair{32, 32}}) {
    Values const x("sums", 40);
    Kokkos::parallel_for("sums", Teams(10, threads, lanes), Sums{x, threads});
    auto const read = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    for (int team = 0; team < 10; ++team) {
      BOOST_TEST(read(team) == 8.0);
      BOOST_TEST(read(10 + team) == 36.0 * lanes);
      BOOST_TEST(read(20 + team) == threads);
      BOOST_TEST(read(30 + team) == threads * lanes);
    }
    double sum = 0;
    Kokkos::parallel_reduce(
        "sum of teams", Teams(10, threads, lanes),
        KOKKOS_LAMBDA(Handle const& team, double& s) { s += team.league_rank() * 100 + team.team_rank(); }, sum);
    BOOST_TEST(sum == 4500.0 * threads + 10 * threads * (threads - 1) / 2);
  }
}

BOOST_AUTO_TEST_CASE(scratch_memory_of_each_team_holds_no_numbers) {
  Values const x("scratch", 30);
  Kokkos::parallel_for(
      "scratch", Teams(10, Kokkos::AUTO).set_scratch_size(0, Kokkos::PerTeam(8), Kokkos::PerThread(8)),
      KOKKOS_LAMBDA(Handle const& team) {
        Scratch const of_team(team.team_scratch(0), 1), of_thread(team.thread_scratch(0), 1);
        int numbers = 0;
        if (of_thread(0) == of_thread(0)) ++numbers;
        of_thread(0) = team.team_rank();
        team.team_barrier();
        if (of_team(0) == of_team(0)) ++numbers;
        if (of_thread(0) != team.team_rank()) ++numbers;
        team.team_barrier();
        of_team(0) = 1;
        Kokkos::atomic_add(&x(team.league_rank()), static_cast<double>(numbers));
        Kokkos::single(Kokkos::PerTeam(team), [&] { x(10 + team.league_rank()) = team.team_size(); });
      });
  auto const read = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  for (int team = 0; team < 10; ++team) {
    BOOST_TEST(read(team) == 0.0);
    BOOST_TEST(read(10 + team) == trireme::test::twin_auto_team);
  }
}

BOOST_AUTO_TEST_CASE(indices_that_read_what_others_write_are_wrong) {
  for (int ahead : {-2, -1, 1, 2}) {
    Values const x = ramp();
    Kokkos::parallel_for("shift", Range(2, count - 2), KOKKOS_LAMBDA(int i) { x(i) = x(i + ahead); });
    auto const read = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    int wrong = 0;
    for (int i = 2; i < count - 2; ++i) wrong += read(i) == i + ahead ? 0 : 1;
    BOOST_TEST(wrong > 0);
  }
}

BOOST_AUTO_TEST_CASE(a_copy_is_late_without_a_fence) {
  Device const space;
  Values const x = ramp();
  Kokkos::View<double*, Kokkos::HostSpace> const host("host", count);
  Kokkos::deep_copy(space, host, x);
  BOOST_TEST(host(5) == 0.0);
  space.fence();
  BOOST_TEST(host(5) == 5.0);
}

BOOST_AUTO_TEST_CASE(each_instance_has_its_own_queue) {
  Device const first(1), second(2);
  Values const x = ramp(), y = ramp();
  Kokkos::fence();
  Kokkos::View<double*, Kokkos::HostSpace> const a("a", count), b("b", count);
  Kokkos::deep_copy(first, a, x);
  Kokkos::deep_copy(second, b, y);
  second.fence();
  BOOST_TEST(a(5) == 0.0);
  BOOST_TEST(b(5) == 5.0);
  Kokkos::fence();
  BOOST_TEST(a(5) == 5.0);
}

BOOST_AUTO_TEST_CASE(copies_reach_every_device) {
  Device const first(1), second(2);
  Values const x = ramp(first), y = ramp(second, 0.0);
  Kokkos::deep_copy(second, y, x);  // the first has not been waited for
  second.fence();
  BOOST_TEST(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y)(5) != 5.0);
  Kokkos::deep_copy(second, y, x);
  second.fence();
  BOOST_TEST(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y)(5) == 5.0);
}

/// Run by name alone, in the processes that `ending_of` starts.
BOOST_AUTO_TEST_CASE(misuse, *boost::unit_test::disabled()) { commit(std::getenv("TWIN_MISUSE")); }

BOOST_AUTO_TEST_CASE(a_sound_program_ends_with_0) { BOOST_TEST(ending_of("none").code == 0); }

BOOST_AUTO_TEST_CASE(host_code_that_touches_the_device_is_named) {
  check_ends("read", "twin: host code " + reads + " memory of the device: \"the ramp\"");
  check_ends("write", "twin: host code " + writes + " memory of the device: \"the ramp\"");
  check_ends("view", "twin: host code uses a view of the device: \"the ramp\"");
}

BOOST_AUTO_TEST_CASE(kernels_that_touch_another_device_are_named) {
  check_ends("peer", "twin: kernel \"reads a peer\" of device 1 " + writes + " memory of device 0: \"the ramp\"");
}

BOOST_AUTO_TEST_CASE(kernels_that_touch_the_host_are_named) {
  check_ends("stack", "twin: kernel \"reads the stack\" " + reads + " memory of the host");
  if (trireme::test::twin::state().heap == 0) {
    BOOST_TEST_MESSAGE("left out: this system (qemu-user) does not say where the heap lies");
    return;
  }
  check_ends("heap", "twin: kernel \"reads the heap\" " + reads + " memory of the host");
  check_ends("member", "twin: kernel \"reads a vector\" " + reads + " memory of the host");
}

BOOST_AUTO_TEST_CASE(memory_of_the_host_stays_until_copies_are_done) {
  check_ends("changed", "twin: memory of the host was changed before the copy to the device had read it");
  check_ends("freed", "twin: memory of the host was freed before the copy from or to it was done");
}

BOOST_AUTO_TEST_CASE(limits_of_teams_are_a_device_s) {
  check_ends("team", "twin: a team has over 1024 threads");
  check_ends("scratch", "twin: scratch of a team is over 48 KB");
}

BOOST_AUTO_TEST_CASE(threads_of_a_team_that_do_not_meet_are_named) {
  check_ends("leaves", "twin: kernel \"misused\" waits for threads of its team that have ended or wait elsewhere");
  check_ends("differs", "twin: kernel \"misused\" has threads of a team that meet in different calls: ");
}

BOOST_AUTO_TEST_CASE(scratch_memory_ends_where_it_was_asked_to) {
  check_ends("overflow", "twin: kernel \"misused\" goes beyond its scratch memory");
  check_ends("exhausted", "twin: kernel \"misused\" uses a null pointer, which scratch memory is if it is used up");
}
