#define BOOST_TEST_MODULE requirements
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/data/requirements.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;

namespace {
std::vector<float> const values(24, 1.0f);

template <class Y>
auto dataset(std::vector<std::size_t> extents, HostTensor<Y> y) {
  return data::from_tensor_slices(HostTensor<float>{nullptr, values.data(), std::move(extents), "x.npy"}, std::move(y))
      .batch(GlobalBatch{2});
}
template <class Y>
HostTensor<Y> labels_of(std::vector<Y> const& labels) {
  return {nullptr, labels.data(), {labels.size()}, "train-labels.idx1-ubyte"};
}
std::vector<std::int32_t> const good{0, 4, 2};
}  // namespace

BOOST_AUTO_TEST_CASE(samples_of_other_extents_are_an_error_that_names_both) {
  auto const data = dataset({3, 4, 2}, labels_of(good));
  BOOST_TEST(message_of<ShapeError>([&] { data.verify({{2, 4}, {}, 5}); }) ==
             "samples of x.npy have the extents (4, 2), but the model takes (2, 4)");
  BOOST_TEST(message_of<ShapeError>([&] { data.verify({{8}, {}, 5}); }) ==
             "samples of x.npy have the extents (4, 2), but the model takes (8,)");
  data.verify({{4, 2}, {}, 5});
  data.verify({{4, 2, 1}, {}, 5});
}

BOOST_AUTO_TEST_CASE(targets_of_other_extents_are_an_error_that_names_both) {
  auto const data = dataset({3, 8}, HostTensor<float>{nullptr, values.data(), {3, 5}, "y.npy"});
  BOOST_TEST(message_of<ShapeError>([&] { data.verify({{8}, {}, 5}); }) ==
             "targets of y.npy have the extents (5,), but the model's output and loss need () (class indices)");
  BOOST_TEST(message_of<ShapeError>([&] { data.verify({{8}, {1}, 0}); }) ==
             "targets of y.npy have the extents (5,), but the model's output and loss need (1,)");
  data.verify({{8}, {5}, 0});
  dataset({3, 8}, HostTensor<float>{nullptr, values.data(), {3, 1}, {}}).verify({{8}, {}, 5});
  dataset({3, 8}, labels_of(good)).verify({{8}, {1}, 0});
}

BOOST_AUTO_TEST_CASE(the_first_label_out_of_range_is_named_with_its_index_its_value_and_its_file) {
  auto const says = [](auto const& labels, std::size_t classes) {
    return message_of<ValueError>([&] { dataset({3, 8}, labels_of(labels)).verify({{8}, {}, classes}); });
  };
  BOOST_TEST(says(good, 4) == "label 4 at index 1 of train-labels.idx1-ubyte is outside of [0, 4)");
  BOOST_TEST(says(std::vector<std::int32_t>{0, 1, -1}, 4) ==
             "label -1 at index 2 of train-labels.idx1-ubyte is outside of [0, 4)");
  BOOST_TEST(says(std::vector<std::uint8_t>{255, 1, 1}, 255) ==
             "label 255 at index 0 of train-labels.idx1-ubyte is outside of [0, 255)");
  BOOST_TEST(says(std::vector<std::int64_t>{0, std::int64_t{1} << 32, 0}, 4) ==
             "label 4294967296 at index 1 of train-labels.idx1-ubyte is outside of [0, 4)");
  BOOST_TEST(says(std::vector<float>{0, 1.5f, 9}, 4) ==
             "label 1.5 at index 1 of train-labels.idx1-ubyte is not an integer");
  BOOST_TEST(says(std::vector<float>{0, NAN, 9}, 4) ==
             "label nan at index 1 of train-labels.idx1-ubyte is not an integer");
  BOOST_TEST(says(std::vector<float>{0, 4, 9}, 4) ==
             "label 4 at index 1 of train-labels.idx1-ubyte is outside of [0, 4)");
  BOOST_TEST(says(std::vector<float>{0, 4, 2}, 5) == "");
}

// A float holds no 2^31 - 1: the nearest one is 2^31.
BOOST_AUTO_TEST_CASE(labels_without_a_number_of_classes_are_at_most_the_largest_index) {
  auto const index = [](auto label, std::size_t classes = 0) {
    return data::class_index(label, classes, [] { return "at index 0"; });
  };
  std::int32_t const largest = std::numeric_limits<std::int32_t>::max();
  BOOST_TEST(index(2147483520.0f) == 2147483520);
  BOOST_TEST(index(2147483647.0) == largest);
  BOOST_TEST(index(std::int64_t{largest}) == largest);
  BOOST_CHECK_THROW(index(2147483648.0f), ValueError);
  BOOST_CHECK_THROW(index(2147483648.0), ValueError);
  BOOST_CHECK_THROW(index(std::uint32_t{1} << 31), ValueError);
  BOOST_CHECK_THROW(index(2147483648.0f, std::size_t{1} << 31), ValueError);
  BOOST_CHECK_THROW(index(4294967296.0, std::size_t{1} << 40), ValueError);
  BOOST_CHECK_THROW(index(std::int64_t{1} << 32, std::size_t{1} << 40), ValueError);
  BOOST_CHECK_THROW(index(16777220.0f, 16777220), ValueError);
}

