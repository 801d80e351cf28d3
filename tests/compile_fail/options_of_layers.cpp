// expect dense_optimizer: trireme: Dense takes as options an activation and NoBias
// expect dense_padding: trireme: Dense takes as options an activation and NoBias
// expect dense_two_activations: trireme: Dense takes as options an activation and NoBias
// expect dense_twice: trireme: Dense takes as options an activation and NoBias
// expect dense_value: trireme: Dense takes as options an activation and NoBias
// expect conv2d_return_sequences: trireme: Conv2D takes as options
// expect conv2d_two_paddings: trireme: Conv2D takes as options
// expect conv2d_two_strides: trireme: Conv2D takes as options
// expect max_pooling_activation: trireme: MaxPooling2D takes as options
// expect average_pooling_dilation: trireme: AveragePooling2D takes as options
// expect lstm_same: trireme: LSTM takes as options
// expect lstm_two_recurrent_activations: trireme: LSTM takes as options
// expect lstm_recurrent_optimizer: trireme: LSTM takes as options
// expect batch_normalization_last_axes: trireme: BatchNormalization takes as options
// expect batch_normalization_two_axes: trireme: BatchNormalization takes as options
// expect layer_normalization_axis: trireme: LayerNormalization takes as options
// expect attention_activation: trireme: MultiHeadAttention takes as options
// expect attention_two_widths: trireme: MultiHeadAttention takes as options
// expect up_sampling_same: trireme: UpSampling2D takes as option
// expect up_sampling_twice: trireme: UpSampling2D takes as option
// expect values_for_options: trireme: sizes and options of a layer are arguments of its template
// expect values_for_sizes: trireme: sizes and options of a layer are arguments of its template
// expect values_of_convolution: trireme: sizes and options of a layer are arguments of its template
// expect values_of_pooling: trireme: sizes and options of a layer are arguments of its template
// expect values_of_up_sampling: trireme: sizes and options of a layer are arguments of its template
// expect values_of_input: trireme: sizes and options of a layer are arguments of its template
// expect values_of_lstm: trireme: sizes and options of a layer are arguments of its template
// expect values_of_embedding: trireme: sizes and options of a layer are arguments of its template
// expect values_of_attention: trireme: sizes and options of a layer are arguments of its template
// expect values_of_normalization: trireme: sizes and options of a layer are arguments of its template
// expect values_of_reshape: trireme: sizes and options of a layer are arguments of its template
#include "trireme/activations/relu.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/layers/input.hpp"
#include "trireme/layers/layer_normalization.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/layers/up_sampling2d.hpp"
#include "trireme/optimizers/adam.hpp"

namespace tr = trireme;

