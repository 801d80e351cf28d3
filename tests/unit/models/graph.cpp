// Graphs of named nodes: gradients, names, cuts, pictures, and the same numbers as combinators of the same graph.
#define BOOST_TEST_MODULE models_graph
#include "support/kokkos_fixture.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/activations/relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/dropout.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/layers/select.hpp"
#include "trireme/layers/up_sampling2d.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/buffer_plan.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/layered_layout.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/models/plot_model.hpp"
#include "trireme/models/shared.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "unit/io/folder.hpp"
#include "unit/layers/gradient_check.hpp"

using namespace trireme;
using boost::test_tools::per_element;
using test::check_gradients;

namespace {

template <class G>
void check_graph(G const& graph) {
  check_gradients(graph, graph.input());
}

/// Weights and metrics after some steps of a model of five inputs and two outputs.
template <class Precision, class Architecture, class Strategy>
auto trained(Strategy const& strategy, Architecture const& architecture, Parallelism parallelism) {
  auto const x = test::numbers<double>(21 * 5, 3), y = test::numbers<double>(21 * 2, 5);
  auto model = compile<Precision>(strategy, architecture, SGD{.learning_rate = 0.1, .momentum = 0.9},
                                  MeanSquaredError{}, CompileOptions{.seed = 7, .parallelism = parallelism});
  auto const history = fit(strategy, model,
                           data::from_tensor_slices(to_xarray(x.data(), std::vector<std::size_t>{21, 5}),
                                                    to_xarray(y.data(), std::vector<std::size_t>{21, 2}))
                               .batch(GlobalBatch{4}),
                           {.epochs = 2, .verbose = false});
  std::vector<double> all = history["loss"];
  for (auto const& name : model.weight_names()) {
    auto const weights = model.weights(name);
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

template <class Precision = double, class A, class B>
void check_same_training(A const& a, B const& b) {
  for (auto const parallelism : {Parallelism::samples, Parallelism::intra_op})
    BOOST_TEST(trained<Precision>(MirroredStrategy<>(2), a, parallelism) ==
                   trained<Precision>(MirroredStrategy<>(2), b, parallelism),
               per_element());
}

/// That of the README, whose picture is docs/model.svg.
auto readme_graph() {
  namespace tr = trireme;
  return tr::Graph{
      tr::Input<64, 64, 1>{},
      tr::node<"down">(tr::Conv2D<8, 3, 3, tr::ReLU, tr::Same>{}),
      tr::node<"bottom">(tr::Sequential{tr::MaxPooling2D<2, 2>{}, tr::Conv2D<16, 3, 3, tr::ReLU, tr::Same>{}}),
      tr::node<"up">(tr::UpSampling2D<2, 2>{}),
      tr::node<"joined", "up", "down">(tr::Concatenate{}),
      tr::node<"head">(tr::Conv2D<1, 1, 1, tr::Sigmoid>{})};
}

/// That of docs/start.md.
auto graph_of_two_inputs() {
  namespace tr = trireme;
  return tr::Graph{tr::Inputs{tr::Input<16>{}, tr::Input<4>{}},
                   tr::node<"profile", "input">(tr::Select<0>{}),
                   tr::node<"hidden">(tr::Dense<8, tr::ReLU>{}),
                   tr::node<"settings", "input">(tr::Select<1>{}),
                   tr::node<"joined", "hidden", "settings">(tr::Concatenate{}),
                   tr::node<"out">(tr::Dense<1>{})};
}

}  // namespace

BOOST_AUTO_TEST_CASE(buffers_that_live_at_once_lie_apart_and_others_share) {
  using detail::BufferLife;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::array<BufferLife, 9> lives{};
    auto const random = test::numbers<double>(27, seed);
    std::size_t sum = 0, largest = 0;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      auto const number = [&](std::size_t k, double of) {
        return static_cast<std::size_t>(of * (random[3 * i + k] + 1));
      };
      lives[i] = {64 * number(0, 8), number(1, 5), 0};
      lives[i].last = lives[i].first + number(2, 3);
      sum += lives[i].size;
    }
    std::array<std::size_t, 9> offsets{};
    std::size_t const total = detail::plan_buffers(lives, offsets);
    for (std::size_t step = 0; step < 20; ++step) {
      std::size_t alive = 0;
      for (BufferLife const& life : lives)
        if (life.first <= step && step <= life.last) alive += life.size;
      largest = std::max(largest, alive);
    }
    BOOST_TEST(total >= largest);
    BOOST_TEST(total <= sum);
    for (std::size_t i = 0; i < lives.size(); ++i) {
      BOOST_TEST(offsets[i] + lives[i].size <= total);
      for (std::size_t j = 0; j < i; ++j)
        if (lives[i].first <= lives[j].last && lives[j].first <= lives[i].last)
          BOOST_TEST((offsets[i] + lives[i].size <= offsets[j] || offsets[j] + lives[j].size <= offsets[i] ||
                      lives[i].size == 0 || lives[j].size == 0));
    }
  }
  // Gradients of a chain need two buffers, however long it is.
  std::array<std::size_t, 5> offsets{};
  BOOST_TEST(detail::plan_buffers(
                 std::array<BufferLife, 5>{{{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}, {64, 4, 5}}}, offsets) ==
             128u);
}

