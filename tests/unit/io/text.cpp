// What `formatted` gives is what fmt::format gives, for each kind of value that messages have.
#define BOOST_TEST_MODULE text
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "trireme/core/text.hpp"

using trireme::formatted;
using trireme::joined;

BOOST_AUTO_TEST_CASE(values_of_all_kinds_are_as_fmt_writes_them) {
  std::string const string = "a string that is too long to lie within its object";
  std::string_view const view = string;
  char const* const characters = "characters";
  BOOST_TEST(formatted("no value {{}}") == "no value {}");
  BOOST_TEST(formatted("{} {} {}", string, view.substr(2, 6), characters) ==
             "a string that is too long to lie within its object string characters");
  BOOST_TEST(formatted("{} {} {} {}", "literal", true, 'c', std::size_t{18446744073709551615u}) ==
             "literal true c 18446744073709551615");
  BOOST_TEST(formatted("{} {} {}", -1, std::int64_t{-9223372036854775807}, std::uint8_t{255}) ==
             "-1 -9223372036854775807 255");
  BOOST_TEST(formatted("{:.3f} {:g} {:>8.2e}|{:<6}|{:04}", 3.14159, 0.1f, 12345.6, "left", 42) ==
             fmt::format("{:.3f} {:g} {:>8.2e}|{:<6}|{:04}", 3.14159, 0.1f, 12345.6, "left", 42));
  BOOST_TEST(formatted("{1} before {0}, {2:{3}}", "first", "second", 7, 3) == "second before first,   7");
}

BOOST_AUTO_TEST_CASE(temporaries_live_while_they_are_written) {
  std::string expected(100, 'a');
  expected += " and 17";
  BOOST_TEST(formatted("{} and {}", std::string(100, 'a'), std::to_string(17)) == expected);
}

BOOST_AUTO_TEST_CASE(parts_are_joined) {
  BOOST_TEST(joined({}, ", ") == "");
  BOOST_TEST(joined({"one"}, ", ") == "one");
  BOOST_TEST(joined({"one", "two", ""}, ", ") == "one, two, ");
}
