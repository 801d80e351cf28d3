#define BOOST_TEST_MODULE local_slices
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/data/from_local_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
/// Rank r's own samples are 100 r, 100 r + 1, ...
auto dataset(std::vector<std::size_t> const& sizes, std::size_t rank) {
  std::vector<std::int32_t> own(sizes[rank]);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<std::int32_t>(100 * rank + i);
  return data::from_local_slices(data::LocalSizes{sizes, rank}, std::vector<std::int32_t>(own), std::move(own));
}

/// What each rank gives to each batch, and in which order; checks that all ranks agree on the global sizes.
template <class Chain>
std::vector<std::vector<Piece>> all_pieces(std::vector<std::size_t> const& sizes, Chain const& chain,
                                           std::uint64_t epoch = 0) {
  std::vector<std::vector<Piece>> result;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    auto const data = chain(dataset(sizes, rank));
    DataShard const share{rank, sizes.size()};
    result.push_back(pieces(data, share, epoch));
    for (auto const& piece : result.back()) BOOST_TEST(piece.rows.size() <= data.max_rows(share));
    if (auto const known = data.batches_per_epoch(share)) BOOST_TEST(*known == result.back().size());
  }
  for (std::size_t k = 0; k < result[0].size(); ++k) {
    std::size_t rows = 0;
    for (auto const& mine : result) {
      BOOST_TEST_REQUIRE(mine.size() == result[0].size());
      BOOST_TEST(mine[k].first_row == rows);
      rows += mine[k].rows.size();
    }
    BOOST_TEST(rows > 0);
    for (auto const& mine : result) BOOST_TEST(mine[k].global_rows == rows);
  }
  return result;
}
std::vector<int> drawn(std::vector<Piece> const& pieces) {
  std::vector<int> result;
  for (auto const& piece : pieces)
    for (Row const& row : piece.rows) result.push_back(static_cast<int>(row.y[0]));
  return result;
}
std::vector<int> own(std::size_t rank, std::size_t from, std::size_t to) {
  return counted(static_cast<int>(100 * rank + from), static_cast<int>(100 * rank + to));
}
}  // namespace

BOOST_AUTO_TEST_CASE(each_rank_gives_all_of_its_samples_once_and_in_proportion) {
  for (auto const& sizes : {std::vector<std::size_t>{7}, {33, 31}, {1, 20}, {10, 0, 5}, {3, 50, 8, 2}, {1, 1, 1, 1, 1}})
    for (std::size_t const b : {1u, 2u, 5u, 8u, 64u}) {
      std::size_t total = 0;
      for (std::size_t n : sizes) total += n;
      auto const result = all_pieces(sizes, [&](auto data) { return data.batch(GlobalBatch{b}); });
      for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
        BOOST_TEST(drawn(result[rank]) == own(rank, 0, sizes[rank]), per_element());
        double const fair = static_cast<double>(sizes[rank] * std::min(b, total)) / static_cast<double>(total);
        for (auto const& piece : result[rank]) BOOST_TEST(static_cast<double>(piece.rows.size()) < fair + 1);
      }
    }
}

BOOST_AUTO_TEST_CASE(batch_k_has_the_rows_between_two_floors_of_each_rank) {
  auto const result = all_pieces({6, 10}, [](auto data) { return data.batch(GlobalBatch{5}); });
  std::vector<std::size_t> first, second;
  for (auto const& piece : result[0]) first.push_back(piece.rows.size());
  for (auto const& piece : result[1]) second.push_back(piece.rows.size());
  BOOST_TEST(first == (std::vector<std::size_t>{1, 2, 2, 1}), per_element());   // floor(6 * {5, 10, 15, 16} / 16)
  BOOST_TEST(second == (std::vector<std::size_t>{3, 3, 3, 1}), per_element());  // floor(10 * {5, 10, 15, 16} / 16)
}

BOOST_AUTO_TEST_CASE(a_rank_shuffles_its_own_samples_and_anew_each_epoch) {
  std::vector<std::size_t> const sizes{20, 20};
  auto const chain = [](auto data) { return data.shuffle(1, 9).batch(GlobalBatch{8}); };
  auto const epoch0 = all_pieces(sizes, chain, 0), epoch1 = all_pieces(sizes, chain, 1);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    auto order = drawn(epoch0[rank]);
    BOOST_TEST(order != drawn(epoch1[rank]));
    std::sort(order.begin(), order.end());
    BOOST_TEST(order == own(rank, 0, 20), per_element());
  }
  auto other = drawn(epoch0[1]);
  for (int& label : other) label -= 100;
  BOOST_TEST(other != drawn(epoch0[0]));
}

