// Names of nested layers: the same in the summary, the picture, weights, files and errors, wherever a model stands.
#define BOOST_TEST_MODULE names
#include "support/kokkos_fixture.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/activations/relu.hpp"
#include "trireme/compile.hpp"
#include "trireme/core/error.hpp"
#include "trireme/io/weights_h5.hpp"
#include "trireme/io/weights_index.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/dropout.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/named.hpp"
#include "trireme/models/plot_model.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/shared.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/mpi/fault/messages.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using boost::test_tools::per_element;

namespace {

using Names = std::vector<std::string>;

/// "path in layers/place" for each layer of a model.
template <class Architecture>
Names layers_of(Architecture const& architecture) {
  Names names;
  for (LayerInfo const& layer : describe<float>(architecture).layers)
    names.push_back(layer.path + " in " + layer.keras_path);
  return names;
}

auto encoder() { return Sequential{Dense<5, ReLU>{}, Dense<3>{.name = "code"}, Dense<3>{}}; }

Names const encoder_below_its_name{"encoder/dense in layers/sequential/layers/dense",
                                   "encoder/code in layers/sequential/layers/dense_1",
                                   "encoder/dense_2 in layers/sequential/layers/dense_2"};

Names with(Names names, Names const& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

template <class A, class B>
bool same(A const& a, std::string const& path, B const& b, std::string const& other) {
  return a.weights(path) == b.weights(other);
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_layers_with_weights_and_one_name_are_refused) {
  BOOST_CHECK_EXCEPTION(describe<float>(Sequential{Input<4>{}, Dense<3>{.name = "a"}, Dense<3>{.name = "a"}}),
                        ValueError, [](ValueError const& error) {
                          return std::string(error.what()) ==
                                 "two layers with weights are named 'a'; give one of them another name";
                        });
  auto const half = named<"half">(Sequential{Dense<3>{}});
  auto const twice = [](auto const& left, auto const& right) {
    return Graph{Input<4>{}, node<"l">(left), node<"r", "input">(right), node<"sum", "l", "r">(Add{})};
  };
  BOOST_CHECK_THROW(describe<float>(twice(half, half)), ValueError);
  BOOST_TEST(layers_of(twice(half, named<"other">(half))).size() == 3u);
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Dropout{.rate = 0.1, .name = "a"}, Dense<3>{.name = "a"}}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_nested_sequential_is_a_folder_with_its_name) {
  BOOST_TEST(layers_of(Sequential{Input<4>{}, named<"encoder">(encoder()), Dense<2>{}}) ==
                 with(encoder_below_its_name, {"dense in layers/dense"}),
             per_element());
  auto model = encoder();
  model.name = "encoder";
  BOOST_TEST(layers_of(Sequential{Input<4>{}, model}) == encoder_below_its_name, per_element());
  BOOST_TEST(
      layers_of(Sequential{Input<4>{}, Sequential{Dense<3>{}}, named<"b">(Sequential{Dense<3>{}})}) ==
          (Names{"sequential/dense in layers/sequential/layers/dense", "b/dense in layers/sequential_1/layers/dense"}),
      per_element());
}

BOOST_AUTO_TEST_CASE(a_name_is_that_of_the_layer_that_frozen_each_and_shared_go_around) {
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Frozen{named<"encoder">(encoder())}}) == encoder_below_its_name,
             per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, named<"encoder">(Frozen{encoder()})}) == encoder_below_its_name,
             per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, named<"encoder">(Shared{encoder()})}) == encoder_below_its_name,
             per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, named<"encoder">(Frozen{Shared{encoder()}})}) == encoder_below_its_name,
             per_element());
  BOOST_TEST(layers_of(Sequential{Inputs{Input<4>{}, Input<4>{}}, named<"encoder">(Each{encoder()})}) ==
                 encoder_below_its_name,
             per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, named<"a">(Frozen{Dense<3>{}}), named<"b">(Dense<3>{.name = "other"})}) ==
                 (Names{"a in layers/dense", "b in layers/dense_1"}),
             per_element());
}

