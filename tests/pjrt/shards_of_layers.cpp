// ranks: 1 2
// Devices of a replica divide the weights of every kind of layer, and give what one device gives.
#define BOOST_TEST_MODULE pjrt_shards_of_layers
#include "support/kokkos_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "pjrt/training.hpp"
#include "trireme/trireme.hpp"

using namespace trireme;

namespace {

auto strategy(std::size_t replicas, std::size_t shards) {
  PjrtStrategy one = test::pjrt_strategy(replicas);
  one.shards = shards;
  return MultiWorkerPjrtStrategy(test::environment().world(), one);
}

template <class... Layers>
auto make(Layers const&... layers) {
  return [=](auto const& where) {
    return compile<double>(where, Sequential{layers...},
                           Adam{.learning_rate = 0.02, .epsilon = 1e-3, .global_clipnorm = 0.5},
                           SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 5});
  };
}

/// Filters divide by 2 and 4; 5 filters do not, but their 8 channels do; 3 filters of 5 channels lie on each device.
auto convolutions() {
  return make(Input<8, 7, 2>{}, Conv2D<8, 3, 3, ReLU, Same>{.kernel_regularizer = L1L2(1e-4, 1e-3)},
              MaxPooling2D<2, 2>{}, SyncBatchNormalization<>{.momentum = 0.8}, Conv2D<5, 2, 2, Strides<2, 1>>{},
              Conv2D<3, 1, 2>{}, Flatten{}, Frozen{Dense<8, Tanh>{}}, Dense<4>{});
}
auto images(std::size_t count) { return test::make_samples<double>(count, {8, 7, 2}, test::classes, 3); }

/// Four heads divide by 2 and 4, three do not, but their widths by 2; a table of 10 rows divides by 2, and by 4 along
/// its columns; 6 units divide by 2, and by 4 their inputs. Three steps are written one after the other, seven are a
/// loop.
template <std::size_t Time>
auto sequences() {
  return make(Input<Time>{}, Embedding<10, 4>{}, MultiHeadAttention<4, 3, Causal>{.bias_initializer = RandomNormal{}},
              LayerNormalization<>{}, MultiHeadAttention<3, 2, OutputDim<4>>{.bias_initializer = RandomNormal{}},
              LSTM<8, ReturnSequences>{}, GRU<6, ReturnSequences, GoBackwards>{}, GRU<4, ResetBefore>{}, Dense<4>{});
}
auto words(std::size_t count, std::size_t time) {
  auto samples = test::make_samples<double>(count, {time}, test::classes, 3);
  for (double& value : samples.x) value = std::floor((value + 1) * 5);
  return samples;
}

/// Replicas, and devices of each.
using Layout = std::pair<std::size_t, std::size_t>;

template <class Make, class Samples>
void check_training(Make const& make, Samples const& samples, Samples const& others,
                    std::vector<Layout> const& layouts) {
  auto const train = samples.weighted_data().batch(GlobalBatch{9}),
             tests = others.weighted_data().batch(GlobalBatch{4});
  auto const reference = test::run(OneDeviceStrategy<>(), make, train, tests, 2);
  std::size_t const ranks = test::environment().world().size();
  for (auto const& [replicas, shards] : layouts)
    BOOST_TEST_CONTEXT(replicas << " replicas of " << shards << " devices on each of " << ranks << " ranks") {
      auto const run = test::run(strategy(replicas, shards), make, train, tests, 2);
      test::check_same_run(run, reference, 1e-11);
      test::check_equal_on_all(test::environment().world(), run.first);
      run.first.engine().verify_replicas();
    }
}

