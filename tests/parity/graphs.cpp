// Models whose branches differ, or share layers, against Keras: what is logged, weights, files.
#define BOOST_TEST_MODULE parity_graphs
#include "support/kokkos_fixture.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "parity/reference.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/named.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using namespace trireme::test;

namespace {

ReferenceCase reference_case(std::string const& name) {
  for (ReferenceCase const& c : reference_cases_in(TRIREME_TESTS_DIRECTORY "/parity/graphs"))
    if (c.name() == name) return c;
  BOOST_FAIL("no case " << name);
  throw ValueError("unreachable");
}

template <class T>
auto compiled(ReferenceCase const& c, Parallelism plan) {
  auto const& d = c.description;
  return compile<T>(
      OneDeviceStrategy<>(),
      Sequential{Inputs{Input<4>{}, Input<6>{}}, Parallel{Dense<6, Tanh>{}, Skip{}}, Each{Dense<5, Tanh>{}},
                 Each{BatchNormalization<>{.momentum = 0.75}}, Concatenate{}, Dense<4, Tanh>{},
                 Fork{Dense<1>{.name = "price"}, Dense<3>{.name = "kind"}}},
      SGD{.learning_rate = d.at("learning_rate").get<double>(), .momentum = d.at("momentum").get<double>()},
      Outputs{output<"price">(MeanSquaredError{}, LossWeight{d.at("loss_weights").at("price")},
                              metrics::MeanAbsoluteError{}),
              output<"kind">(SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                             LossWeight{d.at("loss_weights").at("kind")})},
      CompileOptions{.parallelism = plan});
}

template <class T>
struct Part {
  ReferenceArray<T> a, b, price;
  ReferenceArray<std::int32_t> kind;

  Part(ReferenceCase const& c, std::string const& part)
      : a(c.template array<T>(part + "_a")),
        b(c.template array<T>(part + "_b")),
        price(c.template array<T>(part + "_price")),
        kind(c.template array<std::int32_t>(part + "_kind")) {}

