// The text that reports a program's library: version, commit, features and options of CMake.
#define BOOST_TEST_MODULE build_information
#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/environment/build_information.hpp"
#include "trireme/version.hpp"

using namespace trireme;

namespace {
std::vector<std::string> lines() {
  std::vector<std::string> all;
  std::istringstream text(build_information());
  for (std::string line; std::getline(text, line);) all.push_back(line);
  return all;
}

bool has(std::string_view line, std::string_view text) { return line.find(text) != std::string_view::npos; }
}  // namespace

BOOST_AUTO_TEST_CASE(each_line_names_its_subject) {
  auto const all = lines();
  BOOST_REQUIRE(all.size() == 5);
  BOOST_TEST(all[0].starts_with("trireme " + std::string(version()) + ", commit "));
  BOOST_TEST(all[1].starts_with("compiler: "));
  BOOST_TEST(all[2].starts_with("features:"));
  BOOST_TEST(all[3].starts_with("packages: Kokkos "));
  BOOST_TEST(all[4].starts_with("options: CMake "));
}

BOOST_AUTO_TEST_CASE(a_commit_is_forty_hexadecimal_digits_or_unknown) {
  std::string const line = lines().at(0);
  std::string const after = line.substr(line.find("commit ") + 7);
  std::string const commit = after.substr(0, after.find_first_of(",-"));
  bool const digits = commit.size() == 40 && commit.find_first_not_of("0123456789abcdef") == std::string::npos;
  BOOST_TEST((digits || commit == "unknown"), commit);
}

BOOST_AUTO_TEST_CASE(features_are_those_of_this_program) {
  std::string const features = lines().at(2);
#ifdef TRIREME_HAVE_HDF5
  BOOST_TEST(has(features, " hdf5"));
#else
  BOOST_TEST(!has(features, " hdf5"));
#endif
#ifdef TRIREME_HAVE_ZLIB
  BOOST_TEST(has(features, " zlib"));
#else
  BOOST_TEST(!has(features, " zlib"));
#endif
}

BOOST_AUTO_TEST_CASE(options_are_arguments_of_cmake) {
  std::string const options = lines().at(4);
  BOOST_TEST(has(options, "'-DCMAKE_BUILD_TYPE="));
  BOOST_TEST(has(options, "'-DTRIREME_COMPILED=OFF'"));
}