/// Checks that a device holds its part of every weight, and the weights with these names whole; that its optimizer's
/// state and its results are divided as the weights are.
template <class Make>
void check_held(Make const& make, std::size_t shards, std::vector<std::string> const& whole) {
  auto const model = make(strategy(1, shards));
  auto const& engine = model.engine();
  auto const& table = engine.model().description();
  std::size_t held = 0, parameters = 0;
  auto const add = [&](WeightInfo const& info, bool divides) { held += divides ? info.size / shards : info.size; };
  for (auto const& info : table.parameters) {
    add(info, std::ranges::find(whole, info.path) == whole.end());
    parameters += info.size;
  }
  std::size_t const trained = held;
  for (auto const& info : table.states) add(info, false);
  for (auto const& info : table.frozen) add(info, true);
  BOOST_TEST_CONTEXT(shards << " devices") {
    BOOST_TEST(engine.weights_on_device() == held);
    BOOST_TEST(trained < parameters);
    auto const& model_type = engine.model();
    using Programs = lowering::ModelPrograms<std::decay_t<decltype(model_type)>>;
    auto const train = Programs(model_type, 4, 1, Programs(model_type, 1, 1).division(shards)).train();
    std::size_t const count = table.parameters.size(), rest = table.states.size() + table.frozen.size();
    auto const size = [](auto const& types, std::size_t first, std::size_t number) {
      std::size_t sum = 0;
      for (std::size_t i = first; i < first + number; ++i) sum += types.at(i).size();
      return sum;
    };
    BOOST_TEST(size(train.arguments, 0, count) == trained);
    BOOST_TEST(size(train.arguments, count + rest, 2 * count) == 2 * trained);
    BOOST_TEST(size(train.results, count + table.states.size(), 2 * count) == 2 * trained);
  }
}

