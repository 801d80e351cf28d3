// Files that Keras wrote are read as they are, and files written here have the same tree as Keras's.
#define BOOST_TEST_MODULE parity_weights_h5
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "trireme/io/keras_names.hpp"
#include "trireme/io/weights_h5.hpp"

#include "../unit/io/folder.hpp"
#include "parity/reference.hpp"

namespace tr = trireme;
using nlohmann::json;
using tr::test::ReferenceCase;

namespace {

/// One variable: what the case says it is, and room for what is read.
struct Variable {
  std::vector<std::string> path;
  std::size_t index = 0;
  std::vector<std::size_t> extents;
  bool integer = false;
  std::vector<double> expected;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;

  tr::NamedDestination destination() {
    return integer ? tr::named_destination(path, index, extents, integers.data())
                   : tr::named_destination(path, index, extents, floats.data());
  }
  tr::NamedTensor tensor() const {
    return integer ? tr::named_tensor(path, index, extents, integers.data())
                   : tr::named_tensor(path, index, extents, floats.data());
  }
};

Variable variable(ReferenceCase const& c, std::vector<std::string> path, std::size_t index, std::string const& array) {
  auto const expected = c.array<double>(array);
  Variable made{std::move(path), index, expected.extents, c.is_integer(array), expected.values, {}, {}};
  made.floats.resize(expected.values.size());
  made.integers.resize(expected.values.size());
  return made;
}

std::vector<std::string> parts(std::string const& path) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= path.size();) {
    std::size_t const end = std::min(path.find('/', start), path.size());
    names.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

/// A layer's group in the file, and the name that its user gave it or Keras did.
struct Layer {
  std::string group;
  std::string name;
};

/// Names that users gave appear in the paths of the case's weights, in the order of the layers that have any.
std::vector<Layer> layers(json const& the_case) {
  std::vector<std::string> classes;
  for (json const& layer : the_case["model"]) classes.push_back(layer["class"]);
  std::vector<std::string> named;
  for (json const& weight : the_case["weights"]) {
    std::string const name = parts(weight["name"]).at(1);
    if (named.empty() || named.back() != name) named.push_back(name);
  }
  std::vector<Layer> all;
  auto next = named.begin();
  for (std::string const& group : tr::keras_layer_names(classes)) {
    json const& data = the_case["datasets"];
    bool const has_variables = std::any_of(data.begin(), data.end(), [&](json const& one) {
      return one["path"].get<std::string>().starts_with("layers/" + group + "/");
    });
    all.push_back({group, has_variables ? *next++ : group});
  }
  return all;
}

/// "sequential/lstm/lstm_cell/kernel" lies in layers/lstm/cell/vars, numbered in the order of the layer's variables.
std::vector<Variable> variables(ReferenceCase const& c) {
  json const& the_case = c.description;
  std::vector<Variable> all;
  std::map<std::vector<std::string>, std::size_t> count;
  std::vector<Layer> const known = layers(the_case);
  for (json const& weight : the_case["weights"]) {
    std::vector<std::string> path = parts(weight["name"]);
    auto const layer = std::find_if(known.begin(), known.end(), [&](Layer const& l) { return l.name == path[1]; });
    path.front() = "layers";
    path[1] = layer->group;
    path.back() = "vars";
    if (path.size() == 4) path[2] = "cell";
    all.push_back(variable(c, path, count[path]++, weight["array"]));
  }
  for (json const& state : the_case["optimizer_variables"]) {
    std::vector<std::string> const path{"optimizer", "vars"};
    all.push_back(variable(c, path, count[path]++, state["array"]));
  }
  return all;
}

std::vector<tr::NamedGroup> groups(json const& the_case) {
  std::vector<tr::NamedGroup> all;
  for (Layer const& layer : layers(the_case)) {
    all.push_back({{"layers", layer.group, "vars"}, layer.name});
    if (layer.group == "lstm") all.push_back({{"layers", layer.group, "cell", "vars"}, "lstm_cell"});
  }
  all.push_back({{"optimizer", "vars"}, tr::keras_snake_case(the_case["optimizer"]["class"].get<std::string>())});
  all.push_back({{"vars"}, "sequential"});
  return all;
}

/// One line for each object of a file: its path, and its type and extents, or the attribute `name`.
std::vector<std::string> tree(std::string const& path) {
  using tr::detail::Hdf5Handle;
  Hdf5Handle const file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  std::vector<std::string> lines;
  auto const add = [](hid_t root, char const* name, H5O_info_t const* info, void* out) -> herr_t {
    std::string line = name;
    if (info->type == H5O_TYPE_DATASET) {
      Hdf5Handle const data(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
      Hdf5Handle const space(H5Dget_space(data), H5Sclose);
      Hdf5Handle const type(H5Dget_type(data), H5Tclose);
      std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
      H5Sget_simple_extent_dims(space, extents.data(), nullptr);
      bool const integer = H5Tequal(type, H5T_STD_I64LE) > 0;
      bool const single = H5Tequal(type, H5T_IEEE_F32LE) > 0;
      line += fmt::format(" {} {}", integer ? "int64" : single ? "float32" : "another type", extents);
    }
    if (info->num_attrs > 0) {
      Hdf5Handle const attribute(H5Aopen_by_name(root, name, "name", H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
      Hdf5Handle const type(H5Aget_type(attribute), H5Tclose);
      char* text = nullptr;
      if (H5Aread(attribute, type, &text) < 0) return -1;
      line += fmt::format(" {} attribute, name = {}", info->num_attrs, text);
      H5free_memory(text);
    }
    static_cast<std::vector<std::string>*>(out)->push_back(line);
    return 0;
  };
  BOOST_REQUIRE(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, add, &lines, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS) >= 0);
  return lines;
}

/// The project's three cases, or those of TRIREME_REFERENCE_DIR.
std::vector<ReferenceCase> cases() {
  std::vector<ReferenceCase> all = tr::test::reference_cases("weights_h5");
  BOOST_TEST(all.size() >= 3u);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(files_of_keras_hold_the_weights_and_optimizer_state_that_keras_had) {
  for (ReferenceCase const& c : cases()) {
    BOOST_TEST_CONTEXT(c.name()) {
      json const& the_case = c.description;
      std::vector<Variable> all = variables(c);
      BOOST_REQUIRE(all.size() == the_case["datasets"].size());
      std::vector<tr::NamedDestination> destinations;
      for (Variable& one : all) destinations.push_back(one.destination());
      tr::read_weights_h5(c.file("model.weights.h5"), destinations);
      for (Variable const& one : all) {
        for (std::size_t i = 0; i < one.expected.size(); ++i) {
          double const read = one.integer ? static_cast<double>(one.integers[i]) : static_cast<double>(one.floats[i]);
          BOOST_REQUIRE(read == one.expected[i]);  // the arrays were taken from the float32 variables
        }
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(files_written_here_have_the_tree_that_keras_writes, tr::test::Folder) {
  for (ReferenceCase const& c : cases()) {
    BOOST_TEST_CONTEXT(c.name()) {
      json const& the_case = c.description;
      std::string const keras = c.file("model.weights.h5");
      std::vector<Variable> all = variables(c);
      std::vector<tr::NamedDestination> destinations;
      for (Variable& one : all) destinations.push_back(one.destination());
      tr::read_weights_h5(keras, destinations);
      std::vector<tr::NamedTensor> tensors;
      for (Variable const& one : all) tensors.push_back(one.tensor());
      // A folder that is given keeps the files, so that Keras itself can be asked to load them.
      char const* const kept = std::getenv("TRIREME_KEEP_WEIGHTS");
      std::string const ours = kept != nullptr ? fmt::format("{}/{}.weights.h5", kept, c.name()) : file("m.weights.h5");
      tr::write_weights_h5(ours, tensors, groups(the_case));
      BOOST_TEST(tree(ours) == tree(keras), boost::test_tools::per_element());
    }
  }
}
