// ranks: 1 2 3 4
#define BOOST_TEST_MODULE reductions
#include "mpi/communicator/ramp.hpp"
#include "support/kokkos_fixture.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

using namespace trireme;
using test::chopped, test::ramp, test::ramp_sum, test::world;

BOOST_AUTO_TEST_CASE(a_sum_of_values_is_the_same_on_every_rank) {
  Uniform<std::uint64_t> const ranks = world().allreduce_sum(std::uint64_t{1});
  BOOST_TEST(ranks.value() == world().size());
  BOOST_TEST(world().allreduce_sum(0.5).value() == 0.5 * static_cast<double>(world().size()));
}

BOOST_AUTO_TEST_CASE(extrema_over_ranks_are_found) {
  auto const rank = static_cast<int>(world().rank());
  BOOST_TEST(world().allreduce_max(rank).value() == static_cast<int>(world().size()) - 1);
  BOOST_TEST(world().allreduce_min(10.0f - static_cast<float>(rank)).value() ==
             11.0f - static_cast<float>(world().size()));
  std::vector<std::int64_t> values{rank, -rank};
  world().allreduce_max(values);
  BOOST_TEST(values[0] == static_cast<int>(world().size()) - 1);
  BOOST_TEST(values[1] == 0);
}

// MPICH 4.0's own operations compare unsigned numbers as if they were signed.
BOOST_AUTO_TEST_CASE(extrema_of_unsigned_numbers_reach_over_their_whole_range) {
  auto const check = [](auto most) {
    using T = decltype(most);
    bool const last = world().rank() + 1 == world().size();
    T const one = world().size() == 1 ? most : T{1};
    BOOST_TEST(world().allreduce_max(last ? most : T{1}).value() == most);
    BOOST_TEST(world().allreduce_min(last ? most : T{1}).value() == one);
    std::vector<T> values{T{3}, last ? most : T{0}};
    world().allreduce_max(values);
    BOOST_TEST((values == std::vector<T>{T{3}, most}));
  };
  check(std::numeric_limits<std::uint64_t>::max());
  check(std::numeric_limits<std::uint32_t>::max());
  check(std::numeric_limits<std::uint16_t>::max());
}

BOOST_AUTO_TEST_CASE(a_nan_on_the_last_rank_is_the_extremum_on_every_rank) {
  bool const last = world().rank() + 1 == world().size();
  double const value = last ? std::numeric_limits<double>::quiet_NaN() : 1.0;
  BOOST_TEST(std::isnan(world().allreduce_max(value).value()));
  BOOST_TEST(std::isnan(world().allreduce_min(value).value()));
}

BOOST_AUTO_TEST_CASE(one_wish_is_any_and_only_all_wishes_are_all) {
  bool const last = world().rank() + 1 == world().size();
  BOOST_TEST(world().allreduce_or(last).value());
  BOOST_TEST(!world().allreduce_or(false).value());
  BOOST_TEST(world().allreduce_and(true).value());
  BOOST_TEST(!world().allreduce_and(!last).value());
}

BOOST_AUTO_TEST_CASE(a_range_is_summed_in_place) {
  auto values = ramp(7);
  world().allreduce_sum(std::span<double>(values).subspan(1));
  BOOST_TEST(values[0] == static_cast<double>(100 * world().rank()));
  for (std::size_t i = 1; i < values.size(); ++i) BOOST_TEST(values[i] == ramp_sum(i));
  std::vector<float> nothing;
  world().allreduce_sum(nothing);
  BOOST_TEST(nothing.empty());
}

BOOST_AUTO_TEST_CASE(a_range_longer_than_one_call_takes_is_summed_in_pieces) {
  auto values = ramp(8);
  auto started = ramp(8);
  Communicator const comm = chopped();
  Request request = comm.iallreduce_sum(started.data(), started.size());
  request.wait();
  comm.allreduce_sum(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    BOOST_TEST(values[i] == ramp_sum(i));
    BOOST_TEST(started[i] == ramp_sum(i));
  }
}

BOOST_AUTO_TEST_CASE(sums_are_scattered_in_uneven_parts) {
  std::vector<std::size_t> counts(world().size(), 2);
  counts[0] = 0;
  counts.back() += 3;
  std::size_t const total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::size_t const start =
      std::accumulate(counts.begin(), counts.begin() + static_cast<int>(world().rank()), std::size_t{0});
  auto const all = ramp(total);
  Communicator const comm = chopped();
  for (Communicator const* c : {&world(), &comm}) {
    std::vector<double> part(counts[world().rank()]);
    c->reduce_scatter_sum<double>(all, part, counts);
    for (std::size_t i = 0; i < part.size(); ++i) BOOST_TEST(part[i] == ramp_sum(start + i));
  }
  std::vector<double> wrong(total + 1);
  BOOST_CHECK_THROW(world().reduce_scatter_sum<double>(all, wrong, counts), ShapeError);
}

BOOST_AUTO_TEST_CASE(what_the_root_has_is_broadcast) {
  std::size_t const root = world().size() - 1;
  auto values = ramp(5);
  chopped().broadcast(values, root);
  BOOST_TEST(values[4] == static_cast<double>(4 + 100 * root));

  std::string text = world().rank() == root ? "the root's text" : "x";
  world().broadcast(text, root);
  BOOST_TEST(text == "the root's text");

  struct Pair {
    std::size_t rank;
    char mark;
  };
  Uniform<Pair> const pair = world().broadcast(Pair{world().rank(), 'p'}, root);
  BOOST_TEST(pair.value().rank == root);
}

BOOST_AUTO_TEST_CASE(a_wrong_call_says_rank_call_and_the_text_of_mpi) {
  std::vector<double> values(2);
  auto const names_the_call = [](CommunicationError const& e) {
    std::string const what = e.what();
    std::string const start = fmt::format("rank {}: MPI_Ibcast failed: ", world().rank());
    return what.starts_with(start) && what.size() > start.size() + 10 && what.find('\n') == std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(world().broadcast(values, 99), CommunicationError, names_the_call);
  BOOST_CHECK_THROW(Communicator(MPI_COMM_NULL), CommunicationError);
  // The communicator works on.
  BOOST_TEST(world().allreduce_sum(1).value() == static_cast<int>(world().size()));
}
