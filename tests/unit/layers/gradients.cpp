#define BOOST_TEST_MODULE layers_gradients
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

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
#include <trireme/layers/up_sampling2d.hpp>
#include <trireme/models/branches.hpp>
#include <trireme/models/each.hpp>
#include <trireme/models/frozen.hpp>
#include <trireme/models/sequential.hpp>
#include <trireme/models/tuples.hpp>

#include "gradient_check.hpp"
#include "support/kokkos_fixture.hpp"

using namespace trireme;
using test::check_gradients;

namespace {

/// y = s x with a state s of each column, which backward reads again.
struct ScaledByState {
  double initial = 1;

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class In>
  constexpr auto states(In const& in) const {
    return std::array{StateShape{"shift", {2}}, StateShape{"scale", {in.size()}, initial, 0.5}};
  }
  template <class Context, class In, class T>
  void forward(Context&, In const& in, Forward<T> const& f) const {
    scale(f.rows, in.size(), f.states[1], f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context&, In const& in, Backward<T> const& b) const {
    if (b.dx) scale(b.rows, in.size(), b.states[1], b.dy, b.dx);
  }

 private:
  template <class T>
  static void scale(std::size_t rows, std::size_t columns, T const* factors, T const* x, T* y) {
    for (std::size_t i = 0; i < rows * columns; ++i) y[i] = factors[i % columns] * x[i];
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(backward_reads_the_states_that_forward_read_wherever_the_layer_stands) {
  check_gradients(ScaledByState{}, Extents<3>{});
  check_gradients(Sequential{Dense<4, Tanh>{}, ScaledByState{}, Dense<3>{}, ScaledByState{}}, Extents<5>{});
  check_gradients(Residual{ScaledByState{}, Dense<5, Tanh>{}, ScaledByState{}}, Extents<5>{});
  check_gradients(Sequential{Fork{ScaledByState{}, Sequential{Dense<5>{}, ScaledByState{}}}, Add{}}, Extents<5>{});
  check_gradients(Sequential{Dense<3>{}, Frozen{Sequential{Dense<4>{}, ScaledByState{}}}, ScaledByState{}},
                  Extents<5>{});
  check_gradients(Each{Sequential{Dense<3>{}, ScaledByState{}}}, Parts<Extents<2>, Extents<2>>{});
}

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
  check_gradients(Conv2D<17, 3, 3, Same>{}, Extents<7, 8, 16>{});  // by Winograd's transforms
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

BOOST_AUTO_TEST_CASE(up_sampling_has_the_gradient_of_its_forward) {
  check_gradients(UpSampling2D<2, 2>{}, Extents<3, 4, 3>{});
  check_gradients(UpSampling2D<1, 3>{}, Extents<3, 2, 2>{});
  check_gradients(UpSampling2D<5, 1>{}, Extents<1, 4, 1>{});
  check_gradients(UpSampling2D<2, 3>{}, Extents<dynamic, 2, dynamic>{{3, 2, 5}});
  check_gradients(UpSampling2D<2, 2, Bilinear>{}, Extents<3, 4, 3>{});
  check_gradients(UpSampling2D<3, 4, Bilinear>{}, Extents<2, 3, 2>{});
  check_gradients(UpSampling2D<1, 3, Bilinear>{}, Extents<3, 4, 2>{});
  check_gradients(UpSampling2D<5, 1, Bilinear>{}, Extents<2, 3, 1>{});
  check_gradients(UpSampling2D<2, 3, Bilinear>{}, Extents<1, 1, 2>{});
  check_gradients(UpSampling2D<4, 2, Bilinear>{}, Extents<dynamic, dynamic, 9>{{2, 3, 9}});
}

namespace {

/// One channel of one image under a layer.
template <class L, std::size_t H, std::size_t W>
std::vector<double> image_of(L const& layer, Extents<H, W, 1> const& in, std::vector<double> const& image) {
  test::LayerHarness<ThreadContext, L, Extents<H, W, 1>> harness(layer, in, 1, 17);
  harness.x = image;
  return harness.forward();
}

}  // namespace

BOOST_AUTO_TEST_CASE(up_sampling_repeats_pixels_or_interpolates_between_their_centres) {
  auto const none = std::numeric_limits<double>::quiet_NaN();
  auto const nearest = image_of(UpSampling2D<2, 3>{}, Extents<2, 2, 1>{}, {1, 2, 3, 4});
  BOOST_TEST(nearest == (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2,  //
                                             3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}),
             boost::test_tools::per_element());
  // Outputs lie at -1/4, 1/4, 3/4, 5/4 of the inputs; those outside have the value of the edge.
  auto const even = image_of(UpSampling2D<1, 2, Bilinear>{}, Extents<1, 2, 1>{}, {4, 8});
  BOOST_TEST(even == (std::vector<double>{4, 5, 7, 8}), boost::test_tools::per_element());
  // At -1/3, 0, 1/3, 2/3, 1, 4/3: the centres are the inputs themselves, whatever is beside them.
  auto const odd = image_of(UpSampling2D<3, 1, Bilinear>{}, Extents<3, 1, 1>{}, {3, 9, none});
  BOOST_TEST(odd[0] == 3);
  BOOST_TEST(odd[1] == 3);
  BOOST_TEST(odd[2] == 5, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(odd[3] == 7, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(odd[4] == 9);
  BOOST_TEST(std::isnan(odd[5]));
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
