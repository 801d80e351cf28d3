// The device of these tests: it computes as Kokkos says, and ends a program that misuses it with the misuse's name.
#define BOOST_TEST_MODULE twin
#include "support/kokkos_fixture.hpp"
#include "support/twin_device.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Device = trireme::test::TwinDevice;
using Memory = trireme::test::TwinMemory;
using Values = Kokkos::View<double*, Memory>;
using Range = Kokkos::RangePolicy<Device, Kokkos::IndexType<int>>;

constexpr int count = 1000;

Values ramp(Device const& space = Device(), double factor = 1) {
  Values const x(Kokkos::view_alloc(Kokkos::WithoutInitializing, "the ramp"), count);
  Kokkos::parallel_for(
      "ramp", Range(space, 0, count), KOKKOS_LAMBDA(int i) { x(i) = factor * i; });
  return x;
}

/// The exit code and the text of a process of its own that runs one misuse.
struct Ending {
  int code;
  std::string text;
};

Ending ending_of(char const* misuse) {
  auto const& suite = boost::unit_test::framework::master_test_suite();
  std::string const command = std::string("TWIN_MISUSE=") + misuse + " " + suite.argv[0] + " -t misuse 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  BOOST_REQUIRE(pipe != nullptr);
  Ending ending{0, {}};
  char line[512];
  while (std::fgets(line, sizeof line, pipe)) ending.text += line;
  int const status = pclose(pipe);
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ending;
}

void check_ends(char const* misuse, char const* text) {
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
    Kokkos::parallel_for(
        "reads the heap", Range(0, count), KOKKOS_LAMBDA(int i) { x(i) = pointer[i % 4]; });
  double const local[2] = {3, 4};
  double const* const stack = local;
  if (name == "stack")
    Kokkos::parallel_for(
        "reads the stack", Range(0, count), KOKKOS_LAMBDA(int i) { x(i) = stack[i % 2]; });
  if (name == "member")
    Kokkos::parallel_for(
        "reads a vector", Range(0, count), KOKKOS_LAMBDA(int i) { x(i) = heap[static_cast<std::size_t>(i) % 4]; });
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
  Kokkos::parallel_reduce(
      "sum", Range(0, count), KOKKOS_LAMBDA(int i, double& s) { s += x(i); }, sum);
  BOOST_TEST(sum == 499500.0);
  Kokkos::View<double, Memory> const on_device("sum");
  Kokkos::parallel_reduce(
      "sum", Range(0, count), KOKKOS_LAMBDA(int i, double& s) { s += 2 * x(i); }, on_device);
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

BOOST_AUTO_TEST_CASE(a_copy_is_late_without_a_fence) {
  Device const space;
  Values const x = ramp();
  Kokkos::View<double*, Kokkos::HostSpace> const host("host", count);
  Kokkos::deep_copy(space, host, x);
  BOOST_TEST(host(5) == 0.0);
  space.fence();
  BOOST_TEST(host(5) == 5.0);

  host(5) = 6;
  Kokkos::deep_copy(space, x, host);
  host(5) = 7;  // too early: the copy has not read it
  space.fence();
  auto const read = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  BOOST_TEST(read(5) == 7.0);
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

/// Run by name alone, in the processes that `ending_of` starts.
BOOST_AUTO_TEST_CASE(misuse, *boost::unit_test::disabled()) { commit(std::getenv("TWIN_MISUSE")); }

BOOST_AUTO_TEST_CASE(a_sound_program_ends_with_0) { BOOST_TEST(ending_of("none").code == 0); }

BOOST_AUTO_TEST_CASE(host_code_that_touches_the_device_is_named) {
  check_ends("read", "twin: host code reads memory of the device: \"the ramp\"");
  check_ends("write", "twin: host code writes memory of the device: \"the ramp\"");
  check_ends("view", "twin: host code uses a view of the device: \"the ramp\"");
}

BOOST_AUTO_TEST_CASE(kernels_that_touch_the_host_are_named) {
  check_ends("heap", "twin: kernel \"reads the heap\" reads memory of the host");
  check_ends("stack", "twin: kernel \"reads the stack\" reads memory of the host");
  check_ends("member", "twin: kernel \"reads a vector\" reads memory of the host");
}

BOOST_AUTO_TEST_CASE(limits_of_teams_are_a_device_s) {
  check_ends("team", "twin: a team has over 1024 threads");
  check_ends("scratch", "twin: scratch of a team is over 48 KB");
}
