#define BOOST_TEST_MODULE layers_gradients
#include <boost/test/unit_test.hpp>

#include <trireme/activations/elu.hpp>
#include <trireme/activations/gelu.hpp>
#include <trireme/activations/leaky_relu.hpp>
#include <trireme/activations/relu.hpp>
#include <trireme/activations/sigmoid.hpp>
#include <trireme/activations/silu.hpp>
#include <trireme/activations/softmax.hpp>
#include <trireme/activations/softplus.hpp>
#include <trireme/activations/tanh.hpp>
#include <trireme/layers/conv2d.hpp>
#include <trireme/layers/dense.hpp>
#include <trireme/layers/dropout.hpp>
#include <trireme/layers/flatten.hpp>
#include <trireme/layers/pooling2d.hpp>
#include <trireme/models/sequential.hpp>

#include "gradient_check.hpp"
#include "support/kokkos_fixture.hpp"

using namespace trireme;
using test::check_gradients;

BOOST_AUTO_TEST_CASE(dense_with_each_activation_has_the_gradient_of_its_forward) {
  Extents<5> const in;
  check_gradients(Dense<4>{}, in);
  check_gradients(Dense<4, NoBias>{}, in);
  check_gradients(Dense<4, ReLU>{}, in);
  check_gradients(Dense<4, LeakyReLU>{}, in);
  check_gradients(Dense<4, Sigmoid>{}, in);
  check_gradients(Dense<4, Tanh>{}, in);
  check_gradients(Dense<4, Softmax>{}, in);
  check_gradients(Dense<4, GELU>{}, in);
  check_gradients(Dense<4, ELU>{}, in);
  check_gradients(Dense<4, SiLU, NoBias>{}, in);
  check_gradients(Dense<4, Softplus>{}, in);
}

BOOST_AUTO_TEST_CASE(dense_works_along_the_last_axis_and_with_dynamic_extents) {
  check_gradients(Dense<3, Tanh>{}, Extents<2, 5>{});
  check_gradients(Dense<dynamic, Tanh>{.units = 3}, Extents<5>{});
  check_gradients(Dense<3, GELU>{}, Extents<dynamic>{{7}});
}

BOOST_AUTO_TEST_CASE(conv2d_with_each_option_has_the_gradient_of_its_forward) {
  check_gradients(Conv2D<3, 3, 3>{}, Extents<5, 6, 2>{});
  check_gradients(Conv2D<3, 2, 3, ReLU>{}, Extents<5, 6, 1>{});
  check_gradients(Conv2D<2, 3, 3, Same, Tanh>{}, Extents<5, 4, 2>{});
  check_gradients(Conv2D<2, 2, 2, Same, NoBias>{}, Extents<5, 4, 2>{});
  check_gradients(Conv2D<2, 3, 2, Strides<2, 3>>{}, Extents<7, 8, 2>{});
  check_gradients(Conv2D<2, 3, 3, Strides<2, 2>, Same, GELU>{}, Extents<6, 7, 2>{});
  check_gradients(Conv2D<2, 2, 3, Dilation<2, 2>>{}, Extents<6, 7, 2>{});
  check_gradients(Conv2D<2, 3, 3, Dilation<2, 1>, Same>{}, Extents<6, 5, 2>{});
  check_gradients(Conv2D<3, 1, 1, Sigmoid>{}, Extents<4, 3, 2>{});
  check_gradients(Conv2D<3, 1, 1, Strides<2, 2>>{}, Extents<4, 3, 2>{});
  check_gradients(Conv2D<dynamic, 2, 2>{.filters = 3}, Extents<dynamic, 4, 2>{{5, 4, 2}});
}

BOOST_AUTO_TEST_CASE(pooling_has_the_gradient_of_its_forward) {
  check_gradients(MaxPooling2D<2, 2>{}, Extents<5, 6, 3>{});
  check_gradients(MaxPooling2D<3, 2, Strides<1, 2>>{}, Extents<5, 6, 2>{});
  check_gradients(MaxPooling2D<2, 3, Same>{}, Extents<5, 4, 2>{});
  check_gradients(AveragePooling2D<2, 2>{}, Extents<5, 6, 3>{});
  check_gradients(AveragePooling2D<3, 3, Strides<2, 1>, Same>{}, Extents<5, 4, 2>{});
  check_gradients(GlobalAveragePooling2D{}, Extents<3, 4, 5>{});
}

BOOST_AUTO_TEST_CASE(activations_as_layers_and_dropout_have_the_gradient_of_their_forward) {
  check_gradients(Activation<Softmax>{}, Extents<2, 5>{});
  check_gradients(Activation<ELU>{}, Extents<3, 4>{});
  check_gradients(Dropout{.rate = 0.4f}, Extents<3, 7>{});
}

BOOST_AUTO_TEST_CASE(a_model_has_the_gradient_of_its_forward_wherever_layers_only_rename_their_input) {
  check_gradients(Sequential{Dense<4, Tanh>{}, Dropout{.rate = 0.3f}, Dense<3>{}}, Extents<5>{});
  check_gradients(Sequential{Flatten{}, Dense<4, Tanh>{}}, Extents<2, 3>{});
  check_gradients(Sequential{Dense<6, Tanh>{}, Reshape<2, 3>{}}, Extents<5>{});
  check_gradients(Sequential{Flatten{}, Reshape<3, 2>{}}, Extents<6>{});
  check_gradients(Sequential{Conv2D<2, 2, 2, Tanh>{}, MaxPooling2D<2, 2>{}, Flatten{}, Dense<3>{}, Softmax{}},
                  Extents<5, 5, 1>{});
  check_gradients(Sequential{Sequential{Dense<4, Tanh>{}, Dense<5>{}}, Sequential{ELU{}, Dense<2>{}}}, Extents<3>{});
}
