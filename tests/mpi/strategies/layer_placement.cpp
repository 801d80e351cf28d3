// ranks: 1 2 3 4
// The stage or the ranks of each layer in summary() and plot_model, under strategies that do not place all layers
// alike.
#define BOOST_TEST_MODULE layer_placement
#include "support/kokkos_fixture.hpp"
#include "unit/io/folder.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/activations/relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/compile.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/dropout.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/layers/up_sampling2d.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/plot_model.hpp"
#include "trireme/models/weight_table.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"
#include "trireme/tensor/arena.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Texts = std::vector<std::string>;
Communicator const& world() { return test::environment().world(); }

/// A model of layers with and without parameters, with states, a nested model and a frozen layer.
template <class Strategy>
auto compiled(Strategy const& strategy) {
  return compile(strategy,
                 Sequential{Input<12, 12, 1>{}, Conv2D<8, 3, 3, ReLU, Same>{}, MaxPooling2D<2, 2>{},
                            Sequential{Conv2D<16, 3, 3, Same, NoBias>{}, BatchNormalization<>{}, ReLU{}}, Flatten{},
                            Dropout{.rate = 0.25f}, Frozen{Dense<32, ReLU>{}}, Dense<10>{}},
                 Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
}

/// The first lines of a summary, without the sums.
template <class Model>
std::string table(Model const& model) {
  std::string const text = model.summary();
  return text.substr(0, text.find("Total params"));
}

template <class Model>
Texts places(Model const& model) {
  return detail::layer_placement_of(model.engine()).layers;
}

/// Elements of all weights, padding included, of the layers that have this place.
std::size_t elements_at(ModelDescription const& model, Texts const& places, std::string const& place) {
  std::size_t elements = 0;
  for_each_weight(model, [&](WeightInfo const& weight) {
    if (places[weight.layer] == place) elements += aligned_bytes(weight.size * sizeof(float)) / sizeof(float);
  });
  return elements;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_as_text_are_a_range_or_a_list) {
  using detail::rank_text;
  BOOST_TEST(rank_text({}) == "");
  BOOST_TEST(rank_text({5}) == "rank 5");
  BOOST_TEST(rank_text({0, 1}) == "ranks 0, 1");
  BOOST_TEST(rank_text({2, 3, 4}) == "ranks 2-4");
  BOOST_TEST(rank_text({0, 2, 3, 4}) == "ranks 0, 2, 3, 4");
  BOOST_TEST(rank_text({0, 4, 8, 12, 16}) == "ranks 0, 4, 8, ..., 16");
}

BOOST_AUTO_TEST_CASE(a_pipeline_shows_the_stage_of_each_layer) {
  auto const model = compiled(PipelineStrategy<Space>(world()));
  if (world().size() == 1) {
    BOOST_TEST(places(model).empty());
    return;
  }
  if (world().size() == 2)
    BOOST_TEST(
        table(model) ==
        "--------------------------------------------------------------------------------------------------------------"
        "------\n"
        " Layer (type)                                  Output shape       Param #     Bytes  Operations  Stage       "
        "Notes\n"
        "--------------------------------------------------------------------------------------------------------------"
        "------\n"
        " conv2d (Conv2D)                               (None, 12, 12, 8)       80     320 B      21.9 k  0 (rank 0)\n"
        " max_pooling2d (MaxPooling2D)                  (None, 6, 6, 8)          0       0 B         288  0 (rank 0)\n"
        " sequential/conv2d (Conv2D)                    (None, 6, 6, 16)     1,152   4.50 KB      83.5 k  0 (rank 0)\n"
        " .../batch_normalization (BatchNormalization)  (None, 6, 6, 16)        64     256 B      2.88 k  0 (rank 0)\n"
        " sequential/activation (Activation)            (None, 6, 6, 16)         0       0 B         576  0 (rank 0)\n"
        " flatten (Flatten)                             (None, 576)              0       0 B           0  0 (rank 0)\n"
        " dropout (Dropout)                             (None, 576)              0       0 B         576  0 (rank 0)\n"
        " dense (Dense)                                 (None, 32)          18,464  72.12 KB      37.0 k  1 (rank 1)  "
        "frozen\n"
        " dense_1 (Dense)                               (None, 10)             330   1.29 KB         670  1 (rank 1)\n"
        "--------------------------------------------------------------------------------------------------------------"
        "------\n");
  if (world().size() == 3)
    BOOST_TEST(
        table(model) ==
        "--------------------------------------------------------------------------------------------------------------"
        "------\n"
        " Layer (type)                                  Output shape       Param #     Bytes  Operations  Stage       "
        "Notes\n"
        "--------------------------------------------------------------------------------------------------------------"
        "------\n"
        " conv2d (Conv2D)                               (None, 12, 12, 8)       80     320 B      21.9 k  0 (rank 0)\n"
        " max_pooling2d (MaxPooling2D)                  (None, 6, 6, 8)          0       0 B         288  0 (rank 0)\n"
        " sequential/conv2d (Conv2D)                    (None, 6, 6, 16)     1,152   4.50 KB      83.5 k  1 (rank 1)\n"
        " .../batch_normalization (BatchNormalization)  (None, 6, 6, 16)        64     256 B      2.88 k  1 (rank 1)\n"
        " sequential/activation (Activation)            (None, 6, 6, 16)         0       0 B         576  1 (rank 1)\n"
        " flatten (Flatten)                             (None, 576)              0       0 B           0  1 (rank 1)\n"
        " dropout (Dropout)                             (None, 576)              0       0 B         576  1 (rank 1)\n"
        " dense (Dense)                                 (None, 32)          18,464  72.12 KB      37.0 k  2 (rank 2)  "
        "frozen\n"
        " dense_1 (Dense)                               (None, 10)             330   1.29 KB         670  2 (rank 2)\n"
        "--------------------------------------------------------------------------------------------------------------"
        "------\n");
  std::size_t const rank = world().rank();
  BOOST_TEST(model.engine().weights().snapshot().extent(0) ==
             elements_at(model.description(), places(model), formatted("{0} (rank {0})", rank)));
}

BOOST_AUTO_TEST_CASE(pipelines_side_by_side_show_all_ranks_of_a_stage) {
  if (world().size() % 2 != 0) return;
  auto const model = compiled(PipelineStrategy<Space, 3>(world()));
  std::string const first = world().size() == 2 ? "0 (rank 0)" : "0 (ranks 0, 2)";
  std::string const second = world().size() == 2 ? "1 (rank 1)" : "1 (ranks 1, 3)";
  BOOST_TEST(places(model) == (Texts{first, first, first, first, first, second, second, second, second}),
             boost::test_tools::per_element());
  BOOST_TEST(model.engine().weights().snapshot().extent(0) ==
             elements_at(model.description(), places(model), world().rank() % 2 == 0 ? first : second));
}

/// The U-Net of the README, whose picture on two ranks is docs/stages.svg.
BOOST_AUTO_TEST_CASE(the_picture_has_a_stage_in_each_box_and_a_band_in_its_colour) {
  if (world().size() != 2) return;
  auto const model = compile(PipelineStrategy<Space>(world()),
                             Graph{Input<64, 64, 1>{}, node<"down">(Conv2D<8, 3, 3, ReLU, Same>{}),
                                   node<"bottom">(Sequential{MaxPooling2D<2, 2>{}, Conv2D<16, 3, 3, ReLU, Same>{}}),
                                   node<"up">(UpSampling2D<2, 2>{}), node<"joined", "up", "down">(Concatenate{}),
                                   node<"head">(Conv2D<1, 1, 1, Sigmoid>{})},
                             Adam{}, BinaryCrossentropy{});
  test::Folder const folder;
  plot_model(model, folder.file("model.svg"));
  if (!world().is_chief()) return;
  std::string const picture = test::text_of(folder.file("model.svg"));
  BOOST_TEST(picture == test::text_of(TRIREME_TESTS_DIRECTORY "/../docs/stages.svg"));
}

BOOST_AUTO_TEST_CASE(shards_of_stages_1_and_2_show_the_ranks_that_update_a_layer) {
  auto const first = compiled(ShardedStrategy<Space, 1>(world()));
  auto const second = compiled(ShardedStrategy<Space, 2>(world()));
  BOOST_TEST(places(first) == places(second), boost::test_tools::per_element());
  if (world().size() == 1) BOOST_TEST(places(first).empty());
  if (world().size() == 2)
    BOOST_TEST(
        table(first) ==
        "--------------------------------------------------------------------------------------------------------------"
        "------\n"
        " Layer (type)                                  Output shape       Param #     Bytes  Operations  Updated by  "
        "Notes\n"
        "--------------------------------------------------------------------------------------------------------------"
        "------\n"
        " conv2d (Conv2D)                               (None, 12, 12, 8)       80     320 B      21.9 k  rank 0\n"
        " max_pooling2d (MaxPooling2D)                  (None, 6, 6, 8)          0       0 B         288\n"
        " sequential/conv2d (Conv2D)                    (None, 6, 6, 16)     1,152   4.50 KB      83.5 k  ranks 0, 1\n"
        " .../batch_normalization (BatchNormalization)  (None, 6, 6, 16)        64     256 B      2.88 k  rank 1\n"
        " sequential/activation (Activation)            (None, 6, 6, 16)         0       0 B         576\n"
        " flatten (Flatten)                             (None, 576)              0       0 B           0\n"
        " dropout (Dropout)                             (None, 576)              0       0 B         576\n"
        " dense (Dense)                                 (None, 32)          18,464  72.12 KB      37.0 k              "
        "frozen\n"
        " dense_1 (Dense)                               (None, 10)             330   1.29 KB         670  rank 1\n"
        "--------------------------------------------------------------------------------------------------------------"
        "------\n");
}

BOOST_AUTO_TEST_CASE(shards_of_stage_3_show_the_ranks_that_hold_a_layer) {
  auto const model = compiled(ShardedStrategy<Space, 3>(world()));
  if (world().size() == 1) BOOST_TEST(places(model).empty());
  if (world().size() != 3) return;
  std::string const all = "ranks 0-2";
  BOOST_TEST(places(model) == (Texts{all, "", all, all, "", "", "", all, all}), boost::test_tools::per_element());
  BOOST_TEST(table(model).find("  Operations  Held by    Notes\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(servers_show_which_of_them_hold_a_layer) {
  if (world().size() < 3) return;
  auto const model = compiled(ParameterServerStrategy<Space>(world(), {.servers = 2}));
  std::size_t const server = world().size() - 2;
  std::string const first = formatted("rank {}", server), second = formatted("rank {}", server + 1);
  std::string const both = formatted("ranks {}, {}", server, server + 1);
  BOOST_TEST(places(model) == (Texts{first, "", both, second, "", "", "", "", second}),
             boost::test_tools::per_element());
  BOOST_TEST(table(model).find("  Operations  Served by   Notes\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(strategies_that_place_all_layers_alike_have_no_such_column) {
  BOOST_TEST(
      table(compiled(MultiWorkerMirroredStrategy<Space>(world()))) ==
      "--------------------------------------------------------------------------------------------------------\n"
      " Layer (type)                                  Output shape       Param #     Bytes  Operations  Notes\n"
      "--------------------------------------------------------------------------------------------------------\n"
      " conv2d (Conv2D)                               (None, 12, 12, 8)       80     320 B      21.9 k\n"
      " max_pooling2d (MaxPooling2D)                  (None, 6, 6, 8)          0       0 B         288\n"
      " sequential/conv2d (Conv2D)                    (None, 6, 6, 16)     1,152   4.50 KB      83.5 k\n"
      " .../batch_normalization (BatchNormalization)  (None, 6, 6, 16)        64     256 B      2.88 k\n"
      " sequential/activation (Activation)            (None, 6, 6, 16)         0       0 B         576\n"
      " flatten (Flatten)                             (None, 576)              0       0 B           0\n"
      " dropout (Dropout)                             (None, 576)              0       0 B         576\n"
      " dense (Dense)                                 (None, 32)          18,464  72.12 KB      37.0 k  frozen\n"
      " dense_1 (Dense)                               (None, 10)             330   1.29 KB         670\n"
      "--------------------------------------------------------------------------------------------------------\n");
}
