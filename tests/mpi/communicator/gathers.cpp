// ranks: 1 2 3 4
#define BOOST_TEST_MODULE gathers
#include "support/kokkos_fixture.hpp"

#include <cstdint>
#include <vector>

using namespace trireme;

namespace {
Communicator const& world() { return test::environment().world(); }

/// Rank 0 has nothing, rank r has 2 r - 1 values.
std::size_t length(std::size_t rank) { return rank == 0 ? 0 : 2 * rank - 1; }
std::vector<std::int32_t> own() {
  return std::vector<std::int32_t>(length(world().rank()), static_cast<std::int32_t>(world().rank()));
}
void check_parts(Gathered<std::int32_t> const& gathered) {
  BOOST_REQUIRE(gathered.parts() == world().size());
  for (std::size_t rank = 0; rank < world().size(); ++rank) {
    BOOST_TEST(gathered.part(rank).size() == length(rank));
    for (std::int32_t const value : gathered.part(rank)) BOOST_TEST(value == static_cast<std::int32_t>(rank));
  }
}
}  // namespace

BOOST_AUTO_TEST_CASE(values_are_gathered_by_rank) {
  struct Pair {
    std::size_t rank;
    bool odd;
  };
  auto const pairs = world().allgather(Pair{world().rank(), world().rank() % 2 == 1});
  BOOST_REQUIRE(pairs.size() == world().size());
  for (std::size_t rank = 0; rank < pairs.size(); ++rank) {
    BOOST_TEST(pairs[rank].rank == rank);
    BOOST_TEST(pairs[rank].odd == (rank % 2 == 1));
  }
}

BOOST_AUTO_TEST_CASE(uneven_and_empty_parts_are_gathered_on_all) { check_parts(world().allgatherv(own())); }

BOOST_AUTO_TEST_CASE(uneven_and_empty_parts_are_gathered_on_the_root_alone) {
  std::size_t const root = world().size() - 1;
  auto const gathered = world().gatherv(own(), root);
  if (world().rank() == root)
    check_parts(gathered);
  else
    BOOST_TEST(gathered.values().empty());
}

BOOST_AUTO_TEST_CASE(more_than_one_call_takes_is_gathered_in_pieces) {
  Communicator const comm(world().get(), 2);
  check_parts(comm.allgatherv(own()));
  auto const gathered = comm.gatherv(own());
  if (comm.is_chief()) check_parts(gathered);
}

BOOST_AUTO_TEST_CASE(structs_are_gathered_in_uneven_parts) {
  struct Sample {
    double value;
    std::int32_t label;
  };
  std::vector<Sample> const samples(length(world().rank()), Sample{0.5, static_cast<std::int32_t>(world().rank())});
  auto const gathered = world().allgatherv(samples);
  for (std::size_t rank = 0; rank < world().size(); ++rank) {
    BOOST_TEST(gathered.part(rank).size() == length(rank));
    for (Sample const& sample : gathered.part(rank)) BOOST_TEST(sample.label == static_cast<std::int32_t>(rank));
  }
}
