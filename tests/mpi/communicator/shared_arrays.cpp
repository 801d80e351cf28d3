// ranks: 1 2 3 4
#define BOOST_TEST_MODULE shared_arrays
#include "support/kokkos_fixture.hpp"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#ifdef __linux__
#include "support/starvation.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "trireme/mpi/shared_arrays.hpp"
#include "trireme/strategies/gradients/shared_gradients.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

Communicator const& world() { return test::environment().world(); }

float value(std::size_t rank, std::size_t step, std::size_t i) {
  return static_cast<float>((rank + 1) * 100 + step * 10 + i % 7);
}
float sum(std::size_t step, std::size_t i) {
  float total = 0;
  for (std::size_t rank = 0; rank < world().size(); ++rank) total += value(rank, step, i);
  return total;
}

/// False where scripts/versions.sh says that this MPI has no memory which ranks share, as ch4:ucx of MPICH 5.
bool shares_memory() { return world().size() == 1 || !std::getenv("TRIREME_TEST_NO_SHARED_MEMORY"); }
boost::test_tools::assertion_result with_memory(boost::unit_test::test_unit_id) { return shares_memory(); }
boost::test_tools::assertion_result without_memory(boost::unit_test::test_unit_id) { return !shares_memory(); }

/// Sizes around blocks and shares, and fewer elements than ranks.
constexpr std::size_t sizes[] = {0, 1, 2, 3, 5, 1023, 1024, 1025, 5003};

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_without_shared_memory_get_no_arrays, *boost::unit_test::precondition(without_memory)) {
  BOOST_TEST((SharedArrays<float>::make(world(), 5) == nullptr));
  BOOST_TEST((SharedGradients<float, Space>::make(world(), Space(), 5) == nullptr));
}

BOOST_AUTO_TEST_CASE(ranks_read_what_the_others_wrote_before_they_met, *boost::unit_test::precondition(with_memory)) {
  for (std::size_t const n : sizes) {
    auto const arrays = SharedArrays<float>::make(world(), n);
    BOOST_REQUIRE((arrays != nullptr));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += arrays->own()[i] != 0;
    for (std::size_t step = 0; step < 50; ++step) {
      for (std::size_t i = 0; i < n; ++i) arrays->own()[i] = value(world().rank(), step, i);
      arrays->arrive();
      arrays->wait();
      for (std::size_t rank = 0; rank < world().size(); ++rank)
        for (std::size_t i = 0; i < n; ++i) wrong += arrays->all()[rank][i] != value(rank, step, i);
      arrays->arrive();
      arrays->wait();
    }
    BOOST_TEST(wrong == 0u);
  }
}

BOOST_AUTO_TEST_CASE(sums_reach_the_arena_of_every_rank_step_after_step, *boost::unit_test::precondition(with_memory)) {
  for (std::size_t const n : sizes) {
    auto const gradients = SharedGradients<float, Space>::make(world(), Space(), n);
    BOOST_REQUIRE((gradients != nullptr));
    std::size_t wrong = 0;
    for (std::size_t step = 0; step < 50; ++step) {
      gradients->begin();
      for (std::size_t i = 0; i < n; ++i) gradients->arena()[i] = value(world().rank(), step, i);
      gradients->sum();
      for (std::size_t i = 0; i < n; ++i) wrong += gradients->arena()[i] != sum(step, i);
      for (std::size_t i = 0; i < n; ++i) gradients->arena()[i] = -1;  // as clipping changes it
    }
    BOOST_TEST(wrong == 0u);
  }
}

namespace {
struct Collect {
  float* to;
  void operator()(std::size_t begin, std::size_t n, float const* sums) const {
    for (std::size_t i = 0; i < n; ++i) to[begin + i] = sums[i];
  }
};
}  // namespace

