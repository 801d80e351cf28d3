// Models load the files that Keras wrote, train on as Keras did, and write files with the same data sets.
#define BOOST_TEST_MODULE parity_weights_of_models
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <trireme/trireme.hpp>

#include "../unit/io/folder.hpp"
#include "parity/reference.hpp"

using namespace trireme;
using nlohmann::json;
using trireme::test::ReferenceCase;

namespace {

ReferenceCase the_case(std::string const& name) {
  for (ReferenceCase const& c : test::reference_cases("weights_h5"))
    if (c.name() == name) return c;
  BOOST_FAIL("no case " << name);
  throw ValueError("unreachable");
}

std::vector<double> as_doubles(xt::xarray<float> const& values) { return {values.begin(), values.end()}; }

HostTensor<float> tensor(test::ReferenceArray<float> const& array) {
  return {nullptr, array.values.data(), array.extents, "the reference"};
}

/// Data sets of weights, not of the optimizer: path -> extents.
std::map<std::string, std::vector<std::size_t>> data_sets_of(std::string const& path) {
  std::map<std::string, std::vector<std::size_t>> all;
  for (StoredLayer const& layer : weights_index(path))
    for (std::size_t i = 0; i < layer.variables.size(); ++i)
      all[formatted("{}/{}", layer.group, i)] = layer.variables[i];
  return all;
}

/// Loads Keras's file whole and by names, predicts, takes a step, and saves: as Keras did.
template <class Architecture, class Optimizer>
void check(std::string const& name, Architecture const& architecture, Optimizer const& optimizer) {
  ReferenceCase const c = the_case(name);
  BOOST_TEST_CONTEXT(name) {
    OneDeviceStrategy<> const strategy;
    auto make = [&](std::uint64_t seed) {
      return compile<float>(strategy, architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                            CompileOptions{.seed = seed});
    };
    auto model = make(1);
    std::string const keras = c.file("model.weights.h5");
    model.load_weights(keras);

    auto const x = c.array<float>("x");
    auto const predicted =
        predict(strategy, model, data::from_tensor_slices(tensor(x)).batch(GlobalBatch{x.extents[0]}));
    c.compare<float>("prediction", c.array<double>("prediction").values, as_doubles(predicted));

    auto by_name = make(2);
    auto const taken = by_name.load_weights(keras, {.by_name = true});
    BOOST_TEST(taken.taken.size() == model.weight_names().size());
    for (std::string const& weight : model.weight_names())
      BOOST_TEST(as_doubles(by_name.weights(weight)) == as_doubles(model.weights(weight)),
                 boost::test_tools::per_element());

    test::Folder const folder;
    std::string const ours = folder.file("ours.weights.h5");
    model.save_weights(ours);
    BOOST_TEST((data_sets_of(ours) == data_sets_of(keras)));
    std::vector<std::string> names, expected;
    for (StoredLayer const& layer : weights_index(ours)) names.push_back(layer.path);
    for (StoredLayer const& layer : weights_index(keras)) expected.push_back(layer.path);
    BOOST_TEST(names == expected, boost::test_tools::per_element());

    auto const x_next = c.array<float>("x_next");
    auto const y_next = c.array<std::int32_t>("y_next");
    HostTensor<std::int32_t> const labels{nullptr, y_next.values.data(), y_next.extents, "the reference"};
    model.train_on_batch(tensor(x_next), labels);
    json const& weights = c.description.at("weights");
    std::vector<std::string> const own = model.weight_names();
    BOOST_REQUIRE(own.size() == weights.size());
    for (std::size_t i = 0; i < own.size(); ++i)
      c.compare<float>(own[i], c.array<double>(weights[i].at("after_next_step")).values,
                       as_doubles(model.weights(own[i])));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_mlp_goes_on_from_a_file_of_keras) {
  check("mlp_adam", Sequential{Input<64>{}, Dense<32, ReLU>{.name = "hidden"}, Dense<10>{.name = "head"}},
        Adam{.learning_rate = 0.005});
}

BOOST_AUTO_TEST_CASE(a_cnn_with_batch_normalization_goes_on_from_a_file_of_keras) {
  check("cnn_batch_norm_sgd_momentum",
        Sequential{Input<8, 8, 1>{}, Conv2D<8, 3, 3, Same>{}, BatchNormalization<>{}, ReLU{}, MaxPooling2D<2, 2>{},
                   Conv2D<16, 3, 3, ReLU>{}, Flatten{}, Dense<10>{}},
        SGD{.learning_rate = 0.05, .momentum = 0.9});
}

BOOST_AUTO_TEST_CASE(an_lstm_goes_on_from_a_file_of_keras) {
  check("lstm_adam", Sequential{Input<8, 8>{}, LSTM<16>{}, Dense<10>{}}, Adam{.learning_rate = 0.005});
}

// The groups are those of files that Keras 3.15 wrote of these layers.
BOOST_AUTO_TEST_CASE(layers_within_layers_have_the_groups_of_keras) {
  OneDeviceStrategy<> const strategy;
  auto model = compile(strategy, Sequential{Input<12, 8>{}, MultiHeadAttention<2, 4>{.name = "att"}, GRU<6>{}});
  test::Folder const folder;
  std::map<std::string, std::vector<std::size_t>> const expected{
      {"layers/gru/cell/vars/0", {8, 18}},
      {"layers/gru/cell/vars/1", {6, 18}},
      {"layers/gru/cell/vars/2", {2, 18}},
      {"layers/multi_head_attention/key_dense/vars/0", {8, 2, 4}},
      {"layers/multi_head_attention/key_dense/vars/1", {2, 4}},
      {"layers/multi_head_attention/output_dense/vars/0", {2, 4, 8}},
      {"layers/multi_head_attention/output_dense/vars/1", {8}},
      {"layers/multi_head_attention/query_dense/vars/0", {8, 2, 4}},
      {"layers/multi_head_attention/query_dense/vars/1", {2, 4}},
      {"layers/multi_head_attention/value_dense/vars/0", {8, 2, 4}},
      {"layers/multi_head_attention/value_dense/vars/1", {2, 4}}};
  for (char const* const name : {"m.weights.h5", "m.npz"}) {
    std::string const path = folder.file(name);
    model.save_weights(path);
    BOOST_TEST((data_sets_of(path) == expected));
    std::set<std::string> names;
    for (StoredLayer const& layer : weights_index(path)) names.insert(layer.path);
    BOOST_TEST(
        (names == std::set<std::string>{"att/query", "att/key", "att/value", "att/attention_output", "gru/gru_cell"}));
    auto other = compile(strategy, Sequential{Input<12, 8>{}, MultiHeadAttention<2, 4>{.name = "att"}, GRU<6>{}},
                         CompileOptions{.seed = 9});
    BOOST_TEST(other.load_weights(path, {.from = "att", .into = "att"}).taken.size() == 8u);
    BOOST_TEST(other.load_weights(path, {.by_name = true}).taken.size() == 11u);
    for (std::string const& weight : model.weight_names())
      BOOST_TEST(as_doubles(other.weights(weight)) == as_doubles(model.weights(weight)),
                 boost::test_tools::per_element());
  }
}