BOOST_AUTO_TEST_CASE(a_node_names_its_layers_wherever_the_graph_is_cut) {
  // A segment of its own, then one of a block.
  BOOST_TEST(layers_of(Graph{Input<4>{}, node<"encoder">(encoder()), node<"head">(Dense<2>{})}) ==
                 with(encoder_below_its_name, {"head in layers/dense"}),
             per_element());
  BOOST_TEST(layers_of(Graph{Input<4>{}, node<"encoder">(encoder()), node<"side", "input">(Dense<3>{}),
                             node<"sum", "side", "encoder">(Add{})}) ==
                 with(encoder_below_its_name, {"side in layers/dense", "sum in layers/add"}),
             per_element());
  for (auto const& names : {layers_of(Graph{Input<4>{}, node<"encoder">(Frozen{encoder()}),
                                            node<"side", "input">(Dense<3>{}), node<"sum", "side", "encoder">(Add{})}),
                            layers_of(Graph{Input<4>{}, node<"encoder">(Shared{encoder()}),
                                            node<"side", "input">(Dense<3>{}), node<"sum", "side", "encoder">(Add{})})})
    BOOST_TEST(names == with(encoder_below_its_name, {"side in layers/dense", "sum in layers/add"}), per_element());
  BOOST_TEST(
      layers_of(Graph{Inputs{Input<4>{}, Input<4>{}}, node<"encoder">(Each{encoder()})}) == encoder_below_its_name,
      per_element());
  // A name that the model has already stays.
  BOOST_TEST(layers_of(Graph{Input<4>{}, node<"other">(named<"encoder">(encoder()))}) == encoder_below_its_name,
             per_element());
}

BOOST_AUTO_TEST_CASE(nodes_of_nested_graphs_lie_below_the_name_of_theirs) {
  auto const block = Graph{Input<4>{}, node<"a">(Dense<4>{}), node<"sum", "a", "input">(Add{})};
  BOOST_TEST(layers_of(Graph{Input<4>{}, node<"a">(block), node<"b", "input">(block), node<"both", "a", "b">(Add{})}) ==
                 (Names{"a/a in layers/functional/layers/dense", "a/sum in layers/functional/layers/add",
                        "b/a in layers/functional_1/layers/dense", "b/sum in layers/functional_1/layers/add",
                        "both in layers/add"}),
             per_element());
  // As branches too: their nodes have names of their own.
  BOOST_TEST(
      layers_of(Sequential{Input<4>{}, Add{block, block}}) ==
          (Names{"functional/a in layers/functional/layers/dense", "functional/sum in layers/functional/layers/add",
                 "functional_1/a in layers/functional_1/layers/dense",
                 "functional_1/sum in layers/functional_1/layers/add"}),
      per_element());
}

BOOST_AUTO_TEST_CASE(branches_are_named_as_if_they_stood_beside_the_combinator_unless_they_have_a_name) {
  // In files the first layer of the longer branch comes first, as in Keras.
  auto const flat = Names{"dense in layers/dense_1", "dense_1 in layers/dense", "dense_2 in layers/dense_2"};
  auto const chain = Sequential{Dense<5>{}, Dense<3>{}};
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Add{Dense<3>{}, chain}}) == flat, per_element());
  // As without Frozen or Shared.
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Add{Dense<3>{}, Frozen{chain}}}) == flat, per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Add{Dense<3>{}, Shared{chain}}}) == flat, per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Add{Dense<3>{}, Frozen{Shared{chain}}}}) == flat, per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Frozen{Add{Dense<3>{}, chain}}}) == flat, per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Add{Dense<3>{}, named<"encoder">(encoder())}}) ==
                 with({"dense in layers/dense"}, encoder_below_its_name),
             per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, Fork{Dense<3>{}, Frozen{named<"encoder">(encoder())}}}) ==
                 with({"dense in layers/dense"}, encoder_below_its_name),
             per_element());
}

