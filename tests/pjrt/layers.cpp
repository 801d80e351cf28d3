// Layers without states under PjrtStrategy against OneDeviceStrategy, with every option that changes their formula.
#define BOOST_TEST_MODULE pjrt_layers
#include "support/kokkos_fixture.hpp"

#include <cmath>
#include <cstddef>

#include "pjrt/training.hpp"
#include "trireme/trireme.hpp"

using namespace trireme;

namespace {

/// Trains under one device and as a program on 3 replicas; in double, where only rounding differs.
template <class Input, class... Layers>
void check(xt::xarray<double> const& x, Input const& input, Layers const&... layers) {
  auto const y = test::make_samples<double>(x.shape(0), {2}, 2, 7).x;
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{8});  // the last batch has 5 rows
  auto const make = [&](auto const& strategy) {
    return compile<double>(strategy, Sequential{input, layers..., Flatten{}, Dense<2>{}},
                           SGD{.learning_rate = 0.05, .momentum = 0.5}, MeanSquaredError{}, CompileOptions{.seed = 3});
  };
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 3);
  test::check_same_run(test::run(test::pjrt_strategy(3), make, data, data, 3), reference, 1e-12);
}

auto images() { return test::make_samples<double>(21, {6, 5, 2}, 2, 3).x; }
auto sequences(std::size_t time) { return test::make_samples<double>(21, {time, 3}, 2, 3).x; }

}  // namespace

BOOST_AUTO_TEST_CASE(average_pooling_and_up_sampling) {
  Input<6, 5, 2> const input;
  check(images(), input, Conv2D<3, 3, 3, Same>{}, AveragePooling2D<2, 2>{}, UpSampling2D<2, 3>{},
        AveragePooling2D<3, 2, Same, Strides<2, 1>>{}, GlobalAveragePooling2D{});
  check(images(), input, Conv2D<3, 3, 3>{}, UpSampling2D<2, 3, Bilinear>{}, AveragePooling2D<2, 3, Strides<3, 2>>{},
        UpSampling2D<3, 2, Bilinear>{}, Conv2D<2, 2, 2, Tanh>{});
}

BOOST_AUTO_TEST_CASE(noise_has_the_same_bits_and_layer_normalization_its_options) {
  check(images(), Input<6, 5, 2>{}, LayerNormalization<LastAxes<2>>{}, GaussianNoise{.stddev = 0.3}, Conv2D<3, 2, 2>{},
        LayerNormalization<NoScale>{}, Dropout{.rate = 0.2f}, Tanh{}, GaussianNoise{.stddev = 0.1},
        LayerNormalization<NoCenter>{.epsilon = 1e-2});
}

BOOST_AUTO_TEST_CASE(embedding_and_attention) {
  xt::xarray<double> words = test::make_samples<double>(21, {5}, 2, 3).x;
  for (double& word : words) word = std::floor(std::fmod(std::abs(word) * 7, 9.0));
  check(words, Input<5>{}, Embedding<9, 4>{}, MultiHeadAttention<2, 3, Causal>{.bias_initializer = RandomNormal{}},
        MultiHeadAttention<1, 2, NoBias, ValueDim<3>, OutputDim<5>>{});
}

/// Three steps are written one after the other, eleven are a loop.
BOOST_AUTO_TEST_CASE(recurrent_layers_in_their_steps_and_in_loops) {
  check(sequences(3), Input<3, 3>{}, LSTM<4, ReturnSequences>{}, GRU<3, GoBackwards>{});
  check(sequences(11), Input<11, 3>{}, LSTM<4, ReturnSequences, GoBackwards>{}, GRU<4, ReturnSequences>{},
        LSTM<3, NoBias, Sigmoid, RecurrentActivation<HardSigmoid>>{});
  check(sequences(11), Input<11, 3>{}, GRU<3, ResetBefore, GoBackwards, ReturnSequences>{},
        GRU<2, ResetBefore, NoBias, Softplus>{});
}
