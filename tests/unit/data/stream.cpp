#define BOOST_TEST_MODULE stream
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {
HostTensor<float> inputs(Samples const& samples) { return {nullptr, samples.x.data(), {samples.y.size(), 2}, {}}; }

/// Throws at the sample with label 10.
auto failing() {
  return data::from_generator({}, {},
                              [] {
                                return [i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
                                  if (i == 10) throw std::runtime_error("the disk is gone");
                                  x[0] = 0;
                                  y[0] = i++;
                                  return true;
                                };
                              })
      .batch(GlobalBatch{4});
}
}  // namespace

BOOST_AUTO_TEST_CASE(rows_that_lie_apart_stay_where_they_are_if_that_is_wanted) {
  Samples const samples(10);
  std::vector<double> const weight{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  auto const shuffled = data::from_tensor_slices(inputs(samples), samples.y, weight).shuffle(10, 3);
  for (auto const& data :
       {shuffled.batch(GlobalBatch{4}), shuffled.take(9).batch(GlobalBatch{4}).prefetch(2),
        shuffled.skip(3).batch(GlobalBatch{4}), shuffled.repeat(2).batch(GlobalBatch{4}).repeat(2)}) {
    auto copied = data.stream<float, std::int32_t>({0, 2});
    auto scattered = data.stream<float, std::int32_t>({0, 2}, 0, 0, {.scattered = true});
    Batch<float, std::int32_t> expected, batch;
    while (copied.next(expected)) {
      BOOST_TEST_REQUIRE(scattered.next(batch));
      BOOST_TEST_REQUIRE(batch.rows == expected.rows);
      BOOST_TEST(batch.x.is_scattered() == (batch.rows > 0));
      for (std::size_t row = 0; row < batch.rows; ++row) {
        float const* const x = batch.x.row(row, 2);
        BOOST_TEST((x >= samples.x.data() && x < samples.x.data() + samples.x.size()));
        BOOST_TEST(
            (std::vector<float>(x, x + 2) == std::vector<float>(expected.x.row(row, 2), expected.x.row(row, 2) + 2)));
        BOOST_TEST(batch.y[row] == expected.y[row]);
        BOOST_TEST(batch.weight[row] == expected.weight[row]);
      }
    }
    BOOST_TEST(!scattered.next(batch));
  }
}

BOOST_AUTO_TEST_CASE(indices_are_checked_where_they_lie) {
  Samples samples(10);
  for (float& x : samples.x) x = 2;
  // Of a repeated array it is not known beforehand which samples are taken.
  auto const repeated = data::from_tensor_slices(inputs(samples), samples.y).repeat(1);
  auto const data = repeated.skip(2).shuffle(8, 3).batch(GlobalBatch{4});
  data::StreamOptions const options{.indices = {{0, 2, 3}}, .scattered = true};
  auto const read = [&] {
    auto stream = data.stream<float, std::int32_t>({}, 0, 0, options);
    Batch<float, std::int32_t> batch;
    while (stream.next(batch)) BOOST_TEST(batch.x.is_scattered());
  };
  samples.x[1] = 7;  // of a sample that is left out
  read();
  for (std::size_t i = 4; i < 20; i += 2) samples.x[i + 1] = 3;
  BOOST_TEST(message_of<ValueError>(read) == "input 3 of row 0 of a batch is outside of the vocabulary [0, 3)");
}

BOOST_AUTO_TEST_CASE(rows_that_are_one_block_or_have_to_be_computed_are_not_scattered) {
  Samples const samples(10);
  auto const data = data::from_tensor_slices(inputs(samples), samples.y);
  auto const twice = [](std::span<float const> x, std::span<float> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
  };
  Batch<float, std::int32_t> batch;
  data::StreamOptions const scattered{.scattered = true};
  auto block = data.batch(GlobalBatch{4}).stream<float, std::int32_t>({}, 0, 0, scattered);
  BOOST_TEST_REQUIRE(block.next(batch));
  BOOST_TEST((batch.x.block() == samples.x.data() && !batch.x.is_scattered()));
  for (auto const& computed : {data.map({2}, twice).shuffle(10, 3), data.map({2}, twice).cache().shuffle(10, 3)}) {
    auto stream = computed.batch(GlobalBatch{4}).stream<float, std::int32_t>({}, 0, 0, scattered);
    BOOST_TEST_REQUIRE(stream.next(batch));
    BOOST_TEST((batch.x.block() && !batch.x.is_scattered()));
  }
  auto other_scalar = data.shuffle(10, 3).batch(GlobalBatch{4}).stream<double, std::int32_t>({}, 0, 0, scattered);
  Batch<double, std::int32_t> other;
  BOOST_TEST_REQUIRE(other_scalar.next(other));
  BOOST_TEST((other.x.block() && !other.x.is_scattered()));
}

BOOST_AUTO_TEST_CASE(a_batch_of_data_in_order_and_of_the_right_scalar_points_into_the_source) {
  Samples const samples(10);
  std::vector<double> const weight(10, 0.5);
  auto const source = data::from_tensor_slices(inputs(samples), samples.y, weight);
  Batch<float, std::int32_t> batch;
  auto stream = source.batch(GlobalBatch{4}).skip(1).stream<float, std::int32_t>({1, 2});
  BOOST_TEST_REQUIRE(stream.next(batch));
  BOOST_TEST(batch.x.block() == samples.x.data() + 2 * 6);
  BOOST_TEST(batch.y == samples.y.data() + 6);
  BOOST_TEST(batch.weight == weight.data() + 6);

  auto ahead = source.skip(3).take(6).repeat(2).batch(GlobalBatch{3}).prefetch(2).stream<float, std::int32_t>({});
  for (std::size_t const first : {3u, 6u, 3u, 6u}) {
    BOOST_TEST_REQUIRE(ahead.next(batch));
    BOOST_TEST(batch.x.block() == samples.x.data() + 2 * first);
    BOOST_TEST(batch.y == samples.y.data() + first);
  }
}

BOOST_AUTO_TEST_CASE(only_what_differs_in_its_scalar_is_converted) {
  Samples const samples(6);
  std::vector<std::uint8_t> const bytes{0, 1, 2, 253, 254, 255};
  auto const data = data::from_tensor_slices(inputs(samples), bytes).batch(GlobalBatch{6});
  Batch<float, std::int32_t> batch;
  auto stream = data.stream<float, std::int32_t>({});
  BOOST_TEST_REQUIRE(stream.next(batch));
  BOOST_TEST(batch.x.block() == samples.x.data());
  BOOST_TEST(std::vector<int>(batch.y, batch.y + 6) == (std::vector<int>{0, 1, 2, 253, 254, 255}), per_element());

  Batch<double, double> dense;
  auto doubles = data.stream<double, double>({});
  BOOST_TEST_REQUIRE(doubles.next(dense));
  BOOST_TEST(dense.x.block()[10] == 12.5);
  BOOST_TEST(dense.y[5] == 255.0);
}

BOOST_AUTO_TEST_CASE(a_prefetched_epoch_equals_one_that_is_not) {
  Samples const samples(50);
  auto const data = data::from_tensor_slices(inputs(samples), samples.y).shuffle(1, 7).batch(GlobalBatch{7});
  for (std::size_t const ahead : {1u, 2u, 5u, 40u})
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
      BOOST_TEST((pieces<double>(data.prefetch(ahead), {1, 3}, epoch) == pieces<double>(data, {1, 3}, epoch)));
}

BOOST_AUTO_TEST_CASE(a_stream_can_be_rewound_at_any_time) {
  Samples const samples(50);
  auto const plain = data::from_tensor_slices(inputs(samples), samples.y).shuffle(1, 7).batch(GlobalBatch{7});
  for (auto const& data : {plain, plain.prefetch(3)}) {
    auto stream = data.stream<float, std::int32_t>({});
    Batch<float, std::int32_t> batch;
    for (std::uint64_t epoch = 0; epoch < 30; ++epoch) {
      stream.rewind(epoch, 1);
      for (std::uint64_t i = 0; i < epoch % 6; ++i) BOOST_TEST(stream.next(batch));
    }
    stream.rewind(4, 2);
    BOOST_TEST((drain<float, std::int32_t>(data, stream) == pieces(plain, {}, 4, 2)));
    BOOST_TEST(!stream.next(batch));
    BOOST_TEST(!stream.next(batch));
  }
}

BOOST_AUTO_TEST_CASE(a_batch_stays_as_it_is_until_the_second_next_one_is_asked_for) {
  Samples const samples(200);
  auto const plain = data::from_tensor_slices(inputs(samples), samples.y).shuffle(1, 7).batch(GlobalBatch{3});
  for (auto const& data : {plain, plain.prefetch(1), plain.prefetch(4)}) {
    auto const expected = batches<double>(plain);
    auto stream = data.stream<double, std::int32_t>({});
    Batch<double, std::int32_t> before, batch;
    BOOST_TEST_REQUIRE(stream.next(before));
    for (std::size_t k = 1; stream.next(batch); ++k) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // for the thread to do its worst
      BOOST_TEST_REQUIRE(before.y[0] == expected[k - 1][0].y[0]);
      BOOST_TEST_REQUIRE(before.x.block()[0] == expected[k - 1][0].x[0]);
      BOOST_TEST_REQUIRE(batch.y[0] == expected[k][0].y[0]);
      before = batch;
    }
    int const last = before.y[0];
    stream.rewind(1);
    BOOST_TEST(stream.next(batch));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    BOOST_TEST(before.y[0] == last);
  }
}

