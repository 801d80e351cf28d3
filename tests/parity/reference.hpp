/// The cases of the reference folder: what Keras computed, and with which tolerance to compare.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "trireme/io/npy.hpp"

namespace trireme::test {

/// The folder named by TRIREME_REFERENCE_DIR, otherwise the cases that the project carries.
inline std::filesystem::path reference_folder() {
  char const* const folder = std::getenv("TRIREME_REFERENCE_DIR");
  return folder != nullptr ? folder : TRIREME_TESTS_DIRECTORY "/parity/data";
}

template <class T>
struct ReferenceArray {
  std::vector<std::size_t> extents;
  std::vector<T> values;

  std::size_t last_extent() const { return extents.empty() ? 1 : extents.back(); }
};

/// One folder with case.json and its arrays.
struct ReferenceCase {
  std::filesystem::path folder;
  nlohmann::json description;

  std::string name() const { return description.at("name"); }
  std::string class_name() const { return description.at("class"); }
  bool has(std::string const& array) const { return description.at("arrays").contains(array); }
  bool is_integer(std::string const& array) const { return description["arrays"][array]["dtype"] == "int32"; }

  template <class T>
  ReferenceArray<T> array(std::string const& array) const {
    // In double first: what the reference expects need not be exact in float.
    using Read = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    std::string const file = description.at("arrays").at(array).at("file");
    auto const tensor = io::read_npy<Read>((folder / file).string());
    ReferenceArray<T> result{tensor.extents, std::vector<T>(tensor.size())};
    for (std::size_t i = 0; i < tensor.size(); ++i) result.values[i] = static_cast<T>(tensor.data[i]);
    return result;
  }

  /// Accepts |got - expected| <= atol + rtol |expected| in the tolerance of T.
  template <class T, class Got>
  void compare(std::string const& what, std::vector<double> const& expected, std::vector<Got> const& got) const {
    auto const& tolerance = description.at("tolerance").at(std::is_same_v<T, float> ? "float32" : "float64");
    double const rtol = tolerance.at("rtol"), atol = tolerance.at("atol");
    BOOST_REQUIRE_MESSAGE(expected.size() == got.size(), name() << ": " << what << ": sizes differ");
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = expected.size(); i-- > 0;) {
      double const value = static_cast<double>(got[i]);
      bool const same = value == expected[i] || (std::isnan(value) && std::isnan(expected[i])) ||
                        std::abs(value - expected[i]) <= atol + rtol * std::abs(expected[i]);
      if (same) continue;
      ++wrong;
      first = i;
    }
    BOOST_TEST(wrong == 0u, name() << ": " << what << " in " << (std::is_same_v<T, float> ? "float" : "double") << ": "
                                   << wrong << " of " << expected.size() << " differ, the first at " << first << ": "
                                   << got[first] << " for " << expected[first]);
  }

  template <class T>
  void compare(std::string const& what, double expected, double got) const {
    compare<T>(what, std::vector<double>{expected}, std::vector<double>{got});
  }
};

/// All cases of a family, by name.
inline std::vector<ReferenceCase> reference_cases(std::string const& family) {
  std::filesystem::path const folder = reference_folder() / family;
  BOOST_REQUIRE_MESSAGE(std::filesystem::is_directory(folder), folder << " is missing");
  std::vector<ReferenceCase> cases;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() == "data") continue;  // shared by the family's cases
    std::ifstream file(entry.path() / "case.json");
    BOOST_REQUIRE_MESSAGE(file.good(), entry.path() << " has no case.json");
    cases.push_back({entry.path(), nlohmann::json::parse(file)});
  }
  std::sort(cases.begin(), cases.end(), [](auto const& a, auto const& b) { return a.folder < b.folder; });
  return cases;
}

/// An option of a configuration; Keras writes None as null.
template <class V>
V option(nlohmann::json const& config, char const* key, V otherwise) {
  return config.contains(key) && !config.at(key).is_null() ? config.at(key).get<V>() : otherwise;
}

/// Counts what ran, and names what did not, so that nothing is skipped silently.
class Tally {
 public:
  explicit Tally(std::set<std::string> classes) : expected_(std::move(classes)) {}

  void ran(ReferenceCase const& c) {
    ++count_;
    expected_.erase(c.class_name());
  }
  void missing(ReferenceCase const& c, std::string const& what) {
    std::printf("missing: %s (%s)\n", c.name().c_str(), what.c_str());
  }
  /// Every class that the library has met at least one case.
  void check() const {
    std::printf("%zu cases compared with Keras\n", count_);
    for (std::string const& name : expected_) BOOST_ERROR("no case of " << name << " in " << reference_folder());
  }

 private:
  std::set<std::string> expected_;
  std::size_t count_ = 0;
};

}  // namespace trireme::test
