// The instances of a space that the library makes: one for each device, whichever thread asks first.
#define BOOST_TEST_MODULE device_instances
#include "support/kokkos_fixture.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "trireme/backend/execution/device_instances.hpp"

using namespace trireme;

namespace {

struct Space {
  std::size_t stream = 0;
};

std::atomic<std::size_t> made = 0;

}  // namespace

/// Streams are numbered from 1 on in the order in which they are made, each slowly enough for another thread to come.
template <>
struct trireme::DeviceRuntime<Space> {
  using Stream = std::size_t;
  static std::size_t count() { return 9; }
  static std::size_t own(Space const&) { return 0; }
  static Stream make_stream(std::size_t) {
    for (int turn = 0; turn < 100; ++turn) std::this_thread::yield();
    return ++made;
  }
  static void destroy(Stream) {}
};

BOOST_AUTO_TEST_CASE(threads_at_once_are_given_the_same_instance_of_a_device) {
  constexpr std::size_t threads = 8, devices = 9;
  std::array<std::array<std::size_t, devices>, threads> streams{};
  std::atomic<std::size_t> ready = 0;
  std::vector<std::thread> all;
  for (std::size_t thread = 0; thread < threads; ++thread)
    all.emplace_back([&, thread] {
      ++ready;
      while (ready != threads) std::this_thread::yield();
      for (std::size_t device = 0; device < devices; ++device)
        streams[thread][device] = trireme::detail::device_instance<Space>(device).stream;
    });
  for (std::thread& each : all) each.join();
  BOOST_TEST(made == devices - 1);  // device 0 is Kokkos's own
  for (auto const& of_thread : streams) BOOST_TEST(of_thread == streams.front(), boost::test_tools::per_element());
}