  static auto array(auto const& values) { return to_xarray(values.values.data(), values.extents); }
  auto x() const { return std::tuple{array(a), array(b)}; }
  auto y() const { return std::tuple{array(price), array(kind)}; }
};

struct RunningValues {
  std::map<std::string, std::vector<double>> values;
  template <class Run>
  void on_train_batch_end(Run& run) {
    for (auto const& entry : run.metrics()) values[entry.name].push_back(entry.value.value());
  }
};

template <class T>
void compare_logs(ReferenceCase const& c, std::string const& name, std::vector<double> const& expected,
                  std::vector<double> const& got) {
  if (name.find("accuracy") == std::string::npos) return c.template compare<T>(name, expected, got);
  // In float one sample may fall on the other side.
  BOOST_REQUIRE_EQUAL(expected.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::abs(got[i] - expected[i]) <= (std::is_same_v<T, float> ? 1.0 / 13 : 0.0) + 1e-14, name);
}

template <class T>
void check(Parallelism plan) {
  auto const c = reference_case("two_towers");
  Part<T> const train(c, "train"), test(c, "test");
  auto model = compiled<T>(c, plan);
  OneDeviceStrategy<> const strategy;

  auto const names = model.weight_names();
  auto const& weights = c.description.at("weights");
  BOOST_REQUIRE_EQUAL(names.size(), weights.size());
  // Keras lists the layers by their depth, and so the shared one, made first, behind that of the first input. Its names
  // count in the order of making.
  std::map<std::string, std::string> const theirs{{"dense", "dense_1"}, {"dense_1", "dense"}};
  std::map<std::string, nlohmann::json> by_name;
  for (auto const& weight : weights) by_name[weight.at("name")] = weight;
  auto const of_keras = [&](std::string const& name) {
    std::string const layer = name.substr(0, name.find('/'));
    return by_name.at((theirs.contains(layer) ? theirs.at(layer) : layer) + name.substr(name.find('/')));
  };
  for (auto const& name : names) {
    auto const initial = c.template array<T>(of_keras(name).at("initial"));
    model.set_weights(name, to_xarray(initial.values.data(), initial.extents));
  }

  auto const batch = GlobalBatch{c.description.at("batch_size").get<std::size_t>()};
  auto const weight = c.template array<double>("sample_weight").values;
  auto const tests = data::from_tensor_slices(test.x(), test.y()).batch(batch);
  RunningValues running;
  auto const history =
      fit(strategy, model, data::from_tensor_slices(train.x(), train.y(), weight).batch(batch), validation(tests),
          {.epochs = c.description.at("epochs").get<std::size_t>(), .verbose = false}, running);

  auto const& expected = c.description.at("history");
  BOOST_TEST(history.values.size() == expected.size());
  for (auto const& [name, values] : expected.items()) compare_logs<T>(c, name, values, history[name]);
  for (auto const& [name, values] : running.values) {
    std::vector<double> batches;
    for (auto const& logs : c.description.at("batch_logs")) batches.push_back(logs.at(name));
    compare_logs<T>(c, name + " after each batch", batches, values);
  }
  for (auto const& name : names) {
    auto const got = model.weights(name);
    c.template compare<T>(name, c.template array<double>(of_keras(name).at("final")).values,
                          std::vector<T>(got.begin(), got.end()));
  }

  auto const logs = evaluate(strategy, model, tests);
  for (auto const& [name, value] : c.description.at("evaluation").items())
    compare_logs<T>(c, name, {double(value)}, {logs.find(name)->value()});
  auto const predicted = predict(strategy, model, tests);
  auto const& price = std::get<0>(predicted);
  auto const& kind = std::get<1>(predicted);
  BOOST_TEST(price.dimension() == 2u);
  BOOST_TEST(kind.shape()[1] == 3u);
  c.template compare<T>("price", c.template array<double>("predicted_price").values,
                        std::vector<T>(price.begin(), price.end()));
  c.template compare<T>("kind", c.template array<double>("predicted_kind").values,
                        std::vector<T>(kind.begin(), kind.end()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_inputs_and_two_outputs_train_as_in_keras) {
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    check<double>(plan);
    check<float>(plan);
  }
}

#ifdef TRIREME_HAVE_HDF5
BOOST_AUTO_TEST_CASE(files_of_keras_are_read_and_written) {
  auto const c = reference_case("two_towers");
  Part<double> const test(c, "test");
  auto const x = data::from_tensor_slices(test.x()).batch(GlobalBatch{5});
  auto model = compiled<double>(c, Parallelism::samples);
  OneDeviceStrategy<> const strategy;
  model.load_weights(c.file("model.weights.h5"));
  BOOST_TEST(model.engine().iteration() == 9u);
  auto const check = [&](auto const& predicted) {
    auto const& [price, kind] = predicted;
    c.template compare<double>("price", c.template array<double>("predicted_price").values,
                               std::vector<double>(price.begin(), price.end()));
    c.template compare<double>("kind", c.template array<double>("predicted_kind").values,
                               std::vector<double>(kind.begin(), kind.end()));
  };
  check(predict(strategy, model, x));

  // What is written has the same groups, and is read again to the bit.
  auto const path = std::filesystem::temp_directory_path() / "trireme_graphs.weights.h5";
  model.save_weights(path.string());
  auto again = compiled<double>(c, Parallelism::samples);
  again.load_weights(path.string());
  for (auto const& name : model.weight_names()) BOOST_TEST(again.weights(name) == model.weights(name));
  std::filesystem::remove(path);
}

namespace {

/// All data sets of a file, the optimizer's too.
std::map<std::string, std::vector<double>> data_sets(std::string const& path) {
  using detail::Hdf5Handle;
  std::map<std::string, std::vector<double>> all;
  Hdf5Handle const file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  auto const add = [](hid_t root, char const* name, H5O_info_t const* info, void* out) -> herr_t {
    if (info->type != H5O_TYPE_DATASET) return 0;
    Hdf5Handle const data(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
    Hdf5Handle const space(H5Dget_space(data), H5Sclose);
    std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    auto const read = H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    (*static_cast<std::map<std::string, std::vector<double>>*>(out))[name] = std::move(values);
    return read;
  };
  BOOST_REQUIRE(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, +add, &all) >= 0);
  return all;
}

/// Loads Keras's file by places and by names, predicts, saves the same file, and takes a step as Keras did.
template <class Architecture>
void check_file(std::string const& name, Architecture const& architecture) {
  auto const c = reference_case(name);
  OneDeviceStrategy<> const strategy;
  auto const make = [&] {
    return compile<double>(
        strategy, architecture,
        Adam{.learning_rate = 1.0 / 64, .beta_1 = 0.875, .beta_2 = 0.96875, .epsilon = std::ldexp(1.0, -20)},
        MeanSquaredError{});
  };
  auto model = make(), by_name = make();
  auto const given = c.array<double>("x"), wanted = c.array<double>("y");
  auto const x = to_xarray(given.values.data(), given.extents), y = to_xarray(wanted.values.data(), wanted.extents);
  auto const check = [&](char const* what) {
    auto const predicted = predict(strategy, model, data::from_tensor_slices(x).batch(GlobalBatch{12}));
    c.compare<double>(what, c.array<double>(what).values, std::vector<double>(predicted.begin(), predicted.end()));
  };

  model.load_weights(c.file("model.weights.h5"));
  check("prediction");
  by_name.load_weights(c.file("model.weights.h5"), {.by_name = true});
  for (auto const& weight : model.weight_names()) BOOST_TEST(model.weights(weight) == by_name.weights(weight), weight);
  Folder const folder;
  model.save_weights(folder.file("ours.weights.h5"));
  BOOST_TEST((data_sets(folder.file("ours.weights.h5")) == data_sets(c.file("model.weights.h5"))));
  model.train_on_batch(x, y);
  check("prediction_next");
}

/// The short branch comes first, which Keras stores behind the first layer of the long one.
auto branches() {
  return Graph{Input<5>{},
               node<"short">(Dense<5, Tanh>{}),
               node<"long_1", "input">(Dense<5, Tanh>{}),
               node<"long_2">(Dense<5, Tanh>{}),
               node<"sum", "long_2", "short">(Add{}),
               node<"head">(Dense<5, Tanh>{})};
}

}  // namespace

BOOST_AUTO_TEST_CASE(branches_of_other_depths_lie_where_keras_stores_them) { check_file("branches", branches()); }

BOOST_AUTO_TEST_CASE(a_nested_graph_on_two_branches_lies_where_keras_stores_it) {
  auto const dense = [](std::string_view name) { return Dense<5, Tanh>{.name = name}; };
  auto const normal = [](std::string_view name) {
    return BatchNormalization<>{.momentum = 0.75, .epsilon = 1.0 / 1024, .name = name};
  };
  check_file(
      "towers",
      Sequential{
          Input<5>{}, dense("stem"),
          Fork{Sequential{dense("left_1"), dense("left_2")}, Sequential{dense("right_1"), dense("right_2")}},
          Each{named<"shared">(branches())},
          Parallel{Sequential{dense("after_1"), dense("after_2"), normal("normal_left")}, normal("normal_right")},
          Add{}, Dense<5>{.name = "head"}});
}
#endif