BOOST_AUTO_TEST_CASE(take_and_skip_divide_the_samples_of_all_ranks_exactly) {
  std::vector<std::size_t> const sizes{7, 0, 12, 4};
  for (std::size_t n = 0; n <= 25; ++n) {
    auto const head = all_pieces(sizes, [&](auto data) { return data.take(n).batch(GlobalBatch{6}); });
    auto const tail = all_pieces(sizes, [&](auto data) { return data.skip(n).batch(GlobalBatch{6}); });
    std::size_t taken = 0;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      auto both = drawn(head[rank]);
      taken += both.size();
      auto const rest = drawn(tail[rank]);
      both.insert(both.end(), rest.begin(), rest.end());
      BOOST_TEST(both == own(rank, 0, sizes[rank]), per_element());
    }
    BOOST_TEST(taken == std::min<std::size_t>(n, 23));
  }
}

BOOST_AUTO_TEST_CASE(repeat_map_and_cache_keep_the_proportions) {
  std::vector<std::size_t> const sizes{3, 5};
  auto const chain = [](auto data) {
    return data
        .template map<float>(
            {}, [](std::span<std::int32_t const> in, std::span<float> out) { out[0] = static_cast<float>(in[0]); })
        .cache()
        .repeat(2)
        .batch(GlobalBatch{4})
        .prefetch(1);
  };
  auto const result = all_pieces(sizes, chain);
  BOOST_TEST(result[0].size() == 4);
  BOOST_TEST(drawn(result[0]) == (std::vector<int>{0, 1, 2, 0, 1, 2}), per_element());

  auto const endless = all_pieces(sizes, [](auto data) { return data.repeat().batch(GlobalBatch{4}).take(6); });
  BOOST_TEST(drawn(endless[0]) == (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2}), per_element());
  auto const cut = all_pieces(sizes, [](auto data) { return data.repeat().take(24).batch(GlobalBatch{4}); });
  BOOST_TEST(drawn(cut[1]).size() == 15);
}

BOOST_AUTO_TEST_CASE(a_rank_without_samples_knows_that_the_others_have_no_end) {
  for (auto const& sizes : {std::vector<std::size_t>{0, 5}, {3, 0, 5}}) {
    auto const endless = [](auto data) { return data.repeat().batch(GlobalBatch{4}).take(6); };
    auto const pieces = all_pieces(sizes, endless);
    BOOST_TEST(pieces[0].size() == 6);
    BOOST_TEST(drawn(pieces.back()).size() >= 15);
    all_pieces(sizes, [](auto data) { return data.repeat().skip(3).take(24).batch(GlobalBatch{4}); });
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      auto const data = dataset(sizes, rank).repeat();
      BOOST_TEST(!data.size().has_value());
      BOOST_TEST(data.take(24).size().value() == 24);
      BOOST_TEST(!data.batch(GlobalBatch{4}).batches_per_epoch({rank, sizes.size()}).has_value());
      BOOST_CHECK_THROW(data.cache(), ValueError);
    }
  }
}

BOOST_AUTO_TEST_CASE(samples_of_another_process_and_sizes_that_do_not_agree_are_errors) {
  auto const data = dataset({3, 5}, 1).batch(GlobalBatch{4});
  BOOST_TEST(data.is_local());
  BOOST_TEST(data.size().value() == 8);
  BOOST_TEST(message_of<ValueError>([&] { data.stream<float, std::int32_t>({0, 2}); }) ==
             "the data belong to process 1 of 2, but this is process 0 of 2");
  std::vector<float> const two(2);
  BOOST_TEST(message_of<ShapeError>([&] { data::from_local_slices(data::LocalSizes{{2, 3}, 1}, two, two); }) ==
             "2 samples of process 1 do not agree with the sizes given");
}

BOOST_AUTO_TEST_CASE(checksums_of_local_slices_agree_though_the_samples_differ) {
  auto const sum = [](std::vector<std::size_t> const& sizes, std::size_t rank) {
    return dataset(sizes, rank).shuffle(1, 2).batch(GlobalBatch{4}).checksum();
  };
  BOOST_TEST((sum({3, 5}, 0) == sum({3, 5}, 1)));
  BOOST_TEST(!(sum({3, 5}, 0) == sum({3, 6}, 1)));
}

// Unmanaged, so that Kokkos need not run.
BOOST_AUTO_TEST_CASE(batches_in_order_are_the_memory_of_the_views_that_were_given) {
  std::vector<double> x(30), y(10);
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const inputs(x.data(), 10, 3),
      targets(y.data(), 10, 1);
  auto const data = data::from_local_slices(data::LocalSizes{{10}, 0}, inputs, targets).batch(GlobalBatch{4});
  auto stream = data.stream<double, double>({});
  x[0] = 7;  // after all was made: what the application computes later is what the batch has
  Batch<double, double> batch;
  std::size_t row = 0;
  for (std::size_t const rows : {4u, 4u, 2u}) {
    BOOST_TEST_REQUIRE(stream.next(batch));
    BOOST_TEST(batch.rows == rows);
    BOOST_TEST(batch.x.block() == x.data() + 3 * row);
    BOOST_TEST(batch.y == y.data() + row);
    row += rows;
  }
  BOOST_TEST(!stream.next(batch));
}