BOOST_AUTO_TEST_CASE(a_dataset_may_be_named_by_the_user) {
  auto const data = data::from_tensor_slices(values, values).named("the wind tunnel").batch(GlobalBatch{2});
  BOOST_TEST(message_of<ShapeError>([&] { data.verify({{3}, {}, 2}); }) ==
             "samples of the wind tunnel have the extents (), but the model takes (3,)");
  BOOST_TEST(message_of<ValueError>([&] { data.named("the valley").verify({{}, {}, 1}); }) ==
             "label 1 at index 0 of the valley is outside of [0, 1)");
}

BOOST_AUTO_TEST_CASE(labels_that_are_computed_are_checked_as_their_batch_comes) {
  auto const data = data::from_tensor_slices(values, values)
                        .map<float, float>({}, {},
                                           [](auto, auto, std::span<float> x, std::span<float> y) {
                                             x[0] = 0;
                                             y[0] = 7;
                                           })
                        .batch(GlobalBatch{2});
  data.verify({{}, {}, 5});
  auto stream = data.stream<float, std::int32_t>({}, 0, 0, {.classes = 5});
  Batch<float, std::int32_t> batch;
  BOOST_TEST(message_of<ValueError>([&] { stream.next(batch); }) ==
             "label 7 of sample 0 of the epoch is outside of [0, 5)");
}

BOOST_AUTO_TEST_CASE(a_label_of_a_generator_is_checked_even_if_it_needs_no_conversion) {
  auto const data = data::from_generator({}, {}, [] {
                      return [i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
                        x[0] = 0;
                        y[0] = i++;
                        return true;
                      };
                    }).batch(GlobalBatch{4});
  auto stream = data.stream<float, std::int32_t>({}, 0, 0, {.classes = 6});
  Batch<float, std::int32_t> batch;
  BOOST_TEST(stream.next(batch));
  BOOST_TEST(message_of<ValueError>([&] { stream.next(batch); }) ==
             "label 6 of sample 6 of the epoch is outside of [0, 6)");
}

BOOST_AUTO_TEST_CASE(inputs_targets_and_weights_of_different_length_are_an_error) {
  std::vector<float> const three(3), four(4);
  BOOST_TEST(message_of<ShapeError>([&] { data::from_tensor_slices(three, four); }) ==
             "the inputs (a tensor) hold 3 samples, but the targets (a tensor) hold 4");
  BOOST_TEST(message_of<ShapeError>([&] { data::from_tensor_slices(three, three, four); }) ==
             "sample weights of extents (4,) do not fit 3 samples: one number a sample is needed");
}

BOOST_AUTO_TEST_CASE(checksums_differ_with_the_data_and_with_what_is_done_with_them) {
  Samples const samples(20);
  auto changed = samples.y;
  changed[19] = 3;
  auto const sum = [](std::vector<std::int32_t> const& y, std::uint64_t seed, std::size_t batch) {
    return data::from_tensor_slices(y, y).shuffle(1, seed).batch(GlobalBatch{batch}).checksum();
  };
  BOOST_TEST((sum(samples.y, 1, 4) == sum(std::vector<std::int32_t>(samples.y), 1, 4)));
  BOOST_TEST(!(sum(samples.y, 1, 4) == sum(changed, 1, 4)));
  BOOST_TEST(!(sum(samples.y, 1, 4) == sum(samples.y, 2, 4)));
  BOOST_TEST(!(sum(samples.y, 1, 4) == sum(samples.y, 1, 5)));
  BOOST_TEST(sum(samples.y, 1, 4).samples == 20);
}

BOOST_AUTO_TEST_CASE(every_byte_counts_in_a_hash) {
  std::vector<unsigned char> bytes(133, 7);
  auto const hash = data::hash_bytes(bytes.data(), bytes.size());
  for (auto& byte : bytes) {
    byte ^= 64;
    BOOST_TEST(data::hash_bytes(bytes.data(), bytes.size()) != hash);
    byte ^= 64;
  }
  std::vector<unsigned char> swapped(bytes);
  swapped[8] = 1;
  bytes[40] = 1;
  BOOST_TEST(data::hash_bytes(bytes.data(), bytes.size()) != data::hash_bytes(swapped.data(), swapped.size()));
  BOOST_TEST(data::hash_bytes(bytes.data(), 132) != data::hash_bytes(bytes.data(), 133));
}
