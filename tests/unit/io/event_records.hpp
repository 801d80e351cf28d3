/// Reads event files without the code that writes them, but for the checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <protozero/pbf_reader.hpp>

#include "trireme/io/crc32c.hpp"

namespace trireme::test {

struct DecodedEvent {
  double wall_time = 0;
  std::uint64_t step = 0;
  std::string file_version{};
  std::string tag{};
  std::string plugin{};
  float value = 0;
};

/// The contents of the records of a file; fails where a length or a checksum is wrong.
inline std::vector<std::string> read_records(std::string const& bytes) {
  std::vector<std::string> records;
  std::size_t at = 0;
  auto const number = [&](auto value) {
    BOOST_TEST_REQUIRE(at + sizeof(value) <= bytes.size());
    std::memcpy(&value, bytes.data() + at, sizeof(value));  // the file's order of bytes is that of the test's machine
    at += sizeof(value);
    return value;
  };
  while (at < bytes.size()) {
    std::size_t const start = at;
    std::size_t const length = number(std::uint64_t{});
    BOOST_TEST(number(std::uint32_t{}) == io::masked_crc32c({bytes.data() + start, 8}));
    BOOST_TEST_REQUIRE(length <= bytes.size() - at);
    records.push_back(bytes.substr(at, length));
    at += length;
    BOOST_TEST(number(std::uint32_t{}) == io::masked_crc32c(records.back()));
  }
  return records;
}

/// What event.proto, summary.proto and tensor.proto say of the bytes; fails at a field that has no place there.
inline DecodedEvent decode(std::string const& bytes) {
  DecodedEvent result;
  protozero::pbf_reader event(bytes);
  while (event.next()) {
    if (event.tag() == 1) {
      result.wall_time = event.get_double();
    } else if (event.tag() == 2) {
      result.step = static_cast<std::uint64_t>(event.get_int64());
    } else if (event.tag() == 3) {
      result.file_version = event.get_string();
    } else {
      BOOST_TEST_REQUIRE(event.tag() == 5u);
      protozero::pbf_reader summary = event.get_message();
      BOOST_TEST_REQUIRE(summary.next(1));
      protozero::pbf_reader value = summary.get_message();
      while (value.next()) {
        if (value.tag() == 1) {
          result.tag = value.get_string();
        } else if (value.tag() == 8) {
          protozero::pbf_reader tensor = value.get_message();
          BOOST_TEST_REQUIRE(tensor.next(1));
          BOOST_TEST(tensor.get_enum() == 1);  // DT_FLOAT
          BOOST_TEST_REQUIRE(tensor.next(2));
          BOOST_TEST(tensor.get_message().length() == 0u);  // the shape of a scalar
          BOOST_TEST_REQUIRE(tensor.next(5));
          auto const values = tensor.get_packed_float();
          BOOST_TEST_REQUIRE(values.size() == 1u);
          result.value = *values.begin();
        } else {
          BOOST_TEST_REQUIRE(value.tag() == 9u);
          protozero::pbf_reader metadata = value.get_message();
          BOOST_TEST_REQUIRE(metadata.next(1));
          protozero::pbf_reader plugin = metadata.get_message();
          BOOST_TEST_REQUIRE(plugin.next(1));
          result.plugin = plugin.get_string();
        }
      }
    }
  }
  return result;
}

}  // namespace trireme::test
