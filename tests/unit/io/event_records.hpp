/// Reads event files without the code that writes them, but for the checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

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

/// Bytes that are no event file of scalars.
struct BadEvents : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, char const* what) {
  if (!holds) throw BadEvents(what);
}

/// The contents of the records of a file. \throws BadEvents where a length or a checksum is wrong
inline std::vector<std::string> read_records(std::string const& bytes) {
  std::vector<std::string> records;
  std::size_t at = 0;
  auto const number = [&](auto value) {
    require(sizeof(value) <= bytes.size() - at, "a record is truncated");
    std::memcpy(&value, bytes.data() + at, sizeof(value));  // the file's order of bytes is that of the test's machine
    at += sizeof(value);
    return value;
  };
  while (at < bytes.size()) {
    std::size_t const start = at;
    std::size_t const length = number(std::uint64_t{});
    require(number(std::uint32_t{}) == io::masked_crc32c({bytes.data() + start, 8}), "a length has another checksum");
    require(length <= bytes.size() - at, "a record is truncated");
    records.push_back(bytes.substr(at, length));
    at += length;
    require(number(std::uint32_t{}) == io::masked_crc32c(records.back()), "a record has another checksum");
  }
  return records;
}

namespace detail {

using protozero::pbf_wire_type;

/// The field that comes has this type; protozero takes that for granted.
inline void require_type(protozero::pbf_reader const& message, pbf_wire_type type) {
  require(message.has_wire_type(type), "a field has another type");
}

inline protozero::pbf_reader message_of(protozero::pbf_reader& parent) {
  require_type(parent, pbf_wire_type::length_delimited);
  return parent.get_message();
}

inline std::string string_of(protozero::pbf_reader& parent) {
  require_type(parent, pbf_wire_type::length_delimited);
  return parent.get_string();
}

/// The float of a tensor of DT_FLOAT, which is a scalar.
inline float scalar_of(protozero::pbf_reader tensor) {
  require(tensor.next(1), "a tensor has no type");
  require_type(tensor, pbf_wire_type::varint);
  require(tensor.get_enum() == 1, "a tensor has another type than float");
  require(tensor.next(2), "a tensor has no shape");
  require(message_of(tensor).length() == 0, "a tensor is no scalar");
  require(tensor.next(5), "a tensor has no values");
  require_type(tensor, pbf_wire_type::length_delimited);
  auto const values = tensor.get_packed_float();
  require(values.size() == 1, "a scalar has one value");
  return *values.begin();
}

}  // namespace detail

/// What event.proto, summary.proto and tensor.proto say of the bytes.
/// \throws BadEvents at a field that has no place there; an exception of protozero where there is none
inline DecodedEvent decode(std::string const& bytes) {
  using namespace detail;
  DecodedEvent result;
  protozero::pbf_reader event(bytes);
  while (event.next()) {
    if (event.tag() == 1) {
      require_type(event, pbf_wire_type::fixed64);
      result.wall_time = event.get_double();
    } else if (event.tag() == 2) {
      require_type(event, pbf_wire_type::varint);
      result.step = static_cast<std::uint64_t>(event.get_int64());
    } else if (event.tag() == 3) {
      result.file_version = string_of(event);
    } else {
      require(event.tag() == 5, "an event has an unknown field");
      protozero::pbf_reader summary = message_of(event);
      require(summary.next(1), "a summary has no value");
      protozero::pbf_reader value = message_of(summary);
      while (value.next()) {
        if (value.tag() == 1) {
          result.tag = string_of(value);
        } else if (value.tag() == 8) {
          result.value = scalar_of(message_of(value));
        } else {
          require(value.tag() == 9, "a value has an unknown field");
          protozero::pbf_reader metadata = message_of(value);
          require(metadata.next(1), "metadata have no plugin");
          protozero::pbf_reader plugin = message_of(metadata);
          require(plugin.next(1), "a plugin has no name");
          result.plugin = string_of(plugin);
        }
      }
    }
  }
  return result;
}

}  // namespace trireme::test