BOOST_AUTO_TEST_CASE(graphs_have_the_gradient_of_their_forward) {
  check_graph(Graph{Input<5>{}, node<"a">(Dense<4, Tanh>{}), node<"b">(Dense<3>{})});
  check_graph(Graph{Input<5>{}, node<"a">(Dense<4, Tanh>{}), node<"b", "input">(Dense<4>{}),
                    node<"sum", "a", "b">(Add{}), node<"c">(Dense<3>{})});
  // Values with several users, a value of the beginning used at the end, names against the order, a join as the output.
  check_graph(Graph{Input<5>{}, node<"a">(Dense<4, Tanh>{}), node<"b", "a">(Dense<4, Tanh>{}),
                    node<"c", "a">(Dense<4, Tanh>{}), node<"d", "c", "b", "a">(Add{}), node<"e", "d">(Dense<2>{}),
                    node<"all", "e", "input", "b">(Concatenate{})});
  // Layers that hand their input on, in the middle and at the end, and one of several inputs that is no join.
  check_graph(Graph{Input<6>{}, node<"grid">(Reshape<2, 3>{}), node<"row", "input">(Dense<6>{}),
                    node<"flat", "grid">(Flatten{}), node<"sum", "row", "flat">(Add{}), node<"out">(Reshape<3, 2>{})});
  check_graph(Graph{Input<4, 3>{}, node<"q">(Dense<3>{}), node<"v", "input">(Dense<2>{}),
                    node<"attention", "q", "v">(MultiHeadAttention<2, 3>{}), node<"sum", "attention", "q">(Add{})});
  check_graph(Graph{Input<4>{}, node<"a">(Dense<3>{}), node<"b", "input">(Dense<2>{}), node<"both", "a", "b">(Skip{}),
                    node<"b_again">(Select<1>{}), node<"joined", "b_again", "a">(Concatenate{})});
  // Nested models, batch statistics, windows.
  check_graph(Graph{Input<6, 6, 2>{}, node<"left">(Sequential{Conv2D<3, 3, 3, Same>{}, MaxPooling2D<2, 2>{}}),
                    node<"right", "input">(Conv2D<3, 1, 1, Strides<2, 2>>{}),
                    node<"norm", "right">(BatchNormalization<>{}), node<"sum", "left", "norm">(Add{}),
                    node<"relu">(ReLU{}), node<"skip", "relu", "left">(Concatenate{})});
  check_graph(Graph{Input<dynamic>{{3}}, node<"a">(Dense<dynamic>{.units = 3}), node<"sum", "a", "input">(Add{})});
}

BOOST_AUTO_TEST_CASE(frozen_nodes_pass_gradients_on_and_graphs_may_be_frozen) {
  check_graph(Graph{Input<5>{}, node<"a">(Dense<4, Tanh>{}), node<"b", "a">(Frozen{Dense<4, Tanh>{}}),
                    node<"sum", "a", "b">(Add{})});
  auto const inner = Graph{Input<4>{}, node<"a">(Dense<4, Tanh>{}), node<"sum", "a", "input">(Add{})};
  check_gradients(Sequential{Dense<4>{}, Frozen{inner.layer<0>()}, Dense<2>{}}, Extents<3>{});
}