BOOST_AUTO_TEST_CASE(a_combinator_with_a_name_is_a_folder_of_names_but_none_of_keras) {
  auto const block = Residual{Dense<4>{}, named<"inner">(Sequential{Dense<4>{}})};
  Names const below{"identity in layers/identity"};
  auto const names = layers_of(Graph{Input<4>{}, node<"one">(block), node<"two">(block), node<"head">(Dense<2>{})});
  BOOST_TEST(names == (Names{"one/identity in layers/identity", "one/dense in layers/dense",
                             "one/inner/dense in layers/sequential/layers/dense", "two/identity in layers/identity_1",
                             "two/dense in layers/dense_1", "two/inner/dense in layers/sequential_1/layers/dense",
                             "head in layers/dense_2"}),
             per_element());
  BOOST_TEST(layers_of(Sequential{Input<4>{}, named<"one">(block)}) ==
                 (Names{"one/identity in layers/identity", "one/dense in layers/dense",
                        "one/inner/dense in layers/sequential/layers/dense"}),
             per_element());
}

namespace {

/// Sequentials in each place, and an LSTM, whose weights have a folder of their own.
auto nested() {
  auto const side = Graph{Input<4>{}, node<"left">(Residual{Dense<4>{}, named<"inner">(Sequential{Dense<4>{}})}),
                          node<"right", "input">(Dense<4>{}), node<"sum", "left", "right">(Add{})};
  return Graph{Input<4>{},
               node<"encoder">(Sequential{Dense<6>{}, named<"deep">(Sequential{Dense<4>{}, Dropout{}})}),
               node<"side", "encoder">(side),
               node<"frozen", "encoder">(Frozen{Sequential{Dense<4>{}}}),
               node<"joined", "side", "frozen">(Concatenate{}),
               node<"series">(Sequential{Reshape<2, 4>{}, LSTM<3>{}}),
               node<"head">(Dense<2>{})};
}

Names const nested_weights{"encoder/dense/kernel",
                           "encoder/dense/bias",
                           "encoder/deep/dense/kernel",
                           "encoder/deep/dense/bias",
                           "side/left/dense/kernel",
                           "side/left/dense/bias",
                           "side/left/inner/dense/kernel",
                           "side/left/inner/dense/bias",
                           "side/right/kernel",
                           "side/right/bias",
                           "frozen/dense/kernel",
                           "frozen/dense/bias",
                           "series/lstm/lstm_cell/kernel",
                           "series/lstm/lstm_cell/recurrent_kernel",
                           "series/lstm/lstm_cell/bias",
                           "head/kernel",
                           "head/bias"};

}  // namespace