BOOST_AUTO_TEST_CASE(after_the_first_epoch_nothing_is_allocated) {
  Samples const samples(50);
  auto const plain = data::from_tensor_slices(inputs(samples), samples.y).shuffle(1, 7);
  for (auto const& data : {plain.batch(GlobalBatch{8}), plain.batch(GlobalBatch{8}).repeat(2),
                           plain.repeat(2).batch(GlobalBatch{8}).prefetch(2)}) {
    auto stream = data.stream<double, std::int32_t>({1, 3});
    Batch<double, std::int32_t> batch;
    auto const epoch = [&](std::uint64_t number) {
      stream.rewind(number);
      std::size_t rows = 0;
      while (stream.next(batch)) rows += batch.rows;
      return rows;
    };
    BOOST_TEST(epoch(0) > 0);
    epoch(1);
    std::size_t const before = allocations;
    std::size_t const rows = epoch(2) + epoch(3);
    BOOST_TEST(allocations == before);
    BOOST_TEST(rows > 0);
  }
}

BOOST_AUTO_TEST_CASE(what_the_source_throws_comes_out_of_next_after_the_batches_before_it) {
  for (auto const& data : {failing(), failing().prefetch(3)}) {
    auto stream = data.stream<float, std::int32_t>({});
    Batch<float, std::int32_t> batch;
    for (int attempt = 0; attempt < 2; ++attempt) {
      BOOST_TEST(stream.next(batch));
      BOOST_TEST(stream.next(batch));
      BOOST_TEST(batch.y[3] == 7);
      BOOST_TEST(message_of<std::runtime_error>([&] { stream.next(batch); }) == "the disk is gone");
      stream.rewind(0);
    }
  }
}

