#define BOOST_TEST_MODULE streams
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "trireme/core/streams.hpp"

using trireme::ParameterStream;
using trireme::Purpose;
using trireme::RandomStream;
using trireme::RowStream;

BOOST_AUTO_TEST_CASE(uniform_numbers_reach_zero_and_stay_below_one) {
  BOOST_TEST(trireme::uniform_float(0) == 0.0f);
  BOOST_TEST(trireme::uniform_float(0xffffffffu) == 1.0f - 0x1p-24f);
  BOOST_TEST(trireme::uniform_double(0, 0) == 0.0);
  BOOST_TEST(trireme::uniform_double(0xffffffffu, 0xffffffffu) == 1.0 - 0x1p-53);
}

BOOST_AUTO_TEST_CASE(uniform_numbers_have_the_mean_and_variance_of_the_unit_interval) {
  RowStream const stream(7, 3, 11);
  double sum = 0, squares = 0;
  std::size_t const rows = 200, columns = 500;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t e = 0; e < columns; ++e) {
      double const u = stream.uniform(row, e);
      BOOST_REQUIRE((u >= 0.0 && u < 1.0));
      sum += u;
      squares += u * u;
    }
  }
  double const n = static_cast<double>(rows * columns);
  BOOST_TEST(std::abs(sum / n - 0.5) < 4 * std::sqrt(1.0 / 12 / n));
  BOOST_TEST(std::abs(squares / n - 1.0 / 3) < 4 * std::sqrt(4.0 / 45 / n));
}

BOOST_AUTO_TEST_CASE(normal_numbers_have_mean_zero_variance_one_and_the_tails_of_a_normal) {
  ParameterStream const stream(5, "dense/kernel");
  double sum = 0, squares = 0, fourth = 0;
  std::size_t beyond = 0;
  std::size_t const n = 100000;
  for (std::size_t e = 0; e < n; ++e) {
    double const z = stream.normal(e);
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    beyond += std::abs(z) > 1.959964 ? 1 : 0;
  }
  double const count = static_cast<double>(n);
  BOOST_TEST(std::abs(sum / count) < 4 / std::sqrt(count));
  BOOST_TEST(std::abs(squares / count - 1) < 4 * std::sqrt(2 / count));
  BOOST_TEST(std::abs(fourth / count - 3) < 4 * std::sqrt(96 / count));
  BOOST_TEST(std::abs(static_cast<double>(beyond) / count - 0.05) < 4 * std::sqrt(0.05 * 0.95 / count));
}

BOOST_AUTO_TEST_CASE(every_part_of_a_name_gives_another_stream) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> keys;
  std::size_t streams = 0;
  auto add = [&](RandomStream const& stream) {
    keys.insert({stream.key[0], stream.key[1]});
    ++streams;
  };
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
    for (std::uint32_t layer : {0u, 1u, 256u}) {
      for (std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{256}, std::uint64_t{1} << 33}) {
        for (std::uint32_t micro_step : {0u, 1u, 256u}) {
          add(RowStream(seed, layer, step, micro_step).stream);
          add(RowStream(seed, layer, step, micro_step, Purpose::noise).stream);
        }
      }
    }
    add(ParameterStream(seed, "dense/kernel").stream);
    add(ParameterStream(seed, "dense/bias").stream);
    add(ParameterStream(seed, "dense_1/kernel").stream);
  }
  BOOST_TEST(keys.size() == streams);
}

BOOST_AUTO_TEST_CASE(rows_and_elements_give_different_words_also_beyond_32_bits) {
  RowStream const stream(1, 2, 3);
  std::set<std::uint32_t> words;
  for (std::uint64_t row : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
    for (std::uint64_t group : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
      for (std::size_t i = 0; i < 4; ++i) words.insert(stream.block(row, group)[i]);
    }
  }
  BOOST_TEST(words.size() == 36u);
}

BOOST_AUTO_TEST_CASE(path_hash_is_the_published_fnv_1a) {
  BOOST_TEST(trireme::path_hash("") == 0xcbf29ce484222325u);
  BOOST_TEST(trireme::path_hash("a") == 0xaf63dc4c8601ec8cu);
  BOOST_TEST(trireme::path_hash("foobar") == 0x85944171f73967e8u);
}
