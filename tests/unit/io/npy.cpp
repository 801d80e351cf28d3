#define BOOST_TEST_MODULE npy
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "trireme/io/npy.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
std::string npy(std::string const& dictionary, std::string const& values, char version = 1) {
  std::string header = "\x93NUMPY";
  header += version;
  header += '\0';
  header += static_cast<char>(dictionary.size());
  header += std::string(version == 1 ? 1 : 3, '\0');
  return header + dictionary + values;
}
std::string dictionary(char const* type, char const* order, char const* shape) {
  return "{'descr': '" + std::string(type) + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}
struct NpyFile {
  Folder folder;
  std::string path = folder.file("x.npy");
  explicit NpyFile(std::string const& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  template <class T>
  std::vector<T> read() const {
    auto const tensor = io::read_npy<T>(path);
    return {tensor.data, tensor.data + tensor.size()};
  }
  template <class T = float>
  std::string error() const {
    std::string const text = message_of<FileError>([&] { io::read_npy<T>(path); });
    return text.substr(std::min(path.size() + 2, text.size()));
  }
};
std::string const bytes_1_to_6("\1\2\3\4\5\6", 6);
}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) {
  Folder const folder;
  std::vector<double> const values{0.1, -2, 3e300, 4, 5, 6};
  io::write_npy(folder.file("x.npy"), HostTensor<double>{nullptr, values.data(), {3, 2}, {}});
  auto const tensor = io::read_npy<double>(folder.file("x.npy"));
  BOOST_TEST(tensor.extents == (std::vector<std::size_t>{3, 2}), per_element());
  BOOST_TEST(std::vector<double>(tensor.data, tensor.data + 6) == values, per_element());
  BOOST_TEST(folder.entries() == 1);
  std::string const text = text_of(folder.file("x.npy"));
  BOOST_TEST(text.size() == 64 + 64 + 48);  // numpy pads the header to a multiple of 64 bytes
  BOOST_TEST(text.substr(10, 60).starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }"));
}

BOOST_AUTO_TEST_CASE(both_orders_and_both_byte_orders_are_read) {
  std::vector<int> const rows{1, 2, 3, 4, 5, 6}, columns{1, 3, 5, 2, 4, 6};
  BOOST_TEST(NpyFile(npy(dictionary("|u1", "False", "(2, 3)"), bytes_1_to_6)).read<int>() == rows, per_element());
  BOOST_TEST(NpyFile(npy(dictionary("|u1", "True", "(2, 3)"), bytes_1_to_6)).read<int>() == columns, per_element());
  BOOST_TEST(NpyFile(npy(dictionary("|u1", "False", "(2, 3)"), bytes_1_to_6, 2)).read<int>() == rows, per_element());
  BOOST_TEST(NpyFile(npy(dictionary(">i2", "False", "(3,)"), bytes_1_to_6)).read<int>() ==
                 (std::vector<int>{0x102, 0x304, 0x506}),
             per_element());
  BOOST_TEST(NpyFile(npy(dictionary("<i2", "False", "(3,)"), bytes_1_to_6)).read<int>()[0] == 0x201);
  BOOST_TEST(NpyFile(npy(dictionary("|b1", "False", "(2,)"), std::string("\1\0", 2))).read<float>() ==
                 (std::vector<float>{1, 0}),
             per_element());
  BOOST_TEST(NpyFile(npy(dictionary(">f4", "False", "(1,)"), std::string("\xC0\x20\0\0", 4))).read<double>()[0] ==
             -2.5);
}

BOOST_AUTO_TEST_CASE(numbers_of_16_bits_are_read) {
  // 1, -2, the largest, a third, the smallest that is normal, the smallest, -0, infinity, NaN
  std::string const bits("\0\x3C\0\xC0\xFF\x7B\x55\x35\0\x04\1\0\0\x80\0\x7C\0\x7E", 18);
  auto const values = NpyFile(npy(dictionary("<f2", "False", "(9,)"), bits)).read<float>();
  BOOST_TEST(std::vector<float>(values.begin(), values.begin() + 6) ==
                 (std::vector<float>{1, -2, 65504, 0.333251953125f, 0x1p-14f, 0x1p-24f}),
             per_element());
  BOOST_TEST((values[6] == 0 && std::signbit(values[6])));
  BOOST_TEST(values[7] == std::numeric_limits<float>::infinity());
  BOOST_TEST(std::isnan(values[8]));
  BOOST_TEST(NpyFile(npy(dictionary(">f2", "False", "(1,)"), std::string("\x45\0", 2))).read<int>()[0] == 5);
}

BOOST_AUTO_TEST_CASE(values_that_the_type_asked_for_cannot_hold_are_errors) {
  NpyFile const half(npy(dictionary("<f4", "False", "(1,)"), std::string("\0\0\0\x3F", 4)));
  BOOST_TEST(half.error<int>().find("the value 0.5 does not fit the type asked for") != std::string::npos);
  NpyFile const large(npy(dictionary("<u2", "False", "(1,)"), std::string("\0\xFF", 2)));
  BOOST_TEST(large.error<std::int16_t>().find("the value 65280 does not fit") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(files_that_are_truncated_or_of_another_kind_are_errors) {
  std::string const good = npy(dictionary("|u1", "False", "(2, 3)"), bytes_1_to_6);
  BOOST_TEST(NpyFile("PK\3\4----").error() == "byte 0: is no .npy file, which begins with \\x93NUMPY");
  BOOST_TEST(NpyFile(good.substr(0, 8)).error() == "is truncated: a header has at least 10 bytes, but there are 8");
  BOOST_TEST(NpyFile(good.substr(0, 30)).error().starts_with("is truncated: the header has "));
  BOOST_TEST(NpyFile(good.substr(0, good.size() - 1)).error() ==
             "is truncated: extents (2, 3) of 1 bytes each do not fit the 5 bytes after the header");
  BOOST_TEST(NpyFile(npy(dictionary("|u1", "False", "(2, 3)"), bytes_1_to_6, 9)).error() ==
             "byte 6: version 9 of .npy files is not known");
  BOOST_TEST(NpyFile(npy(dictionary("<c8", "False", "(1,)"), "12345678")).error() ==
             "byte 20: the type '<c8' is none of integers, half, float and double");
  BOOST_TEST(NpyFile(npy(dictionary("|u1", "False", "(x,)"), "1")).error().find("is no shape") != std::string::npos);
  BOOST_TEST(NpyFile(npy(dictionary("|u1", "Trae", "(2, 3)"), bytes_1_to_6)).error() ==
             "byte 44: fortran_order is neither True nor False");
  BOOST_TEST(NpyFile(npy("{'descr': '<f4', }", "1234")).error() == "byte 10: the header has no entry 'fortran_order'");
  BOOST_TEST(
      NpyFile(npy(dictionary("<f8", "False", "(4294967296, 4294967296)"), "1")).error().starts_with("is truncated"));
  BOOST_TEST(message_of<FileError>([] { io::read_npy<float>("/no/such.npy"); }) ==
             "/no/such.npy: cannot be opened: No such file or directory");
}