void make_layers() {
#if defined(misuse_dense_optimizer)
  auto layer = tr::Dense<32, tr::Adam>{};
#elif defined(misuse_dense_padding)
  auto layer = tr::Dense<32, tr::Same>{};
#elif defined(misuse_dense_two_activations)
  auto layer = tr::Dense<32, tr::ReLU, tr::Tanh>{};
#elif defined(misuse_dense_twice)
  auto layer = tr::Dense<32, tr::NoBias, tr::NoBias>{};
#elif defined(misuse_dense_value)
  auto layer = tr::Dense<32, tr::Initializer>{};
#elif defined(misuse_conv2d_return_sequences)
  auto layer = tr::Conv2D<8, 3, 3, tr::ReturnSequences>{};
#elif defined(misuse_conv2d_two_paddings)
  auto layer = tr::Conv2D<8, 3, 3, tr::Same, tr::Valid>{};
#elif defined(misuse_conv2d_two_strides)
  auto layer = tr::Conv2D<8, 3, 3, tr::Strides<1, 1>, tr::Strides<2, 2>>{};
#elif defined(misuse_max_pooling_activation)
  auto layer = tr::MaxPooling2D<2, 2, tr::ReLU>{};
#elif defined(misuse_average_pooling_dilation)
  auto layer = tr::AveragePooling2D<2, 2, tr::Dilation<2, 2>>{};
#elif defined(misuse_lstm_same)
  auto layer = tr::LSTM<8, tr::Same>{};
#elif defined(misuse_lstm_two_recurrent_activations)
  auto layer = tr::LSTM<8, tr::RecurrentActivation<tr::Tanh>, tr::RecurrentActivation<tr::Sigmoid>>{};
#elif defined(misuse_lstm_recurrent_optimizer)
  auto layer = tr::LSTM<8, tr::RecurrentActivation<tr::Adam>>{};
#elif defined(misuse_batch_normalization_last_axes)
  auto layer = tr::BatchNormalization<tr::LastAxes<2>>{};
#elif defined(misuse_batch_normalization_two_axes)
  auto layer = tr::BatchNormalization<tr::Axis<1>, tr::Axis<2>>{};
#elif defined(misuse_layer_normalization_axis)
  auto layer = tr::LayerNormalization<tr::Axis<1>>{};
#elif defined(misuse_attention_activation)
  auto layer = tr::MultiHeadAttention<2, 4, tr::ReLU>{};
#elif defined(misuse_attention_two_widths)
  auto layer = tr::MultiHeadAttention<2, 4, tr::ValueDim<3>, tr::ValueDim<5>>{};
#elif defined(misuse_up_sampling_same)
  auto layer = tr::UpSampling2D<2, 2, tr::Same>{};
#elif defined(misuse_up_sampling_twice)
  auto layer = tr::UpSampling2D<2, 2, tr::Bilinear, tr::Bilinear>{};
#elif defined(misuse_values_for_options)
  auto layer = tr::Dense{32, tr::ReLU{}};
#elif defined(misuse_values_for_sizes)
  auto layer = tr::Dense(32);
#elif defined(misuse_values_of_convolution)
  auto layer = tr::Conv2D{8, 3, 3, tr::ReLU{}};
#elif defined(misuse_values_of_pooling)
  auto layer = tr::MaxPooling2D{2, 2};
#elif defined(misuse_values_of_up_sampling)
  auto layer = tr::UpSampling2D{2, 2};
#elif defined(misuse_values_of_input)
  auto layer = tr::Input{28, 28, 1};
#elif defined(misuse_values_of_lstm)
  auto layer = tr::LSTM{8};
#elif defined(misuse_values_of_embedding)
  auto layer = tr::Embedding{1000, 8};
#elif defined(misuse_values_of_attention)
  auto layer = tr::MultiHeadAttention{2, 4, tr::Causal{}};
#elif defined(misuse_values_of_normalization)
  auto layer = tr::LayerNormalization{tr::NoScale{}};
#elif defined(misuse_values_of_reshape)
  auto layer = tr::Reshape{7, 7, 2};
#else
  tr::Dense dense = tr::Dense<32, tr::NoBias, tr::ReLU>{};
  [[maybe_unused]] auto without = dense.without_activation();
  [[maybe_unused]] tr::Conv2D<8, 3, 3, tr::ReLU, tr::Same, tr::Strides<2, 2>, tr::Dilation<1, 1>, tr::NoBias> conv;
  [[maybe_unused]] tr::MaxPooling2D<2, 2, tr::Same, tr::Strides<1, 1>> max_pooling;
  [[maybe_unused]] tr::AveragePooling2D<2, 2, tr::Valid> average_pooling;
  [[maybe_unused]] tr::UpSampling2D<2, 2, tr::Bilinear> up_sampling;
  [[maybe_unused]] tr::LSTM<8, tr::ReturnSequences, tr::GoBackwards, tr::NoBias, tr::Tanh,
                            tr::RecurrentActivation<tr::Sigmoid>> lstm;
  [[maybe_unused]] tr::BatchNormalization<tr::NoScale, tr::NoCenter, tr::Axis<1>> batch_normalization;
  [[maybe_unused]] tr::LayerNormalization<tr::NoScale, tr::NoCenter, tr::LastAxes<2>> layer_normalization;
  [[maybe_unused]] tr::LayerNormalization plain{};
  [[maybe_unused]] tr::MultiHeadAttention<2, 4, tr::Causal, tr::NoBias, tr::ValueDim<3>, tr::OutputDim<5>> attention;
  [[maybe_unused]] tr::Reshape<7, 7, 2> reshape;
#endif
}