BOOST_AUTO_TEST_CASE(each_pass_is_begun_once_and_an_error_at_its_beginning_is_not_lost) {
  std::atomic<int> begun{0};
  auto const plain = data::from_generator({}, {}, [&begun] {
                       if (begun++ == 0) throw std::runtime_error("the file cannot be opened");
                       return [i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
                         x[0] = 0;
                         y[0] = i;
                         return i++ < 8;
                       };
                     }).batch(GlobalBatch{4});
  for (auto const& data : {plain, plain.prefetch(2)})
    for (bool const rewinds : {false, true}) {
      begun = 0;
      auto stream = data.stream<float, std::int32_t>({});
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for a thread that would begin by itself
      if (rewinds) stream.rewind(0);
      Batch<float, std::int32_t> batch;
      BOOST_TEST(message_of<std::runtime_error>([&] { stream.next(batch); }) == "the file cannot be opened");
      BOOST_TEST(begun == 1);
      stream.rewind(1);
      BOOST_TEST((drain<float, std::int32_t>(data, stream).size() == 2));
      BOOST_TEST(begun == 2);
    }
}

BOOST_AUTO_TEST_CASE(the_thread_of_a_stream_ends_with_it_whatever_has_been_drawn) {
  Samples const samples(50);
  auto const data = data::from_tensor_slices(inputs(samples), samples.y).repeat().batch(GlobalBatch{8}).prefetch(2);
  for (int drawn = 0; drawn < 10; ++drawn) {
    auto stream = data.stream<float, std::int32_t>({});
    Batch<float, std::int32_t> batch;
    for (int i = 0; i < drawn; ++i) BOOST_TEST(stream.next(batch));
    auto moved = std::move(stream);
    BOOST_TEST(moved.next(batch));
  }
}