BOOST_AUTO_TEST_CASE(a_chain_is_the_sequential_of_its_layers) {
  auto const graph = Graph{Input<5>{}, node<"a">(Dense<4, Tanh>{}), node<"b">(Dense<2>{})};
  static_assert(std::is_same_v<decltype(graph)::Layers, Sequential<Input<5>, Dense<4, Tanh>, Dense<2>>>);
  // Its first layer reads rows where they lie.
  constexpr Graph wide{Input<784>{}, node<"a">(Dense<128, Tanh>{}), node<"b">(Dense<10>{})};
  static_assert(!detail::has_simd ||
                detail::takes_scattered_rows<float, ThreadContext>(wide, wide.input(), 16) ==
                    detail::takes_scattered_rows<float, ThreadContext>(wide.layer<0>(), wide.input(), 16));
  BOOST_TEST((detail::takes_scattered_rows<float, ThreadContext>(wide, wide.input(), 16) || !detail::has_simd));
  check_same_training(graph, Sequential{Input<5>{}, Dense<4, Tanh>{.name = "a"}, Dense<2>{.name = "b"}});
}

BOOST_AUTO_TEST_CASE(a_graph_trains_as_the_combinators_of_it) {
  check_same_training(Graph{Input<5>{}, node<"first">(Dense<4, Tanh>{}), node<"inner", "first">(Dense<4, Tanh>{}),
                            node<"outer">(Dense<4>{}), node<"sum", "first", "outer">(Add{}), node<"drop">(Dropout{}),
                            node<"norm">(BatchNormalization<>{}), node<"out">(Dense<2>{})},
                      Sequential{Input<5>{}, Dense<4, Tanh>{.name = "first"},
                                 Residual{Dense<4, Tanh>{.name = "inner"}, Dense<4>{.name = "outer"}}, Dropout{},
                                 BatchNormalization<>{.name = "norm"}, Dense<2>{.name = "out"}});
  auto const joined = Concatenate{Dense<3, Tanh>{.name = "a"}, Dense<4, ReLU>{.name = "b"}};
  check_same_training(Graph{Input<5>{}, node<"a">(Dense<3, Tanh>{}), node<"b", "input">(Dense<4, ReLU>{}),
                            node<"joined", "a", "b">(Concatenate{}), node<"out">(Dense<2>{})},
                      Sequential{Input<5>{}, joined, Dense<2>{.name = "out"}});
  check_same_training<Mixed<BFloat16>>(
      Graph{Input<5>{}, node<"a">(Dense<3, Tanh>{}), node<"b", "input">(Dense<4, ReLU>{}),
            node<"joined", "a", "b">(Concatenate{}), node<"hidden">(Dense<4>{}), node<"out">(Dense<2>{})},
      Sequential{Input<5>{}, joined, Dense<4>{.name = "hidden"}, Dense<2>{.name = "out"}});
}

BOOST_AUTO_TEST_CASE(nodes_name_layers_and_tables_find_their_vocabularies) {
  OneDeviceStrategy<> const strategy;
  auto const graph = Graph{Inputs{Input<1>{}, Input<1>{}},
                           node<"user">(Select<0>{}),
                           node<"item", "input">(Select<1>{}),
                           node<"users", "user">(Embedding<7, 3>{}),
                           node<"items", "item">(Embedding<9, 3>{}),
                           node<"sum", "users", "items">(Add{}),
                           node<"flat">(Flatten{}),
                           node<"score">(Dense<1>{})};
  auto model = compile<double>(strategy, graph, SGD{.learning_rate = 0.1}, MeanSquaredError{});
  std::vector<std::string> const names{"users/embeddings", "items/embeddings", "score/kernel", "score/bias"};
  BOOST_TEST(model.weight_names() == names, per_element());
  auto const column = [](std::vector<double> const& values) {
    return to_xarray(values.data(), std::vector<std::size_t>{values.size(), 1});
  };
  auto const users = column({0, 6}), items = column({8, 2}), y = column({1, 2});
  fit(strategy, model, data::from_tensor_slices(std::tuple{users, items}, y).batch(GlobalBatch{2}), {.verbose = false});
  auto const outside = column({0, 7});
  BOOST_CHECK_THROW(fit(strategy, model, data::from_tensor_slices(std::tuple{outside, items}, y).batch(GlobalBatch{2}),
                        {.verbose = false}),
                    Error);
}

BOOST_AUTO_TEST_CASE(the_graph_of_the_readme_has_an_output_as_large_as_its_input) {
  auto const graph = readme_graph();
  BOOST_TEST(graph.output(graph.input()).to_vector() == graph.input().to_vector(), per_element());
}

BOOST_AUTO_TEST_CASE(a_graph_of_two_inputs_takes_each_by_select) {
  auto const graph = graph_of_two_inputs();
  check_graph(graph);
  auto const model = compile<double>(OneDeviceStrategy<>(), graph);
  std::vector<std::string> const names{"hidden/kernel", "hidden/bias", "out/kernel", "out/bias"};
  BOOST_TEST(model.weight_names() == names, per_element());
  BOOST_TEST(model.weights("out/kernel").size() == 12u);
}

