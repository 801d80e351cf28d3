/// ReferenceFamily: reference cases with their arrays in memory, from an archive or from a folder of cases.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "trireme/io/byte_source.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npy_format.hpp"
#include "trireme/io/npz.hpp"

namespace trireme::test {

/// An array as the generator wrote it.
struct StoredArray {
  std::vector<std::size_t> extents;
  std::variant<std::vector<double>, std::vector<std::int64_t>> values;

  bool is_integer() const { return std::holds_alternative<std::vector<std::int64_t>>(values); }
};

struct ReferenceFamily {
  std::filesystem::path folder;               ///< of files that are not arrays: <case>/<file>
  std::vector<nlohmann::json> cases;          ///< descriptions, in the order of their names
  std::map<std::string, StoredArray> arrays;  ///< "<case>/<array>"; "data/<array>" is shared by the family's cases
};

/// An array of zeros.
inline StoredArray zero_array(std::vector<std::size_t> extents, bool is_integer) {
  StoredArray array{std::move(extents), {}};
  std::size_t const size =
      std::accumulate(array.extents.begin(), array.extents.end(), std::size_t{1}, std::multiplies<>());
  if (is_integer)
    array.values = std::vector<std::int64_t>(size);
  else
    array.values = std::vector<double>(size);
  return array;
}

inline nlohmann::json parse_reference(std::filesystem::path const& path) {
  std::ifstream file(path);
  BOOST_REQUIRE_MESSAGE(file.good(), path << " is missing");
  nlohmann::json description = nlohmann::json::parse(file, nullptr, false);
  BOOST_REQUIRE_MESSAGE(!description.is_discarded(), path << " is truncated or damaged");
  return description;
}

/// The family in `path`.json, an array of descriptions, and `path`.npz, which tests/parity/pack.py writes. All arrays
/// are read at once, so that a truncated or damaged archive fails the test whichever case it uses.
inline ReferenceFamily read_reference_archive(std::filesystem::path const& path) {
  ReferenceFamily family{path, {}, {}};
  std::vector<NamedDestination> destinations;
  for (auto& description : parse_reference(path.string() + ".json")) {
    std::string const name = description.at("name");
    if (description.contains("arrays")) {
      for (auto const& [key, stated] : description.at("arrays").items()) {
        StoredArray& array = family.arrays[name + "/" + key];
        array = zero_array(stated.at("shape"), stated.at("dtype") == "int32");
        destinations.push_back(std::visit(
            [&](auto& values) { return named_destination({name}, 0, array.extents, values.data()); }, array.values));
        destinations.back().label = key;
      }
    }
    if (name != "data") family.cases.push_back(std::move(description));
  }
  if (!destinations.empty()) read_npz(path.string() + ".npz", destinations);
  return family;
}

/// The family in the folders <case>/ of `path`, as the generator writes them: case.json and .npy files.
inline ReferenceFamily read_reference_folder(std::filesystem::path const& path) {
  ReferenceFamily family{path, {}, {}};
  BOOST_REQUIRE_MESSAGE(std::filesystem::is_directory(path), "neither " << path << " nor its archive is there");
  for (auto const& entry : std::filesystem::directory_iterator(path)) {
    if (!entry.is_directory()) continue;
    std::string const name = entry.path().filename().string();
    for (auto const& file : std::filesystem::directory_iterator(entry.path())) {
      if (file.path().extension() != ".npy") continue;
      io::ByteSource source(file.path().string());
      io::NpyLayout const layout = io::npy_layout(source);
      StoredArray array = zero_array(layout.extents, layout.format.kind == 'i');
      std::visit([&](auto& values) { io::read_npy_values(source, layout, values.data()); }, array.values);
      family.arrays.emplace(name + "/" + file.path().stem().string(), std::move(array));
    }
    if (name != "data") family.cases.push_back(parse_reference(entry.path() / "case.json"));
  }
  return family;
}

/// The family whose archive is `path`.json, or whose folder is `path`; read once a program.
inline ReferenceFamily const& reference_family(std::filesystem::path const& path) {
  static std::map<std::string, ReferenceFamily> families;
  auto found = families.find(path.string());
  if (found == families.end()) {
    bool const packed = std::filesystem::exists(path.string() + ".json");
    ReferenceFamily family = packed ? read_reference_archive(path) : read_reference_folder(path);
    std::sort(family.cases.begin(), family.cases.end(),
              [](auto const& a, auto const& b) { return a.at("name") < b.at("name"); });
    BOOST_REQUIRE_MESSAGE(!family.cases.empty(), path << " has no case");
    found = families.emplace(path.string(), std::move(family)).first;
  }
  return found->second;
}

}  // namespace trireme::test
