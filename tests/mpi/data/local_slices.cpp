// ranks: 1 2 3 4   labels: law
#define BOOST_TEST_MODULE local_slices
#include "support/kokkos_fixture.hpp"

#include <vector>

#include "trireme/data/from_local_slices.hpp"

using namespace trireme;

namespace {
Communicator const& world() { return test::environment().world(); }
/// As docs/extending.md has strategies: their processes are group().
struct Strategy {
  Communicator const& group() const { return world(); }
};
/// Rank r owns 7 r samples: rank 0 has none.
std::vector<std::int32_t> own() {
  std::vector<std::int32_t> result(7 * world().rank());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::int32_t>(100 * world().rank() + i);
  return result;
}
}  // namespace

BOOST_AUTO_TEST_CASE(ranks_with_different_numbers_of_samples_agree_on_every_batch) {
  auto const data = data::from_local_slices(Strategy{}, own(), own()).shuffle(1, 5).batch(GlobalBatch{8}).prefetch(1);
  DataShard const share{world().rank(), world().size()};
  std::size_t const total = 7 * world().size() * (world().size() - 1) / 2;
  BOOST_TEST(data.size().value() == total);
  for (std::size_t const batches : world().allgather(data.batches_per_epoch(share).value()))
    BOOST_TEST(batches == data.batches_per_epoch(share).value());
  for (std::uint64_t const hash : world().allgather(data.checksum().hash)) BOOST_TEST(hash == data.checksum().hash);

  auto stream = data.stream<float, std::int32_t>(share);
  Batch<float, std::int32_t> batch;
  std::size_t seen = 0;
  std::vector<bool> drawn(own().size(), false);
  while (stream.next(batch)) {
    std::size_t before = 0, together = 0;
    auto const rows = world().allgather(batch.rows);
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      if (rank < world().rank()) before += rows[rank];
      together += rows[rank];
    }
    BOOST_TEST(batch.first_row == before);
    BOOST_TEST(batch.global_rows == together);
    seen += together;
    for (std::size_t i = 0; i < batch.rows; ++i) {
      auto const index = static_cast<std::size_t>(batch.y[i]) - 100 * world().rank();
      BOOST_TEST_REQUIRE(index < drawn.size());
      BOOST_TEST(!drawn[index]);
      drawn[index] = true;
    }
  }
  BOOST_TEST(seen == total);
  for (bool const one : drawn) BOOST_TEST(one);
}

BOOST_AUTO_TEST_CASE(an_array_that_does_not_fit_on_one_rank_is_an_error_on_all) {
  std::vector<float> const x(4), y(world().rank() == world().size() - 1 ? 3 : 4);
  BOOST_CHECK_THROW(data::from_local_slices(world(), x, y), ShapeError);
  BOOST_CHECK_THROW(data::from_local_slices(Strategy{}, x, y), ShapeError);
}