BOOST_AUTO_TEST_CASE(a_graph_is_cut_where_one_value_goes_on) {
  auto const graph = Graph{Input<5>{},
                           node<"a">(Dense<4, Tanh>{}),
                           node<"b">(Dense<4, Tanh>{}),
                           node<"c", "a">(Dense<4>{}),
                           node<"sum", "b", "c">(Add{}),
                           node<"d">(Dense<4>{}),
                           node<"e", "sum">(Dense<4>{}),
                           node<"joined", "d", "e">(Concatenate{}),
                           node<"out">(Dense<2>{})};
  // a | b, c, sum | d, e, joined | out
  BOOST_TEST(decltype(graph)::layer_count == 4u);
  BOOST_TEST((graph.layer<0>().name == "a"));
  BOOST_TEST(graph.layer<1>().node_count == 3u);
  BOOST_TEST(graph.layer<2>().node_count == 3u);
  BOOST_TEST((graph.layer<2>().node<1>().name == "e"));
  BOOST_TEST((graph.layer<3>().name == "out"));
}

namespace {

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// Nothing if each element ends where it has to, attributes are in quotes and "&" begins an entity; else where it
/// fails.
std::string xml_fault(std::string_view text) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '&') {
      std::string_view const entity = text.substr(at, text.find(';', at) - at);
      if (entity != "&amp" && entity != "&lt" && entity != "&gt" && entity != "&quot") return std::string(entity);
    }
    if (text[at] == '>') return "a bare > at " + std::to_string(at);
    if (text[at] != '<') continue;
    std::size_t const end = text.find('>', at);
    std::string_view const tag = text.substr(at + 1, end - at - 1);
    if (end == text.npos || count_of(tag, "\"") % 2 != 0 || count_of(tag, "<") != 0) return std::string(tag);
    std::string const name(tag.substr(0, tag.find_first_of(" /", 1)));
    if (tag[0] == '/') {
      if (open.empty() || "/" + open.back() != tag) return std::string(tag);
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : open.back();
}

/// Each node as "inputs > name", by the names of what it takes values of.
std::vector<std::string> wires(ModelDescription const& model) {
  auto const name = [&](NodeInfo const& node) {
    return node.kind == NodeInfo::Kind::layer   ? model.layers[node.index].path
           : node.kind == NodeInfo::Kind::input ? "input" + std::to_string(node.index)
                                                : node.class_name;
  };
  std::vector<std::string> all;
  for (NodeInfo const& node : model.nodes) {
    std::string text;
    for (std::size_t const from : node.from) text += name(model.nodes[from]) + ' ';
    all.push_back(text + "> " + name(node));
  }
  return all;
}

/// The picture has a box a node and an arrow a wire, and is XML.
void check_picture(ModelDescription const& model) {
  std::string const svg = model_svg(model);
  std::size_t arrows = 0;
  for (NodeInfo const& node : model.nodes) arrows += node.from.size();
  BOOST_TEST(xml_fault(svg) == "");
  BOOST_TEST(count_of(svg, "<rect ") == model.nodes.size());
  BOOST_TEST(count_of(svg, "<path d=\"") == arrows + 1);  // and the arrow's head
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_description_has_the_wires_between_layers_and_joins) {
  using Names = std::vector<std::string>;
  auto const graph = describe<float>(readme_graph());
  BOOST_TEST(wires(graph) == (Names{"> input0", "input0 > down", "down > bottom/max_pooling2d",
                                    "bottom/max_pooling2d > bottom/conv2d", "bottom/conv2d > up", "up down > joined",
                                    "joined > head"}),
             per_element());
  check_picture(graph);
  BOOST_TEST(model_svg(graph) == test::text_of(TRIREME_TESTS_DIRECTORY "/../docs/model.svg"));

  Shared encoder{Dense<3, Tanh>{}};
  auto const branches = describe<float>(Sequential{
      Inputs{Input<4>{}, Input<4>{}}, Each{Sequential{Dense<4>{}, Residual{Frozen{Dense<4>{}}}, Dense<3>{}}},
      Parallel{Skip{}, encoder}, Select<1, 0>{}, Add{}, Add{Dense<2>{}, Dense<2>{}}, Fork{Dense<1>{}, Dense<5>{}}});
  BOOST_TEST(
      wires(branches) ==
          (Names{"> input0", "> input1", "input0 input1 > sequential/dense", "sequential/dense > sequential/identity",
                 "sequential/dense > sequential/dense_1", "sequential/identity sequential/dense_1 > Add",
                 "Add > sequential/dense_2", "sequential/dense_2 > identity", "sequential/dense_2 > dense",
                 "dense identity > select", "select > add", "add > dense_1", "add > dense_2", "dense_1 dense_2 > Add",
                 "Add > dense_3", "Add > dense_4"}),
      per_element());
  BOOST_TEST(branches.results == (std::vector<std::size_t>{14, 15}), per_element());
  check_picture(branches);
  std::string const svg = model_svg(branches);
  BOOST_TEST(count_of(svg, "20 parameters, frozen<") == 1u);
  BOOST_TEST(count_of(svg, "12 parameters, shared<") == 1u);
  BOOST_TEST(svg == model_svg(branches));
}