BOOST_AUTO_TEST_CASE(names_are_the_same_in_summary_picture_weights_and_files) {
  OneDeviceStrategy<> const strategy;
  auto const model = compile(strategy, nested(), CompileOptions{.seed = 3});
  BOOST_TEST(model.weight_names() == nested_weights, per_element());

  std::string const summary = model.summary(), picture = model_svg(model.description());
  for (LayerInfo const& layer : model.description().layers) {
    BOOST_TEST(summary.find(" " + layer.path + " (") != std::string::npos, layer.path);
    BOOST_TEST(picture.find(">" + layer.path + "<") != std::string::npos, layer.path);
  }

  Names endings{"w.npz"};
#ifdef TRIREME_HAVE_HDF5
  endings.push_back("w.weights.h5");
#endif
  test::Folder const folder;
  for (std::string const& ending : endings) {
    std::string const path = folder.file(ending.c_str());
    model.save_weights(path);
    std::vector<StoredLayer> const stored = weights_index(path);
    Names paths;
    for (StoredLayer const& layer : stored) paths.push_back(layer.path);
    for (std::string const& weight : nested_weights) {
      std::string const layer = weight.substr(0, weight.rfind('/'));
      BOOST_TEST((std::find(paths.begin(), paths.end(), layer) != paths.end()), layer << " in " << ending);
    }

    auto other = compile(strategy, nested(), CompileOptions{.seed = 4});
    BOOST_TEST(!same(other, "side/left/inner/dense/kernel", model, "side/left/inner/dense/kernel"));
    BOOST_TEST(other.load_weights(path, {.by_name = true}).taken == nested_weights, per_element());
    for (std::string const& weight : nested_weights) BOOST_TEST(same(other, weight, model, weight), weight);

    auto part = compile(strategy, Sequential{Input<4>{}, Residual{Dense<4>{}, Dense<4>{.name = "last"}}});
    part.load_weights(path, {.from = "side/left/inner/dense", .into = "last"});
    BOOST_TEST(same(part, "last/kernel", model, "side/left/inner/dense/kernel"));
    part.load_weights(path, {.from = "side/left", .skip_mismatch = true});
    BOOST_TEST(same(part, "dense/kernel", model, "side/left/dense/kernel"));
  }
  auto copy = compile(strategy, Sequential{Input<4>{}, named<"other">(Sequential{Dense<6>{}})});
  copy.copy_weights(model, {.from = "encoder", .into = "other"});
  BOOST_TEST(same(copy, "other/dense/kernel", model, "encoder/dense/kernel"));
}

BOOST_AUTO_TEST_CASE(the_name_of_the_outermost_model_is_part_of_no_path) {
  auto const chain = Sequential{Input<4>{}, Dense<3>{}, named<"inner">(Sequential{Dense<2>{}})};
  Names const layers{"dense in layers/dense", "inner/dense in layers/sequential/layers/dense"};
  BOOST_TEST(layers_of(chain) == layers, per_element());
  BOOST_TEST(layers_of(named<"outer">(chain)) == layers, per_element());
  BOOST_TEST(layers_of(named<"outer">(Graph{Input<4>{}, node<"only">(Dense<3>{})})) == Names{"only in layers/dense"},
             per_element());

  // Files and copies know the layers by the same names, so that the outermost name is free to change.
  OneDeviceStrategy<> const strategy;
  auto const model = compile(strategy, named<"outer">(chain), CompileOptions{.seed = 3});
  auto other = compile(strategy, named<"another">(chain), CompileOptions{.seed = 4});
  auto copy = compile(strategy, chain, CompileOptions{.seed = 5});
  test::Folder const folder;
  std::string const path = folder.file("w.npz");
  model.save_weights(path);
  BOOST_TEST(other.load_weights(path, {.by_name = true}).taken == model.weight_names(), per_element());
  BOOST_TEST(copy.copy_weights(model).taken == model.weight_names(), per_element());
  for (std::string const& weight : model.weight_names()) {
    BOOST_TEST(same(other, weight, model, weight), weight);
    BOOST_TEST(same(copy, weight, model, weight), weight);
  }
  BOOST_CHECK_THROW(other.load_weights(path, {.from = "outer"}), FileError);
}

