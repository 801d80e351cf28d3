#define BOOST_TEST_MODULE layers_sequences
#include <boost/test/unit_test.hpp>

#include <trireme/activations/hard_sigmoid.hpp>
#include <trireme/activations/relu.hpp>
#include <trireme/layers/batch_normalization.hpp>
#include <trireme/layers/dense.hpp>
#include <trireme/layers/dropout.hpp>
#include <trireme/layers/flatten.hpp>
#include <trireme/layers/gru.hpp>
#include <trireme/layers/layer_normalization.hpp>
#include <trireme/layers/lstm.hpp>
#include <trireme/layers/multi_head_attention.hpp>
#include <trireme/layers/select.hpp>
#include <trireme/models/branches.hpp>
#include <trireme/models/description.hpp>
#include <trireme/models/sequential.hpp>
#include <trireme/models/tuples.hpp>

#include "gradient_check.hpp"
#include "support/kokkos_fixture.hpp"

using namespace trireme;
using test::check_gradients;

BOOST_AUTO_TEST_CASE(lstm_with_each_option_has_the_gradient_of_its_forward) {
  check_gradients(LSTM<3>{}, Extents<4, 2>{});
  check_gradients(LSTM<3, ReturnSequences>{}, Extents<4, 2>{});
  check_gradients(LSTM<2, GoBackwards, NoBias>{}, Extents<3, 2>{});
  check_gradients(LSTM<2, ReturnSequences, GoBackwards, RecurrentActivation<Tanh>>{}, Extents<5, 3>{});
  check_gradients(LSTM<2>{}, Extents<1, 3>{});
  check_gradients(LSTM<dynamic, ReturnSequences>{.units = 3}, Extents<dynamic, 2>{{4, 2}});
}

BOOST_AUTO_TEST_CASE(gru_with_each_option_has_the_gradient_of_its_forward) {
  check_gradients(GRU<3>{}, Extents<4, 2>{});
  check_gradients(GRU<3, ReturnSequences>{}, Extents<4, 2>{});
  check_gradients(GRU<3, ResetBefore>{}, Extents<4, 2>{});
  check_gradients(GRU<3, ReturnSequences, ResetBefore>{}, Extents<4, 2>{});
  check_gradients(GRU<2, GoBackwards, NoBias>{}, Extents<3, 2>{});
  check_gradients(GRU<2, ReturnSequences, GoBackwards, ResetBefore, NoBias>{}, Extents<3, 2>{});
  check_gradients(GRU<2, ReturnSequences, GoBackwards, RecurrentActivation<Tanh>>{}, Extents<5, 3>{});
  check_gradients(GRU<2>{}, Extents<1, 3>{});
  check_gradients(GRU<2, ResetBefore>{}, Extents<1, 3>{});
  check_gradients(GRU<dynamic, ReturnSequences>{.units = 3}, Extents<dynamic, 2>{{4, 2}});
}

BOOST_AUTO_TEST_CASE(layer_normalization_with_each_option_has_the_gradient_of_its_forward) {
  check_gradients(LayerNormalization<>{}, Extents<5>{});
  check_gradients(LayerNormalization<>{}, Extents<3, 20>{});
  check_gradients(LayerNormalization<NoScale>{}, Extents<3, 4>{});
  check_gradients(LayerNormalization<NoCenter>{}, Extents<3, 4>{});
  check_gradients(LayerNormalization<NoCenter, NoScale, LastAxes<2>>{}, Extents<3, 4>{});
  check_gradients(LayerNormalization<LastAxes<2>>{}, Extents<2, 3, 4>{});
}

BOOST_AUTO_TEST_CASE(attention_with_each_option_has_the_gradient_of_its_forward) {
  check_gradients(MultiHeadAttention<2, 3>{}, Extents<4, 5>{});
  check_gradients(MultiHeadAttention<2, 3, Causal>{}, Extents<4, 5>{});
  check_gradients(MultiHeadAttention<3, 2, NoBias, ValueDim<4>, OutputDim<3>>{}, Extents<dynamic, 5>{{4, 5}});
  check_gradients(MultiHeadAttention<1, 2, Causal>{}, Extents<1, 3>{});
}

BOOST_AUTO_TEST_CASE(attention_to_another_sequence_has_the_gradient_of_its_forward) {
  check_gradients(MultiHeadAttention<2, 3>{}, Parts<Extents<4, 5>, Extents<3, 2>>{});
  check_gradients(MultiHeadAttention<2, 3, Causal>{}, Parts<Extents<2, 3>, Extents<4, 5>>{});
  check_gradients(MultiHeadAttention<2, 2, NoBias, ValueDim<3>, OutputDim<4>>{},
                  Parts<Extents<3, 4>, Extents<2, 5>, Extents<2, 3>>{});
  check_gradients(MultiHeadAttention<1, 2>{}, Parts<Extents<dynamic, 3>, Extents<dynamic, 2>>{{{{2, 3}}, {{3, 2}}}});
}