BOOST_AUTO_TEST_CASE(sums_in_passing_leave_the_arenas_alone, *boost::unit_test::precondition(with_memory)) {
  for (std::size_t const n : sizes) {
    auto const gradients = SharedGradients<float, Space>::make(world(), Space(), n);
    std::vector<float> sums(n);
    std::size_t wrong = 0;
    for (std::size_t step = 0; step < 50; ++step) {
      gradients->begin();
      for (std::size_t i = 0; i < n; ++i) gradients->arena()[i] = value(world().rank(), step, i);
      gradients->meet();
      gradients->for_each_sum(0, n, Collect{sums.data()});
      gradients->meet();
      for (std::size_t i = 0; i < n; ++i) {
        wrong += sums[i] != sum(step, i);
        wrong += gradients->arena()[i] != value(world().rank(), step, i);
      }
    }
    BOOST_TEST(wrong == 0u);
  }
}

#ifdef __linux__
namespace {

/// Processor time of this thread.
std::chrono::microseconds processor_time() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/// Calls f, which waits for all ranks, on the last one only once each of the others has slept 20 times.
template <class F>
void check_that_ranks_sleep_for_the_last(F const& f) {
  constexpr long sleeps_seen = 20;
  auto const processes = world().allgather(static_cast<long>(syscall(SYS_gettid)));
  std::size_t const last = world().size() - 1;
  auto const before = world().allgather(test::sleeps_of(processes[world().rank()]));
  BOOST_REQUIRE(before[world().rank()] >= 0);
  if (world().rank() == last) {
    auto const gives_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (std::size_t rank = 0; rank < last; ++rank)
      while (test::sleeps_of(processes[rank]) - before[rank] < sleeps_seen &&
             std::chrono::steady_clock::now() < gives_up)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    BOOST_TEST((std::chrono::steady_clock::now() < gives_up));
    f();
  } else {
    auto const begin = std::chrono::steady_clock::now();
    auto const worked = processor_time();
    f();
    BOOST_TEST((processor_time() - worked < (std::chrono::steady_clock::now() - begin) / 2));
  }
}

}  // namespace

namespace {

/// Bytes that this process has mapped.
std::size_t mapped() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Leaves arrays of all ranks, and of its group, by an exception of all.
void fail_with_arrays(Communicator const& group, std::size_t n) {
  try {
    auto const of_all = SharedArrays<char>::make(world(), n);
    auto const of_group = SharedArrays<char>::make(group, n);
    BOOST_REQUIRE((of_all && of_group));
    throw std::runtime_error("failed on all ranks");
  } catch (std::runtime_error const&) {
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(arrays_left_by_errors_do_not_pile_up, *boost::unit_test::precondition(with_memory)) {
  constexpr std::size_t n = 1 << 20, times = 20;
  auto const group = world().split(world().rank() % 2);
  fail_with_arrays(group, n);
  std::size_t const before = mapped();
  for (std::size_t i = 0; i < times; ++i) fail_with_arrays(group, n);
  BOOST_TEST(mapped() < before + times / 2 * n);
}

BOOST_AUTO_TEST_CASE(ranks_sleep_until_the_last_has_come, *boost::unit_test::precondition(with_memory)) {
  auto arrays = SharedArrays<float>::make(world(), 5);
  check_that_ranks_sleep_for_the_last([&] {
    arrays->arrive();
    arrays->wait();
  });
  check_that_ranks_sleep_for_the_last([&] { arrays.reset(); });
}

BOOST_AUTO_TEST_CASE(ranks_that_are_stopped_at_random_read_what_the_others_wrote,
                     *boost::unit_test::precondition(with_memory)) {
  auto const arrays = SharedArrays<float>::make(world(), 3);
  test::RandomStops const stops(static_cast<unsigned>(world().rank()), std::chrono::milliseconds(1));
  std::size_t wrong = 0;
  for (std::size_t step = 0; step < 3000; ++step) {
    arrays->own()[0] = value(world().rank(), step, 0);
    arrays->arrive();
    arrays->wait();
    for (std::size_t rank = 0; rank < world().size(); ++rank) wrong += arrays->all()[rank][0] != value(rank, step, 0);
    arrays->arrive();
    arrays->wait();
  }
  BOOST_TEST(wrong == 0u);
}
#endif