BOOST_AUTO_TEST_CASE(names_are_escaped_in_a_picture) {
  auto const model =
      describe<float>(Sequential{Input<2>{}, Dense<2>{.name = "a<b & \"c\" > d\n\xff"}, Dense<dynamic>{.units = 1234}});
  check_picture(model);
  BOOST_TEST(count_of(model_svg(model), ">a&lt;b &amp; &quot;c&quot; &gt; d\\x0a\\xff<") == 1u);
  BOOST_TEST(count_of(model_svg(model), ">3,702 parameters<") == 1u);
}

BOOST_AUTO_TEST_CASE(boxes_of_a_layout_lie_apart_and_no_edge_crosses_one) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    auto const random = test::numbers<double>(400, seed);
    std::size_t next = 0;
    auto const number = [&](std::size_t below) {
      return static_cast<std::size_t>((random[next++ % 400] + 1) / 2.0001 * static_cast<double>(below));
    };
    std::vector<detail::LayeredLayout::Box> boxes(3 + number(20));
    std::vector<detail::LayeredLayout::Edge> edges;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      boxes[i] = {40 + static_cast<double>(number(200)), 20 + static_cast<double>(number(60))};
      for (std::size_t from = i > 0 ? number(i) : 0, k = 0; from < i && k < 3; from += 1 + number(6), ++k)
        edges.push_back({from, i});
    }
    detail::LayeredLayout const layout(boxes, edges);
    auto const meets = [&](std::size_t i, double left, double right, double top, double bottom) {
      auto const& [width, height, corner] = layout.boxes()[i];
      return left < corner.x + width && right > corner.x && top < corner.y + height && bottom > corner.y;
    };
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      auto const& [width, height, corner] = layout.boxes()[i];
      BOOST_TEST((corner.x >= 0 && corner.x + width <= layout.width()));
      BOOST_TEST((corner.y >= 0 && corner.y + height <= layout.height()));
      for (std::size_t j = 0; j < i; ++j)
        BOOST_TEST(!meets(j, corner.x, corner.x + width, corner.y, corner.y + height));
    }
    BOOST_TEST_REQUIRE(layout.edges().size() == edges.size());
    for (auto const& edge : layout.edges()) {
      auto const& from = layout.boxes()[edge.from];
      BOOST_TEST(edge.way.front().y == from.corner.y + from.height);
      BOOST_TEST(edge.way.back().y == layout.boxes()[edge.to].corner.y);
      for (std::size_t k = 0; k + 1 < edge.way.size(); ++k) {
        BOOST_TEST(edge.way[k].y <= edge.way[k + 1].y);
        auto const [left, right] = std::minmax(edge.way[k].x, edge.way[k + 1].x);
        for (std::size_t i = 0; i < boxes.size(); ++i)
          BOOST_TEST(!meets(i, left - 1, right + 1, edge.way[k].y, edge.way[k + 1].y));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(plot_model_writes_the_picture_or_names_the_file) {
  test::Folder const folder;
  auto const model =
      compile<double>(OneDeviceStrategy<>(), Sequential{Input<3>{}, Dense<2>{}}, SGD{}, MeanSquaredError{});
  plot_model(model, folder.file("model.svg"));
  BOOST_TEST(test::text_of(folder.file("model.svg")) == model_svg(model.description()));
  auto const fault = [&](char const* path) { return test::message_of<FileError>([&] { plot_model(model, path); }); };
  BOOST_TEST(fault("/nowhere/model.svg") == "/nowhere/model.svg: cannot be created: No such file or directory");
  BOOST_TEST(fault("model.png") == "model.png: is no name of a picture, which ends in .svg; use model.png.svg");
}