/// (target, memory) becomes (target, memory): blocks of it can stand behind one another.
BOOST_AUTO_TEST_CASE(a_block_of_a_decoder_is_a_layer) {
  auto const block = Sequential{
      Parallel{Residual{LayerNormalization<>{}, MultiHeadAttention<2, 2, Causal>{}}, Skip{}},
      Fork{Add{Select<0>{}, Sequential{Parallel{LayerNormalization<>{}, Skip{}}, MultiHeadAttention<2, 3>{}}},
           Select<1>{}},
      Parallel{Residual{LayerNormalization<>{}, Dense<6, Tanh>{}, Dense<4>{}}, Skip{}}};
  check_gradients(Sequential{block, block, Select<0>{}}, Parts<Extents<3, 4>, Extents<2, 5>>{});
}

BOOST_AUTO_TEST_CASE(joined_branches_have_the_gradient_of_their_forward) {
  check_gradients(Add{Dense<4, Tanh>{}, Dense<4>{}}, Extents<3>{});
  check_gradients(Add{Skip{}, Skip{}, Dense<3, Tanh>{}}, Extents<3>{});
  check_gradients(Concatenate{Dense<2, Tanh>{}, Skip{}, Dense<3>{}}, Extents<2, 3>{});
  check_gradients(Residual{Dense<5, Tanh>{}, Dense<3>{}}, Extents<2, 3>{});
  check_gradients(Sequential{Residual{Dense<3, Tanh>{}}, Concatenate{Skip{}, Residual{Dropout{.rate = 0.3f}}}},
                  Extents<3>{});
}

BOOST_AUTO_TEST_CASE(a_transformer_block_is_a_layer) {
  auto const block = Sequential{
      Residual{LayerNormalization<>{}, MultiHeadAttention<2, 2, Causal>{}},
      Residual{LayerNormalization<>{}, Dense<8, Tanh>{}, Dense<4>{}},
  };
  check_gradients(block, Extents<3, 4>{});
}

BOOST_AUTO_TEST_CASE(a_causal_position_does_not_depend_on_later_ones) {
  test::LayerHarness<ThreadContext, MultiHeadAttention<2, 3, Causal>, Extents<5, 4>> harness({}, {}, 1, 7);
  auto const before = harness.forward();
  for (std::size_t i = 3 * 4; i < harness.x.size(); ++i) harness.x[i] += 1;
  auto const after = harness.forward();
  for (std::size_t i = 0; i < 3 * 4; ++i) BOOST_TEST(before[i] == after[i]);
  BOOST_TEST(before[3 * 4] != after[3 * 4]);
}

BOOST_AUTO_TEST_CASE(layers_of_branches_are_named_as_in_a_functional_model) {
  auto const model = Sequential{Input<3>{}, Dense<3>{}, Residual{Dense<3>{}, Dense<3, NoBias>{.name = "inner"}},
                                Concatenate{Skip{}, Sequential{Dense<2>{}}}, Dense<1>{}};
  auto const description = describe<float>(model);
  std::vector<std::string> paths, files;
  for (auto const& parameter : description.parameters) paths.push_back(parameter.path);
  for (auto const& layer : description.layers)
    if (layer.parameters > 0) files.push_back(layer.keras_path);
  BOOST_TEST(
      paths == (std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias", "inner/kernel",
                                         "dense_3/kernel", "dense_3/bias", "dense_4/kernel", "dense_4/bias"}),
      boost::test_tools::per_element());
  BOOST_TEST(files == (std::vector<std::string>{"layers/dense", "layers/dense_1", "layers/dense_2", "layers/dense_3",
                                                "layers/dense_4"}),
             boost::test_tools::per_element());
  BOOST_TEST(description.output.at(0) == 1u);
}

BOOST_AUTO_TEST_CASE(batch_normalization_has_the_gradient_of_its_forward) {
  for (std::size_t rows : {2u, 3u, 5u})  // of one row there is nothing to normalize
    test::LayerHarness<ThreadContext, BatchNormalization<>, Extents<3>>({}, {}, rows, 17).check(1e-5);
  check_gradients(BatchNormalization<NoScale>{}, Extents<3, 4>{}, 1e-5);
  check_gradients(SyncBatchNormalization<NoCenter>{}, Extents<2, 2, 20>{}, 1e-5);
  check_gradients(BatchNormalization<Axis<1>>{}, Extents<3, 4>{}, 1e-5);
  check_gradients(BatchNormalization<Axis<2>, NoScale>{}, Extents<2, 3, 5>{}, 1e-5);
}
