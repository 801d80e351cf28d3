// Operation counts of layers, worked out by hand, and cuts of models that follow from them.
#define BOOST_TEST_MODULE models_flops
#include <boost/test/unit_test.hpp>

#include <cstddef>

#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/layers/gru.hpp"
#include "trireme/layers/input.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/flops.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/tensor/parts.hpp"

using namespace trireme;
using detail::layer_flops;

namespace {

/// Operations of each layer of a Sequential.
template <class Architecture>
constexpr auto costs_of(Architecture const& architecture) {
  return slice_flops(Slices<float, Architecture>(architecture));
}

/// Index of the first layer of the second of two stages.
template <class Architecture>
constexpr std::size_t cut_of(Architecture const& architecture) {
  return balanced_cuts(costs_of(architecture), 2)[1];
}

}  // namespace

BOOST_AUTO_TEST_CASE(dense_multiplies_and_adds_each_weight_at_each_position) {
  // 20 weights and 4 biases, each multiplied and added; 4 outputs.
  static_assert(layer_flops(Dense<4>{}, Extents<5>{}) == 2 * 24 + 4);
  static_assert(layer_flops(Dense<4>{}, Extents<3, 5>{}) == 3 * (2 * 24 + 4));
  static_assert(layer_flops(Flatten{}, Extents<3, 5>{}) == 0);
  // 4 x 5 x 8 outputs, each of 3 x 3 x 2 products.
  static_assert(layer_flops(Conv2D<8, 3, 3>{}, Extents<6, 7, 2>{}) == 160 * (2 * 18 + 1));
  BOOST_TEST(layer_flops(Dense<dynamic>{.units = 4}, Extents<dynamic>{{5}}) == 52u);
}

BOOST_AUTO_TEST_CASE(embedding_copies_a_row_for_each_index_whatever_its_vocabulary) {
  static_assert(layer_flops(Embedding<10, 16>{}, Extents<7>{}) == 7 * 16);
  static_assert(layer_flops(Embedding<1'000'000, 16>{}, Extents<7>{}) == 7 * 16);
  static_assert(layer_flops(Embedding<10, 3>{}, Extents<2, 4>{}) == 8 * 3);
  Embedding<dynamic, dynamic> const embedding{.vocabulary = 10, .dim = 16};
  BOOST_TEST(layer_flops(embedding, Extents<dynamic>{{7}}) == 112u);
}

BOOST_AUTO_TEST_CASE(attention_counts_projections_scores_softmax_and_weighted_sums) {
  // 5 positions of 6 features, 2 heads of 3.
  // Query, key and value: 5 x 6 outputs of 6 products and a bias, 13 each:   3 x 390 = 1170
  // Scores: 2 x 5 x 5 of 3 products:                                         50 x  6 =  300
  // Softmax: maximum, difference, scale, exp, sum, share:                    50 x  6 =  300
  // Weighted sums: 5 x 6 outputs of 5 products:                              30 x 10 =  300
  // Output: 5 x 6 outputs of 6 products and a bias:                          30 x 13 =  390
  static_assert(layer_flops(MultiHeadAttention<2, 3>{}, Extents<5, 6>{}) == 1170 + 300 + 300 + 300 + 390);
  static_assert(layer_flops(MultiHeadAttention<2, 3, Causal>{}, Extents<5, 6>{}) == 2460);
  // Values of 4 and outputs of 7 features: value 5 x 8 x 13, sums 5 x 8 x 10, output 5 x 7 x (16 + 1).
  static_assert(layer_flops(MultiHeadAttention<2, 3, ValueDim<4>, OutputDim<7>>{}, Extents<5, 6>{}) ==
                2 * 390 + 520 + 300 + 300 + 400 + 595);
  // 4 queries of 6 features, 7 values of 5: query 4 x 6 x 13, key and value 7 x 6 x 11 each, 2 x 4 x 7 scores of 6 and
  // 6 operations, sums 4 x 6 x 14, output 4 x 6 x 13.
  static_assert(layer_flops(MultiHeadAttention<2, 3>{}, Parts<Extents<4, 6>, Extents<7, 5>>{}) ==
                312 + 2 * 462 + 56 * 12 + 336 + 312);
  BOOST_TEST(layer_flops(MultiHeadAttention<2, 3>{}, Extents<dynamic, 6>{{5, 6}}) == 2460u);
  // Twice the positions: twice the projections, four times the rest.
  static_assert(layer_flops(MultiHeadAttention<2, 3>{}, Extents<10, 6>{}) == 2 * (1170 + 390) + 4 * 900);
}

BOOST_AUTO_TEST_CASE(recurrent_layers_count_both_products_and_the_gates_of_all_steps) {
  // 4 steps of 2 features, 3 units. LSTM: a step has 12 gates of 2 and 3 products, 12 x 10 = 120, with bias and
  // activation 24; forget * cell + in * candidate 9, out * tanh(cell) 6.
  static_assert(layer_flops(LSTM<3>{}, Extents<4, 2>{}) == 4 * (120 + 24 + 9 + 6));
  static_assert(layer_flops(LSTM<3, ReturnSequences, GoBackwards>{}, Extents<4, 2>{}) == 636);
  // GRU: 9 gates of 2 and 3 products, 90; two of three gates add two products and two biases and have an activation,
  // 2 x 3 x 4 = 24; the candidate's two biases, reset * product, sum and activation 15; update * state +
  // (1 - update) * candidate 12.
  static_assert(layer_flops(GRU<3>{}, Extents<4, 2>{}) == 4 * (90 + 24 + 15 + 12));
  // Reset before the product: three gates of one bias and an activation 18, reset * state 3.
  static_assert(layer_flops(GRU<3, ResetBefore, ReturnSequences>{}, Extents<4, 2>{}) == 4 * (90 + 18 + 3 + 12));
  BOOST_TEST(layer_flops(LSTM<dynamic>{.units = 3}, Extents<dynamic, dynamic>{{4, 2}}) == 636u);
  BOOST_TEST(layer_flops(GRU<dynamic>{.units = 3}, Extents<dynamic, dynamic>{{4, 2}}) == 564u);
}

BOOST_AUTO_TEST_CASE(a_model_has_the_operations_of_its_layers) {
  static_assert(layer_flops(Sequential{Dense<4>{}, Sequential{Dense<2>{}}}, Extents<5>{}) == 52 + 2 * 10 + 2);
  // Once a part, of 5 features each or over 3 positions of them.
  static_assert(layer_flops(Each{Dense<4>{}}, Parts<Extents<5>, Extents<5>>{}) == 2 * 52);
  static_assert(layer_flops(Each{Dense<4>{}}, Parts<Extents<5>, Extents<3, 5>>{}) == 52 + 3 * 48 + 12);
}

BOOST_AUTO_TEST_CASE(a_large_table_takes_no_stage_of_its_own) {
  constexpr Sequential recurrent{Input<8>{}, Embedding<1000, 16>{}, LSTM<16>{}, Dense<10>{}};
  constexpr auto costs = costs_of(recurrent);
  static_assert(costs[0] == 8 * 16);
  static_assert(costs[1] == 8 * 16 * (8 * 32 + 13));
  static_assert(costs[2] == 2 * 170 + 10);
  BOOST_TEST(cut_of(recurrent) == 2u);
  // The products of 256 x 256 scores outweigh two dense layers with more weights than the attention.
  constexpr Sequential attentive{Input<256, 8>{}, MultiHeadAttention<1, 8>{}, Dense<16>{}, Dense<32>{}};
  BOOST_TEST(cut_of(attentive) == 1u);
}
