#define BOOST_TEST_MODULE seek
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;

namespace {

/// Each batch of an epoch that was gone to, in an order with leaps both ways, is that of a pass in order.
template <class Data>
void check_seek(Data const& data) {
  for (std::uint64_t epoch : {0u, 3u}) {
    auto const expected = pieces(data, {1, 3}, epoch);
    BOOST_TEST_REQUIRE(expected.size() > 4u);
    auto stream = data.template stream<float, std::int32_t>({1, 3}, epoch);
    for (std::size_t batch : {2u, 0u, 4u, 3u, 3u, 1u}) {
      stream.seek(batch);
      auto const rest = drain<float, std::int32_t>(data, stream);
      BOOST_TEST((rest == std::vector(expected.begin() + static_cast<std::ptrdiff_t>(batch), expected.end())));
    }
    stream.seek(expected.size());
    BOOST_TEST((drain<float, std::int32_t>(data, stream).empty()));
  }
}

auto samples_of(Samples const& samples) {
  return data::from_tensor_slices(HostTensor<float>{nullptr, samples.x.data(), {samples.y.size(), 2}, {}}, samples.y);
}

auto generated(std::shared_ptr<int> const& produced) {
  return data::from_generator({}, {}, [produced](std::uint64_t pass) {
    return [produced, pass, i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i == 17) return false;
      ++*produced;
      x[0] = static_cast<float>(pass);
      y[0] = i++;
      return true;
    };
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_goes_to_any_batch_of_its_epoch) {
  Samples const samples(17);
  check_seek(samples_of(samples).batch(GlobalBatch{3}));
  check_seek(samples_of(samples).shuffle(17, 5).batch(GlobalBatch{3}));
  check_seek(samples_of(samples).shuffle(17, 5).batch(GlobalBatch{3}).prefetch(2));
  check_seek(samples_of(samples).shuffle(17, 5).batch(GlobalBatch{4}).skip(1).repeat(2));
  check_seek(generated(std::make_shared<int>(0)).batch(GlobalBatch{3}));
}

BOOST_AUTO_TEST_CASE(a_dropped_batch_is_counted_and_leaves_those_that_were_handed_out) {
  auto const data = generated(std::make_shared<int>(0)).batch(GlobalBatch{5});
  auto stream = data.stream<float, std::int32_t>({});
  Batch<float, std::int32_t> batch, later;
  BOOST_TEST_REQUIRE(stream.next(batch));
  BOOST_TEST(stream.drop() == 5u);
  BOOST_TEST(stream.drop() == 5u);
  BOOST_TEST_REQUIRE(stream.next(later));
  BOOST_TEST(batch.y[0] == 0);
  BOOST_TEST(later.y[0] == 15);
  BOOST_TEST(stream.drop() == 0u);
  BOOST_TEST(!stream.next(later));

  auto ahead = data.prefetch(2).stream<float, std::int32_t>({});
  BOOST_TEST(ahead.drop() == 5u);
  BOOST_TEST_REQUIRE(ahead.next(batch));
  BOOST_TEST(batch.y[0] == 5);
}

BOOST_AUTO_TEST_CASE(a_generator_is_read_on_where_it_stands_when_its_stream_goes_forward) {
  auto const produced = std::make_shared<int>(0);
  auto const data = generated(produced).batch(GlobalBatch{2});
  auto stream = data.stream<float, std::int32_t>({});
  Batch<float, std::int32_t> batch;
  for (std::size_t index : {1u, 4u, 7u}) {
    stream.seek(index);
    BOOST_TEST_REQUIRE(stream.next(batch));
    BOOST_TEST(batch.y[0] == static_cast<std::int32_t>(2 * index));
  }
  BOOST_TEST(*produced == 16);
}
