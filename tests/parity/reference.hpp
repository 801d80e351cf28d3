/// ReferenceCase: what Keras computed, and the tolerance of a comparison with it.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "parity/reference_family.hpp"

namespace trireme::test {

/// The folder named by TRIREME_REFERENCE_DIR, which has archives or folders of cases; otherwise the project's archives.
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

/// One case of a family.
struct ReferenceCase {
  ReferenceFamily const* family;
  nlohmann::json description;

  std::string name() const { return description.at("name"); }
  std::string class_name() const { return description.at("class"); }
  bool has(std::string const& array) const { return description.at("arrays").contains(array); }
  bool is_integer(std::string const& array) const { return stored(name(), array).is_integer(); }
  /// A file of the case that is no array.
  std::string file(std::string const& file_name) const { return (family->folder / name() / file_name).string(); }

  template <class T>
  ReferenceArray<T> array(std::string const& array) const {
    return converted<T>(stored(name(), array));
  }
  /// An array that all cases of the family share.
  template <class T>
  ReferenceArray<T> shared_array(std::string const& array) const {
    return converted<T>(stored("data", array));
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

 private:
  StoredArray const& stored(std::string const& owner, std::string const& array) const {
    auto const found = family->arrays.find(owner + "/" + array);
    BOOST_REQUIRE_MESSAGE(found != family->arrays.end(), family->folder << " has no array " << owner << "/" << array);
    return found->second;
  }
  template <class T>
  static ReferenceArray<T> converted(StoredArray const& array) {
    BOOST_REQUIRE_MESSAGE(std::is_floating_point_v<T> || array.is_integer(), "an array of numbers, not integers");
    ReferenceArray<T> result{array.extents, {}};
    std::visit(
        [&](auto const& values) {
          for (auto const value : values) result.values.push_back(static_cast<T>(value));
        },
        array.values);
    return result;
  }
};

/// All cases of a family whose archive or folder is `path`, by name.
inline std::vector<ReferenceCase> reference_cases_in(std::filesystem::path const& path) {
  ReferenceFamily const& family = reference_family(path);
  std::vector<ReferenceCase> cases;
  for (auto const& description : family.cases) cases.push_back({&family, description});
  return cases;
}

inline std::vector<ReferenceCase> reference_cases(std::string const& family) {
  return reference_cases_in(reference_folder() / family);
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