BOOST_AUTO_TEST_CASE(class_weights_become_the_weights_of_the_samples) {
  std::vector<float> const x{0, 1, 2, 3, 4, 5};
  std::vector<std::int32_t> const y{0, 1, 2, 0, 1, 3};
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{4});
  std::vector<double> weights;
  Batch<float, std::int32_t> batch;
  auto stream = data.stream<float, std::int32_t>({}, 0, 0, {.class_weight = {0.5, 2.0, 3.0}});
  while (stream.next(batch)) weights.insert(weights.end(), batch.weight, batch.weight + batch.rows);
  BOOST_TEST(weights == (std::vector<double>{0.5, 2, 3, 0.5, 2, 1}), per_element());

  std::vector<float> const one_hot{0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1};
  auto const dense = data::from_tensor_slices(x, HostTensor<float>{nullptr, one_hot.data(), {6, 2}, {}});
  auto dense_stream = dense.batch(GlobalBatch{6}).stream<float, float>({}, 0, 0, {.class_weight = {4.0, 5.0}});
  Batch<float, float> dense_batch;
  BOOST_TEST_REQUIRE(dense_stream.next(dense_batch));
  BOOST_TEST(std::vector<double>(dense_batch.weight, dense_batch.weight + 6) == (std::vector<double>{5, 4, 5, 4, 5, 5}),
             per_element());
}

// Keras 3.15 rounds a number to the even one of two classes, and weighs by 1 what is below all classes.
BOOST_AUTO_TEST_CASE(numbers_have_the_class_weights_of_keras) {
  std::vector<float> const y{-1, 1, -0.4f, 0.5f, 1.5f, 2.5f, -0.6f, 9};
  auto const data = data::from_tensor_slices(y, y).batch(GlobalBatch{8});
  auto stream = data.stream<float, float>({}, 0, 0, {.class_weight = {2, 3, 5, 7}});
  Batch<float, float> batch;
  BOOST_TEST_REQUIRE(stream.next(batch));
  BOOST_TEST(std::vector<double>(batch.weight, batch.weight + 8) == (std::vector<double>{1, 3, 2, 2, 5, 5, 1, 1}),
             per_element());

  std::vector<std::int32_t> const labels{-1, 0, 1};  // -1: a label that the loss ignores
  auto const sparse = data::from_tensor_slices(labels, labels).batch(GlobalBatch{3});
  auto sparse_stream =
      sparse.stream<float, std::int32_t>({}, 0, 0, {.class_weight = {2, 3}, .classes = 2, .ignored = -1});
  Batch<float, std::int32_t> sparse_batch;
  BOOST_TEST_REQUIRE(sparse_stream.next(sparse_batch));
  BOOST_TEST(std::vector<double>(sparse_batch.weight, sparse_batch.weight + 3) == (std::vector<double>{1, 2, 3}),
             per_element());
}