struct File {
  std::string path =
      (std::filesystem::temp_directory_path() / ("trireme_shards_of_layers_" + std::to_string(::getpid()) + ".npz"))
          .string();
  ~File() { std::filesystem::remove(path); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(divided_convolutions_train_as_on_one_device) {
  std::vector<Layout> layouts{{1, 2}, {2, 2}};
  if (test::environment().world().size() == 1) layouts.push_back({1, 4});
  check_training(convolutions(), images(31), images(11), layouts);
}

BOOST_AUTO_TEST_CASE(divided_attention_and_recurrent_layers_train_as_on_one_device) {
  bool const alone = test::environment().world().size() == 1;
  check_training(sequences<7>(), words(22, 7), words(6, 7),
                 alone ? std::vector<Layout>{{1, 2}, {1, 4}} : std::vector<Layout>{{1, 2}});
  check_training(sequences<3>(), words(22, 3), words(6, 3), {{2, 2}});
}

BOOST_AUTO_TEST_CASE(a_device_holds_its_part_of_weights_and_state) {
  if (test::environment().world().size() > 1) return;
  std::vector<std::string> whole{"batch_normalization/gamma", "batch_normalization/beta", "conv2d_1/bias",
                                 "conv2d_2/kernel", "conv2d_2/bias"};
  for (std::size_t const shards : {2u, 4u}) check_held(convolutions(), shards, whole);

  whole = {"multi_head_attention/attention_output/bias", "multi_head_attention_1/attention_output/bias",
           "layer_normalization/gamma", "layer_normalization/beta"};
  check_held(sequences<7>(), 2, whole);
  for (char const* const part : {"query", "key", "value"})
    for (char const* const weight : {"kernel", "bias"})
      whole.push_back(std::string("multi_head_attention_1/") + part + "/" + weight);
  for (char const* const name :
       {"multi_head_attention_1/attention_output/kernel", "gru/gru_cell/recurrent_kernel", "gru/gru_cell/bias"})
    whole.push_back(name);
  check_held(sequences<7>(), 4, whole);
}

BOOST_AUTO_TEST_CASE(weights_with_split_axes_are_read_set_and_restored_whole) {
  if (test::environment().world().size() > 1) return;
  auto const build = sequences<3>();
  auto model = build(strategy(1, 2));
  auto reference = build(OneDeviceStrategy<>());
  test::check_same_weights(model, reference, 0);
  for (char const* const name : {"lstm/lstm_cell/kernel", "lstm/lstm_cell/bias", "gru/gru_cell/bias",
                                 "multi_head_attention/query/kernel", "multi_head_attention/attention_output/kernel"}) {
    xt::xarray<double> values = reference.weights(name);
    for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = 0.01 * static_cast<double>(i) - 0.3;
    model.set_weights(name, values);
    reference.set_weights(name, values);
  }
  test::check_same_weights(model, reference, 0);
  File const file;
  model.save_weights(file.path);
  auto other = build(strategy(1, 4));
  other.load_weights(file.path);
  test::check_same_weights(other, model, 0);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_with_another_number_of_devices) {
  if (test::environment().world().size() > 1) return;
  auto const build = make(Input<3, 4>{}, LSTM<8>{}, Dense<6, Tanh>{}, Dense<4>{});
  auto const samples = test::make_samples<double>(22, {3, 4}, test::classes, 3);
  auto const data = samples.weighted_data().batch(GlobalBatch{9});
  File const file;
  auto whole = build(OneDeviceStrategy<>());
  auto const history = fit(OneDeviceStrategy<>(), whole, data, {.epochs = 4, .verbose = false});
  auto const train = [&](auto const& where, std::size_t epochs) {
    auto model = build(where);
    auto run = fit(where, model, data, {.epochs = epochs, .verbose = false},
                   BackupAndRestore{.path = file.path, .delete_checkpoint = false, .placement = Placement::any});
    return std::pair(std::move(model), std::move(run));
  };
  train(strategy(1, 2), 2);
  train(strategy(1, 4), 3);
  auto const resumed = train(strategy(2, 2), 4);
  test::check_same_weights(resumed.first, whole, 1e-11);
  test::check_same_history(resumed.second, history, 1e-11);
}

BOOST_AUTO_TEST_CASE(tensors_beside_a_divided_kernel_are_annotated) {
  if (test::environment().world().size() > 1) return;
  auto const annotation = [](std::size_t inputs, std::size_t units) {
    lowering::Builder b(2);
    auto const x = b.argument<double>(Extents<dynamic, dynamic>{{3, inputs}});
    lowering::Trace<double> trace(b, {{b.argument<double>(lowering::AnyExtents{{inputs, units}})}, {}}, {}, true);
    Extents<dynamic, dynamic> const extents{{inputs, units}};
    auto const kernel = trace.parameter(extents, {1, 0});
    auto const from = trace.aligned(x, kernel, {{0, 1}});  // axis 0 of the kernel is axis 1 of x
    b.result(from);
    std::string const text = b.finish().text, begin = "@Sharding(%v0) {mhlo.sharding = \"";
    std::size_t const at = text.find(begin);
    return at == text.npos ? "none"
                           : text.substr(at + begin.size(), text.find('"', at + begin.size()) - at - begin.size());
  };
  BOOST_TEST(annotation(4, 6) == "{replicated}");
  BOOST_TEST(annotation(4, 5) == "{devices=[1,2]<=[2]}");
  BOOST_TEST(annotation(3, 5) == "none");
}

BOOST_AUTO_TEST_CASE(a_layer_may_split_axes_of_its_parameter_and_nothing_else) {
  if (test::environment().world().size() > 1) return;
  auto const take = [](std::vector<std::size_t> const& whole, std::vector<std::size_t> const& parts) {
    lowering::Builder b;
    lowering::Trace<double> trace(b, {{b.argument<double>(lowering::AnyExtents{whole})}, {}}, {}, true);
    return trace.parameter(lowering::AnyExtents{parts}).value.extents.values;
  };
  using Numbers = std::vector<std::size_t>;
  for (auto const& [whole, parts] : std::vector<std::pair<Numbers, Numbers>>{
           {{3, 8}, {3, 8}}, {{3, 8}, {3, 4, 2}}, {{3, 4}, {3, 4, 1}}, {{6, 8}, {2, 3, 4, 2}}, {{1, 4}, {1, 4, 1}}})
    BOOST_TEST(take(whole, parts) == parts, boost::test_tools::per_element());
  for (auto const& [whole, parts] : std::vector<std::pair<Numbers, Numbers>>{
           {{3, 8}, {8, 3}}, {{3, 8}, {24}}, {{3, 8}, {4, 2, 3}}, {{3, 8}, {3, 4}}, {{3, 8}, {6, 4}}})
    BOOST_CHECK_THROW(take(whole, parts), ShapeError);
}
