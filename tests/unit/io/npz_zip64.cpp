// Zip64 fields, which numpy.savez writes from 2 GiB on, here in small files.
#define BOOST_TEST_MODULE io_npz_zip64
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <fstream>
#include <string>

#include "trireme/io/npz.hpp"

#include "unit/io/folder.hpp"

namespace tr = trireme;
using tr::test::Folder;

namespace {

std::string number(std::size_t value, int bytes) {
  std::string text;
  tr::detail::put(text, value, bytes);
  return text;
}

std::string field(std::size_t id, std::string const& content) {
  return number(id, 2) + number(content.size(), 2) + content;
}

/// The parts of an archive with one member "x", whose numbers may stand in zip64 fields instead.
struct Parts {
  std::string content = "some bytes";
  bool size = true, compressed = true, offset = true;  // in the extra field
  std::string before = "";                             // other extra fields before it
  std::string extra = "";                              // in place of the extra field, if not empty
  bool end = true;                                     // a zip64 end record
  std::size_t directory = 0, record = 0;               // added to their places
  std::string locator = "PK\6\7", signature = "PK\6\6";

  std::string bytes() const {
    std::string const sums = number(tr::detail::zip_crc32(content.data(), content.size()), 4);
    std::string const size8 = number(content.size(), 8), size4 = number(content.size(), 4), ones(4, '\xff');
    std::string const head = number(45, 2) + number(0, 8) + sums;
    std::string const local_extra = field(1, size8 + size8);
    std::string file = std::string("PK\3\4") + head + ones + ones + number(1, 2) + number(local_extra.size(), 2) + "x" +
                       local_extra + content;
    std::string own = extra;
    if (own.empty()) own = field(1, (size ? size8 : "") + (compressed ? size8 : "") + (offset ? number(0, 8) : ""));
    own = before + own;
    std::string const entry = std::string("PK\1\2") + number(45, 2) + head + (compressed ? ones : size4) +
                              (size ? ones : size4) + number(1, 2) + number(own.size(), 2) + number(0, 10) +
                              (offset ? ones : number(0, 4)) + "x" + own;
    std::size_t const start = file.size();
    file += entry;
    std::size_t const place = file.size();
    if (end) {
      file += signature + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(1, 8) + number(1, 8) +
              number(entry.size(), 8) + number(start + directory, 8);
      file += locator + number(0, 4) + number(place + record, 8) + number(1, 4);
      file += std::string("PK\5\6") + number(0, 4) + std::string(12, '\xff') + number(0, 2);
    } else {
      file += std::string("PK\5\6") + number(0, 4) + number(1, 2) + number(1, 2) + number(entry.size(), 4) +
              number(start, 4) + number(0, 2);
    }
    return file;
  }
};

/// The member's content, or the error's message without the path.
std::string read(std::string const& path, Parts const& parts) {
  std::ofstream(path, std::ios::binary) << parts.bytes();
  try {
    return tr::detail::ZipReader(path).read("x", 1000);
  } catch (tr::FileError const& error) {
    return std::string(error.what()).substr(path.size() + 2);
  }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(members_with_any_of_the_zip64_numbers_are_read, Folder) {
  std::string const path = file("m.npz");
  for (unsigned chosen = 0; chosen < 16; ++chosen) {
    Parts parts{.size = (chosen & 1) != 0,
                .compressed = (chosen & 2) != 0,
                .offset = (chosen & 4) != 0,
                .end = (chosen & 8) != 0};
    BOOST_TEST(read(path, parts) == "some bytes", chosen);
    parts.before = field(0x5455, "other") + field(2, "");
    BOOST_TEST(read(path, parts) == "some bytes", chosen);
  }
}

BOOST_FIXTURE_TEST_CASE(damaged_extra_fields_are_refused, Folder) {
  std::string const path = file("m.npz"), eight(8, '\0');
  for (std::string const& extra :
       {field(2, eight + eight + eight), field(1, ""), field(1, eight + eight), field(1, eight + eight + "1234567"),
        field(1, eight + eight + eight).substr(0, 20), std::string("\1\0\xff\xff", 4), std::string("\1\0\x18", 3)})
    BOOST_TEST(read(path, {.extra = extra}) == "'x' is damaged");
  std::string const ones(8, '\xff');
  BOOST_TEST(read(path, {.extra = field(1, number(10, 8) + number(10, 8) + ones)}) == "is truncated or damaged");
  BOOST_TEST(read(path, {.extra = field(1, number(10, 8) + number(10, 8) + number(1, 8))}) == "'x' is damaged");
  BOOST_TEST(read(path, {.extra = field(1, ones + ones + eight)}) ==
             "'x' has 18446744073709551615 bytes, more than an array of the model's shape");
}

BOOST_FIXTURE_TEST_CASE(damaged_zip64_ends_are_refused, Folder) {
  std::string const path = file("m.npz");
  BOOST_TEST(read(path, {.locator = "PK\6\1"}) == "is truncated or damaged");
  BOOST_TEST(read(path, {.signature = "PK\6\1"}) == "has a damaged directory");
  for (std::size_t const far : {std::size_t{1000}, static_cast<std::size_t>(-1) - 500}) {
    BOOST_TEST(read(path, {.directory = far}) == "is truncated or damaged");
    BOOST_TEST(read(path, {.record = far}) == "is truncated or damaged");
  }
}