BOOST_AUTO_TEST_CASE(files_number_layers_by_depth_and_then_by_a_search_from_the_output) {
  // The last input of a join is met last, wherever its node stands.
  auto const joined_to = [](auto const& join) {
    return Graph{Input<4>{}, node<"short">(Dense<4>{}), node<"long_1", "input">(Dense<4>{}), node<"long_2">(Dense<4>{}),
                 join,       node<"head">(Dense<4>{})};
  };
  BOOST_TEST(layers_of(joined_to(node<"sum", "short", "long_2">(Add{}))) ==
                 (Names{"short in layers/dense_1", "long_1 in layers/dense", "long_2 in layers/dense_2",
                        "sum in layers/add", "head in layers/dense_3"}),
             per_element());
  BOOST_TEST(layers_of(joined_to(node<"sum", "long_2", "short">(Add{}))) ==
                 (Names{"short in layers/dense_2", "long_1 in layers/dense", "long_2 in layers/dense_1",
                        "sum in layers/add", "head in layers/dense_3"}),
             per_element());
  // A Skip without a name is no layer of Keras, which would lie deeper; a join of branches is one.
  auto const beside = [](auto const& branch) {
    return layers_of(Sequential{Input<4>{}, Fork{Dense<4>{.name = "a"}, Dense<4>{.name = "b"}},
                                Parallel{branch, Dense<4>{.name = "c"}}, Add{}});
  };
  BOOST_TEST(beside(Skip{}) == (Names{"a in layers/dense_1", "b in layers/dense", "identity in layers/identity",
                                      "c in layers/dense_2", "add in layers/add"}),
             per_element());
  BOOST_TEST(beside(Skip{.name = "x"}) == (Names{"a in layers/dense", "b in layers/dense_1", "x in layers/identity",
                                                 "c in layers/dense_2", "add in layers/add"}),
             per_element());
  BOOST_TEST(
      layers_of(Sequential{
          Input<4>{}, Fork{Sequential{Dense<4>{.name = "a"}, Dense<4>{.name = "c"}}, Residual{Dense<4>{.name = "b"}}},
          Add{}}) == (Names{"a in layers/dense", "c in layers/dense_2", "identity in layers/identity",
                            "b in layers/dense_1", "add in layers/add"}),
      per_element());
}

BOOST_AUTO_TEST_CASE(a_model_within_numbers_its_layers_by_the_order_of_its_outputs_whoever_takes_them) {
  auto const chain = [](auto const& choice) {
    return layers_of(Sequential{Input<4>{},
                                named<"inner">(Sequential{Fork{Dense<4>{.name = "a"}, Dense<4>{.name = "b"}}}), choice,
                                Concatenate{}});
  };
  Names const expected{"inner/a in layers/sequential/layers/dense", "inner/b in layers/sequential/layers/dense_1",
                       "select in layers/select", "concatenate in layers/concatenate"};
  BOOST_TEST(chain(Select<0, 1>{}) == expected, per_element());
  BOOST_TEST(chain(Select<1, 0>{}) == expected, per_element());
}

BOOST_AUTO_TEST_CASE(a_model_is_one_layer_of_that_around_it_however_deep_it_is) {
  auto const deep = Sequential{Dense<4>{}, Dense<4>{}, Dense<4>{}};
  BOOST_TEST(
      layers_of(Graph{Input<4>{}, node<"before">(Dense<4>{}), node<"deep">(deep), node<"a", "input">(Dense<4>{}),
                      node<"b">(Dense<4>{}), node<"c">(Dense<4>{}), node<"sum", "deep", "c">(Add{})}) ==
          (Names{"before in layers/dense_1", "deep/dense in layers/sequential/layers/dense",
                 "deep/dense_1 in layers/sequential/layers/dense_1", "deep/dense_2 in layers/sequential/layers/dense_2",
                 "a in layers/dense", "b in layers/dense_2", "c in layers/dense_3", "sum in layers/add"}),
      per_element());
}

