#define BOOST_TEST_MODULE idx
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "trireme/io/idx.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
struct IdxFile {
  Folder folder;
  std::string path = folder.file("images.idx");
  explicit IdxFile(std::string const& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  template <class T>
  std::vector<T> read() const {
    auto const tensor = io::read_idx<T>(path);
    return {tensor.data, tensor.data + tensor.size()};
  }
  template <class T = std::uint8_t>
  std::string error() const {
    std::string const text = message_of<FileError>([&] { io::read_idx<T>(path); });
    return text.substr(std::min(path.size() + 2, text.size()));
  }
};
std::string bytes(std::initializer_list<int> values) {
  std::string result;
  for (int const value : values) result += static_cast<char>(value);
  return result;
}
std::string const two_by_three = bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255});
}  // namespace

BOOST_AUTO_TEST_CASE(a_file_of_bytes_is_read_with_its_extents) {
  IdxFile const file(two_by_three);
  auto const tensor = io::read_idx(file.path);
  BOOST_TEST(tensor.extents == (std::vector<std::size_t>{2, 3}), per_element());
  BOOST_TEST(tensor.origin == file.path);
  BOOST_TEST(file.read<int>() == (std::vector<int>{1, 2, 3, 4, 5, 255}), per_element());
  BOOST_TEST(file.read<float>()[5] == 255.0f);
}

BOOST_AUTO_TEST_CASE(numbers_of_every_type_are_big_endian) {
  auto const one = [](int kind, std::initializer_list<int> value) {
    return IdxFile(bytes({0, 0, kind, 1, 0, 0, 0, 1}) + bytes(value)).read<double>().at(0);
  };
  BOOST_TEST(one(0x08, {200}) == 200);
  BOOST_TEST(one(0x09, {0xFE}) == -2);
  BOOST_TEST(one(0x0B, {0xFF, 0x00}) == -256);
  BOOST_TEST(one(0x0C, {0x00, 0x01, 0x00, 0x02}) == 65538);
  BOOST_TEST(one(0x0D, {0xC0, 0x20, 0x00, 0x00}) == -2.5);
  BOOST_TEST(one(0x0E, {0x3F, 0xF8, 0, 0, 0, 0, 0, 0}) == 1.5);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_truncated_names_what_is_missing) {
  BOOST_TEST(IdxFile("").error() == "is truncated: an IDX file begins with 4 bytes, but there are 0");
  BOOST_TEST(IdxFile(two_by_three.substr(0, 9)).error() ==
             "is truncated: 2 extents need a header of 12 bytes, but there are 9");
  BOOST_TEST(IdxFile(two_by_three.substr(0, 17)).error() ==
             "is truncated: extents (2, 3) of 1 bytes each do not fit the 5 bytes after the header");
  BOOST_TEST(IdxFile(two_by_three + "x").error() == "byte 18: more bytes follow the last of the 6 values");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_kind_is_told_by_its_first_bytes) {
  BOOST_TEST(IdxFile("\x89PNG----").error() ==
             "byte 0: is no IDX file, which begins with two zero bytes (found 0x89 0x50)");
  BOOST_TEST(IdxFile(bytes({0, 0, 7, 1, 0, 0, 0, 1, 5})).error() == "byte 2: 0x07 is no type of an IDX file");
  BOOST_TEST(IdxFile(bytes({0, 0, 8, 0, 5})).error() == "byte 3: an IDX file without any axis holds no samples");
  std::string const huge = bytes({0, 0, 8, 3}) + std::string(12, '\xFF');
  BOOST_TEST(IdxFile(huge).error().starts_with("is truncated: extents (4294967295, 4294967295, 4294967295)"));
  BOOST_TEST(message_of<FileError>([] { io::read_idx("/no/such-idx3-ubyte"); }) ==
             "/no/such-idx3-ubyte: cannot be opened: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_value_that_the_type_asked_for_cannot_hold_is_named_with_its_byte) {
  BOOST_TEST(IdxFile(bytes({0, 0, 0x0B, 1, 0, 0, 0, 2, 0, 7, 1, 0})).error() ==
             "byte 10: the value 256 does not fit the type asked for");
  BOOST_TEST(IdxFile(two_by_three).error<std::int8_t>() == "byte 17: the value 255 does not fit the type asked for");
}
