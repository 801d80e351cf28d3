// ranks: 1 2 3 4
// What is done with arrays whose parts belong to ranks, without waiting for it.
#define BOOST_TEST_MODULE rank_parts
#include "mpi/communicator/ramp.hpp"
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <vector>

using namespace trireme;
using test::chopped, test::ramp, test::ramp_sum, test::world;

namespace {

/// Nothing for the first rank, more than a chopped call takes for the last.
RankParts uneven() {
  std::vector<std::size_t> counts(world().size(), 2);
  counts[0] = 0;
  counts.back() += 5;
  return RankParts(counts);
}

template <class Check>
void with_whole_and_chopped_calls(Check const& check) {
  check(world());
  check(chopped());
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_rank_gets_the_sums_of_its_part) {
  RankParts const parts = uneven();
  with_whole_and_chopped_calls([&](Communicator const& group) {
    auto const all = ramp(parts.total());
    std::vector<double> own(parts.count(group.rank()), -1);
    group.ireduce_scatter_sum<double>(all.data(), own.data(), parts).wait();
    for (std::size_t i = 0; i < own.size(); ++i) BOOST_TEST(own[i] == ramp_sum(parts.offset(group.rank()) + i));
  });
}

BOOST_AUTO_TEST_CASE(the_root_alone_gets_the_sums_where_its_values_were) {
  with_whole_and_chopped_calls([&](Communicator const& group) {
    std::size_t const root = group.size() - 1;
    auto values = ramp(8);
    group.ireduce_sum(values.data(), values.size(), root).wait();
    for (std::size_t i = 0; i < values.size(); ++i)
      BOOST_TEST(values[i] == (group.rank() == root ? ramp_sum(i) : static_cast<double>(i + 100 * group.rank())));
  });
}

BOOST_AUTO_TEST_CASE(parts_are_put_together_from_their_places_and_from_elsewhere) {
  RankParts const parts = uneven();
  for (bool in_place : {true, false})
    with_whole_and_chopped_calls([&](Communicator const& group) {
      std::vector<double> all(parts.total(), -1), own(parts.count(group.rank()));
      for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<double>(parts.offset(group.rank()) + i);
      double* const place = all.data() + parts.offset(group.rank());
      if (in_place) std::copy(own.begin(), own.end(), place);
      group.iallgather_parts<double>(in_place ? place : own.data(), all.data(), parts).wait();
      for (std::size_t i = 0; i < all.size(); ++i) BOOST_TEST(all[i] == static_cast<double>(i));
    });
}