#ifdef TRIREME_HAVE_HDF5
BOOST_AUTO_TEST_CASE(arrays_of_others_in_a_file_of_weights_are_no_reason_to_refuse_it) {
  OneDeviceStrategy<> const strategy;
  test::Folder const folder;
  std::string const path = folder.file("w.weights.h5");
  auto model = compile(strategy, Sequential{Input<4>{}, Dense<4>{}});
  model.save_weights(path);
  auto const expected = model.weights("dense/kernel");
  detail::Hdf5Handle const text(H5Tcopy(H5T_C_S1), H5Tclose), one(H5Screate(H5S_SCALAR), H5Sclose);
  detail::Hdf5Handle const with_groups(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Tset_size(text, 5);
  H5Pset_create_intermediate_group(with_groups, 1);
  for (std::string const& name : {"layers/dense/note", "layers/other/vars/0"}) {
    {
      detail::Hdf5Handle const file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
      detail::Hdf5Handle const note(H5Dcreate2(file, name.c_str(), text, one, with_groups, H5P_DEFAULT, H5P_DEFAULT),
                                    H5Dclose);
      BOOST_REQUIRE(note.valid());
    }
    auto other = compile(strategy, Sequential{Input<4>{}, Dense<4>{}}, CompileOptions{.seed = 2});
    other.load_weights(path);
    BOOST_TEST(other.weights("dense/kernel") == expected, per_element());
  }
}
#endif

BOOST_AUTO_TEST_CASE(a_file_that_has_a_layer_s_weights_elsewhere_is_a_warning) {
  OneDeviceStrategy<> const strategy;
  test::Folder const folder;
  std::string const path = folder.file("w.npz");
  auto const read_by = [&](auto const& reader, LoadOptions const& options = {}) {
    std::FILE* const messages = std::tmpfile();
    {
      detail::MessageScope const scope(messages);
      auto model = compile(strategy, reader);
      model.load_weights(path);
      model.load_weights(path, options);
    }
    std::rewind(messages);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), messages));
    std::fclose(messages);
    return text;
  };
  auto const chain = [](std::string_view first, std::string_view second) {
    return Sequential{Input<4>{}, Dense<4>{.name = first}, Dense<4>{.name = second}};
  };
  compile(strategy, chain("a", "b")).save_weights(path);
  BOOST_TEST(read_by(chain("a", "b")) == "");
  BOOST_TEST(read_by(chain("b", "c"))
                 .find("warning: " + path +
                       ": layer 'c' takes the weights of the file's 'b', which stand at its place; "
                       "{.by_name = true} takes those of its name") != std::string::npos);
  std::string const twice = read_by(chain("b", "a"), {.skip_mismatch = true});
  BOOST_TEST(twice.find("warning", twice.find("warning") + 1) != std::string::npos, twice);
  // Keras numbers layers as they are made.
  compile(strategy, chain("dense_1", "dense")).save_weights(path);
  BOOST_TEST(read_by(chain("", "")) == "");
  // Models of one class.
  auto const nested_in = [](auto const& first, auto const& second) {
    return Sequential{Input<4>{}, named<"outer">(Sequential{first, second})};
  };
  auto const part = Sequential{Dense<4>{}};
  compile(strategy, nested_in(named<"a">(part), named<"b">(part))).save_weights(path);
  BOOST_TEST(read_by(nested_in(part, named<"a">(part))).find("'outer/a/dense'") != std::string::npos);
  BOOST_TEST(read_by(nested_in(part, part)) == "");
}

BOOST_AUTO_TEST_CASE(errors_name_layers_as_the_summary_does) {
  OneDeviceStrategy<> const strategy;
  BOOST_CHECK_EXCEPTION(
      compile(strategy, Graph{Input<4>{}, node<"encoder">(Sequential{Dense<3>{}, Dropout{.rate = 1.5f}}),
                              node<"side", "input">(Dense<3>{}), node<"sum", "side", "encoder">(Add{})}),
      ValueError, [](Error const& error) {
        return std::string(error.what()).find("of layer 'encoder/dropout' is 1.5") != std::string::npos;
      });
}

BOOST_AUTO_TEST_CASE(layers_of_one_class_below_several_names_begin_with_weights_of_their_own) {
  auto const chain = Sequential{Dense<4>{}};
  auto const model = compile(OneDeviceStrategy<>(), Graph{Input<4>{}, node<"a">(chain), node<"b", "input">(chain),
                                                          node<"sum", "a", "b">(Add{})});
  BOOST_TEST(!same(model, "a/dense/kernel", model, "b/dense/kernel"));
}
