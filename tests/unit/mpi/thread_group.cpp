// The group of threads within a process: its collectives are those of a Communicator, and an error leaves no thread
// waiting.
#define BOOST_TEST_MODULE thread_group
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/mpi/group_threads.hpp"
#include "trireme/mpi/thread_group.hpp"

using namespace trireme;

namespace {

constexpr std::size_t sizes[] = {1, 2, 3, 5};

/// Failures of all threads; Boost's checks are for one thread.
class Check {
 public:
  void operator()(bool holds) { failed_ += holds ? 0 : 1; }
  ~Check() { BOOST_TEST(failed_ == 0); }

 private:
  std::atomic<int> failed_{0};
};

}  // namespace

BOOST_AUTO_TEST_CASE(reductions_are_in_the_order_of_the_ranks) {
  for (std::size_t const size : sizes) {
    GroupThreads threads(size);
    std::vector<double> expected(3);
    for (std::size_t i = 0; i < 3; ++i) {
      expected[i] = 1.0 / static_cast<double>(i + 3);
      for (std::size_t rank = 1; rank < size; ++rank) expected[i] += 1.0 / static_cast<double>((i + 3) * (rank + 1));
    }
    Check check;
    for (int round = 0; round < 20; ++round)
      threads.run([&](std::size_t rank) {
        ThreadGroup const& group = *threads.group(rank);
        check(group.rank() == rank && group.size() == size && group.is_chief() == (rank == 0));
        std::vector<double> values(3);
        for (std::size_t i = 0; i < 3; ++i) values[i] = 1.0 / static_cast<double>((i + 3) * (rank + 1));
        group.allreduce_sum(values);
        check(values == expected);
        check(group.allreduce_sum(rank + 1).value() == size * (size + 1) / 2);
        check(group.allreduce_max(rank).value() == size - 1 && group.allreduce_min(rank).value() == 0);
        check(group.allreduce_or(rank == size - 1).value() && group.allreduce_and(rank < size).value());
        check(group.allreduce_and(rank > 0).value() == false);
        double const odd = rank == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
        check(std::isnan(group.allreduce_max(odd).value()) && std::isnan(group.allreduce_min(odd).value()));
      });
  }
}

BOOST_AUTO_TEST_CASE(values_travel_between_threads) {
  for (std::size_t const size : sizes) {
    GroupThreads threads(size);
    Check check;
    std::vector<int> common{4, 5};
    threads.run([&](std::size_t rank) {
      ThreadGroup const& group = *threads.group(rank);
      std::vector<int> values{static_cast<int>(rank), 7};
      group.broadcast(values, size - 1);
      check(values == std::vector<int>{static_cast<int>(size - 1), 7});
      group.broadcast(common);  // the same memory on all threads
      check(group.broadcast(rank + 2).value() == 2);
      std::vector<std::string> const texts = group.allgather(std::string(rank, 'x'));
      for (std::size_t r = 0; r < size; ++r) check(texts[r].size() == r);
      auto const gathered = group.allgatherv(std::vector<std::size_t>(rank, rank));
      std::vector<std::size_t> counts, together(gathered.values().size());
      for (std::size_t r = 0; r < size; ++r) {
        counts.push_back(r);
        check(gathered.part(r).size() == r);
        for (std::size_t const value : gathered.part(r)) check(value == r);
      }
      std::vector<std::size_t> const own(rank, rank);
      group.allgatherv_into(std::span(own), counts, together);
      check(together == gathered.values());
    });
    BOOST_TEST(common == (std::vector<int>{4, 5}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_error_of_one_thread_ends_the_waits_of_the_others) {
  for (std::size_t const size : sizes)
    for (std::size_t failing = 0; failing < size; ++failing) {
      GroupThreads threads(size);
      std::atomic<std::size_t> passed{0};
      auto const fail = [&] {
        threads.run([&](std::size_t rank) {
          ThreadGroup const& group = *threads.group(rank);
          group.barrier();
          if (rank == failing) throw std::runtime_error("of rank " + std::to_string(rank));
          group.allreduce_sum(1);
          ++passed;
        });
      };
      BOOST_CHECK_EXCEPTION(fail(), std::runtime_error, [&](std::runtime_error const& error) {
        return error.what() == "of rank " + std::to_string(failing);
      });
      BOOST_TEST(passed == 0u);
      threads.run([&](std::size_t rank) { passed += threads.group(rank)->allreduce_sum(std::size_t{1}).value(); });
      BOOST_TEST(passed == size * size);
    }
}

BOOST_AUTO_TEST_CASE(threads_agree_on_the_error_of_the_lowest_rank) {
  for (std::size_t const size : sizes) {
    GroupThreads threads(size);
    Check check;
    threads.run([&](std::size_t rank) {
      ThreadGroup const& group = *threads.group(rank);
      try {
        group.together([&] {
          if (rank + 2 >= size) throw ValueError("of rank " + std::to_string(rank));
        });
        check(false);
      } catch (ValueError const& error) {
        check(error.what() == "of rank " + std::to_string(size < 2 ? 0 : size - 2));
      }
      check(group.together([&] { return rank; }) == rank);
    });
  }
}
