#define BOOST_TEST_MODULE csv
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/io/csv.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
struct Table {
  Folder folder;
  std::string path = folder.file("table.csv");
  explicit Table(std::string const& text) { std::ofstream(path, std::ios::binary) << text; }
  template <class T>
  std::vector<T> read(io::CsvOptions options = {}) const {
    auto const tensor = io::read_csv<T>(path, options);
    return {tensor.data, tensor.data + tensor.size()};
  }
  template <class T>
  std::string error(io::CsvOptions options = {}) const {
    std::string const text = message_of<FileError>([&] { io::read_csv<T>(path, options); });
    return text.substr(std::min(path.size() + 2, text.size()));
  }
};
}  // namespace

BOOST_AUTO_TEST_CASE(a_table_has_rows_and_columns_and_gives_inputs_and_labels) {
  Table const table("1,2.5,0\n-3,4e-1,1\r\n\n 5 , +6,2");
  auto const tensor = io::read_csv<float>(table.path);
  BOOST_TEST(tensor.extents == (std::vector<std::size_t>{3, 3}), per_element());
  BOOST_TEST(tensor.origin == table.path);
  BOOST_TEST(table.read<float>() == (std::vector<float>{1, 2.5f, 0, -3, 0.4f, 1, 5, 6, 2}), per_element());
  auto const data = data::from_tensor_slices(tensor.columns(0, 2), tensor.column(2)).batch(GlobalBatch{2});
  data.verify({{2}, {}, 3});
  BOOST_TEST(message_of<ValueError>([&] { data.verify({{2}, {}, 2}); }) ==
             "label 2 at index 2 of " + table.path + " is outside of [0, 2)");
}

BOOST_AUTO_TEST_CASE(integers_may_be_written_as_decimals_and_are_exact) {
  BOOST_TEST(
      Table("3,3.0,0.000000000000000000e+00,1.6e1").read<std::int32_t>() == (std::vector<std::int32_t>{3, 3, 0, 16}),
      per_element());
  BOOST_TEST(Table("9007199254740993").read<std::int64_t>()[0] == 9007199254740993);
  BOOST_TEST(Table("-9007199254740991.0").read<std::int64_t>()[0] == -9007199254740991);
  BOOST_CHECK_THROW(Table("9007199254740993.0").read<std::int64_t>(), FileError);  // a double would be 1 less
  BOOST_TEST(Table("255,0").read<std::uint8_t>() == (std::vector<std::uint8_t>{255, 0}), per_element());
  BOOST_TEST(std::isinf(Table("1e300").read<float>()[0]));
  BOOST_TEST(std::isnan(Table("nan").read<double>()[0]));
  BOOST_TEST(Table("1e+2,-inf,5e-324").read<double>() == (std::vector<double>{100, -INFINITY, 5e-324}), per_element());
}

BOOST_AUTO_TEST_CASE(delimiters_and_lines_before_the_numbers_are_options) {
  std::vector<int> const expected{1, 2, 3, 4};
  BOOST_TEST(Table("1;2\n3;4\n").read<int>({.delimiter = ';'}) == expected, per_element());
  BOOST_TEST(Table("  1 \t 2\n3 4  \n").read<int>({.delimiter = ' '}) == expected, per_element());
  BOOST_TEST(Table("# a table\na,b\n1,2\n3,4\n").read<int>({.skip_rows = 2}) == expected, per_element());
}

BOOST_AUTO_TEST_CASE(a_field_that_is_no_number_is_named_with_line_and_column) {
  BOOST_TEST(Table("1,2\n3,four\n").error<float>() == "line 2, column 2: 'four' is not a number");
  BOOST_TEST(Table("a,b\n1,2\n\n3,\n").error<float>({.skip_rows = 1}) == "line 4, column 2: '' is not a number");
  BOOST_TEST(Table("1,2x\n").error<double>() == "line 1, column 2: '2x' is not a number");
  BOOST_TEST(Table("0x10\n").error<double>() == "line 1, column 1: '0x10' is not a number");
  BOOST_TEST(Table("++1\n").error<double>() == "line 1, column 1: '++1' is not a number");
  BOOST_TEST(Table("1e400\n").error<double>() == "line 1, column 1: '1e400' is not a number");
  BOOST_TEST(Table("1,2.5\n").error<int>() == "line 1, column 2: '2.5' is not an integer of the type asked for");
  BOOST_TEST(Table("256\n").error<std::uint8_t>() == "line 1, column 1: '256' is not an integer of the type asked for");
  BOOST_TEST(Table("-1\n").error<std::uint8_t>() == "line 1, column 1: '-1' is not an integer of the type asked for");
}

BOOST_AUTO_TEST_CASE(ragged_rows_empty_and_missing_files_are_errors) {
  BOOST_TEST(Table("1,2\n3\n").error<float>() == "line 2: has 1 columns where 2 were expected");
  BOOST_TEST(Table("1,2\n\n3,4,5\n").error<float>() == "line 3: has 3 columns where 2 were expected");
  BOOST_TEST(Table("\n\n").error<float>() == "holds no row of numbers");
  BOOST_TEST(message_of<FileError>([] { io::read_csv<float>("/no/such.csv"); }) ==
             "/no/such.csv: cannot be opened: No such file or directory");
  BOOST_TEST(message_of<FileError>([] { io::read_csv<float>("/tmp"); }) == "/tmp: cannot be read: Is a directory");
}
