// Regularizers in braces and in parentheses, as other parts of a layer.
#define BOOST_TEST_MODULE regularizer
#include <boost/test/unit_test.hpp>

#include "trireme/layers/dense.hpp"
#include "trireme/layers/dropout.hpp"
#include "trireme/layers/regularizer.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(braces_and_parentheses_give_the_same_penalties) {
  constexpr Dense<4> braces{.kernel_regularizer = L2{1e-4}, .bias_regularizer = L1{1e-5}};
  constexpr Dense<4> parentheses{.kernel_regularizer = L2(1e-4), .bias_regularizer = L1(1e-5)};
  for (Dense<4> const& layer : {braces, parentheses}) {
    BOOST_TEST(layer.kernel_regularizer.l1 == 0);
    BOOST_TEST(layer.kernel_regularizer.l2 == 1e-4);
    BOOST_TEST(layer.bias_regularizer.l1 == 1e-5);
    BOOST_TEST(layer.bias_regularizer.l2 == 0);
  }
  Regularizer const both = L1L2{1e-5, 1e-4};
  BOOST_TEST(both.l1 == 1e-5);
  BOOST_TEST(both.l2 == 1e-4);
  BOOST_TEST(Regularizer(L1{}).l1 == 0.01);
  BOOST_TEST(Regularizer(L2{}).l2 == 0.01);
}

// A rate of type float would be a warning for each of these.
BOOST_AUTO_TEST_CASE(numbers_of_layers_are_doubles_that_need_no_suffix) {
  constexpr Dropout layer{.rate = 0.1};
  BOOST_TEST(layer.rate == 0.1);
}