BOOST_AUTO_TEST_CASE(class_weights_that_cannot_be_used_are_errors) {
  std::vector<float> const x{0, 1, 2};
  std::vector<std::int32_t> const y{0, 1, 2};
  data::StreamOptions const options{.class_weight = {1.0, 2.0, 3.0}, .classes = 2};
  auto const weighted = data::from_tensor_slices(x, y, x).batch(GlobalBatch{3});
  BOOST_TEST(message_of<ValueError>([&] { weighted.stream<float, std::int32_t>({}, 0, 0, options); }) ==
             "class_weight and sample weights were both given: only one of them can be used");
  auto const plain = data::from_tensor_slices(x, y).batch(GlobalBatch{3});
  BOOST_TEST(message_of<ValueError>([&] { plain.stream<float, std::int32_t>({}, 0, 0, options); }) ==
             "class_weight has 3 numbers, but there are 2 classes");
}

BOOST_AUTO_TEST_CASE(labels_of_arrays_are_checked_beforehand_where_they_are_taken) {
  std::vector<float> const x(8);
  std::vector<std::int32_t> const y{0, 1, 0, 9, 1, 0, 0, 1};
  auto const data = data::from_tensor_slices(x, y);
  auto const error = [](auto const& samples) {
    return message_of<ValueError>([&] {
      samples.batch(GlobalBatch{2}).verify({.x_extents = {}, .target_extents = {}, .classes = 2}, "the data");
    });
  };
  BOOST_TEST(error(data.take(3)) == "");
  BOOST_TEST(error(data.skip(4)) == "");
  BOOST_TEST(error(data.skip(9)) == "");
  BOOST_TEST(error(data.take(4)) == "label 9 at index 3 of the data is outside of [0, 2)");
  BOOST_TEST(error(data.skip(1).take(4).skip(1)) == "label 9 at index 1 of the data is outside of [0, 2)");
  BOOST_TEST(error(data.skip(2).cache().shuffle(8, 1)) == "label 9 at index 1 of the data is outside of [0, 2)");
  BOOST_TEST(error(data.repeat(2).take(9)) == "");      // at the batch that has it
  BOOST_TEST(error(data.shuffle(8, 1).take(4)) == "");  // perhaps at a batch
  BOOST_TEST(error(data.shuffle(8, 1).cache().take(4)) == "");
}

BOOST_AUTO_TEST_CASE(without_targets_a_batch_has_inputs_alone) {
  std::vector<float> const x{0, 1, 2};
  std::vector<float> const no_class{0.5f, 1, 2};
  Batch<float, std::int32_t> batch;
  for (bool const targets : {false, true}) {
    auto const data = targets ? data::from_tensor_slices(x, no_class).shuffle(1, 1).batch(GlobalBatch{2})
                              : data::from_tensor_slices(x, no_class).batch(GlobalBatch{2});
    auto stream = data.stream<float, std::int32_t>({}, 0, 0, {.targets = false});
    BOOST_TEST(stream.next(batch));
    BOOST_TEST(batch.rows == 2);
    BOOST_TEST(batch.y == nullptr);
  }
  auto const alone = data::from_tensor_slices(x).batch(GlobalBatch{2});
  BOOST_TEST(!alone.has_targets());
  auto stream = alone.stream<float, std::int32_t>({1, 2});
  BOOST_TEST(stream.next(batch));
  BOOST_TEST(batch.x.block()[0] == 1);
}
