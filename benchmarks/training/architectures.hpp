// The models of the table in docs/performance.md.
#pragma once

#include <cstddef>

#include <trireme/trireme.hpp>

namespace bench {

namespace tr = trireme;

inline auto mlp() { return tr::Sequential{tr::Input<784>{}, tr::Dense<128, tr::ReLU>{}, tr::Dense<10>{}}; }

inline auto cnn() {
  return tr::Sequential{tr::Input<28, 28, 1>{},    tr::Conv2D<32, 3, 3, tr::ReLU>{},
                        tr::MaxPooling2D<2, 2>{},  tr::Conv2D<64, 3, 3, tr::ReLU>{},
                        tr::MaxPooling2D<2, 2>{},  tr::Flatten{},
                        tr::Dense<64, tr::ReLU>{}, tr::Dense<10>{}};
}

inline auto wide() {
  return tr::Sequential{tr::Input<1024>{}, tr::Dense<4096, tr::ReLU>{}, tr::Dense<4096, tr::ReLU>{}, tr::Dense<10>{}};
}

inline auto surrogate() {
  return tr::Sequential{tr::Input<3>{}, tr::Dense<64, tr::Tanh>{}, tr::Dense<64, tr::Tanh>{}, tr::Dense<64, tr::Tanh>{},
                        tr::Dense<1>{}};
}

inline auto transformer() {
  return tr::Sequential{tr::Input<64, 256>{}, tr::Residual{tr::LayerNormalization<>{}, tr::MultiHeadAttention<4, 64>{}},
                        tr::Residual{tr::LayerNormalization<>{}, tr::Dense<1024, tr::ReLU>{}, tr::Dense<256>{}},
                        tr::Flatten{}, tr::Dense<10>{}};
}

inline auto lstm() { return tr::Sequential{tr::Input<64, 32>{}, tr::LSTM<128>{}, tr::Dense<10>{}}; }

/// Two 3 x 3 convolutions with normalization.
template <std::size_t Filters, std::size_t Stride>
auto two_convolutions() {
  return tr::Sequential{tr::Conv2D<Filters, 3, 3, tr::Same, tr::Strides<Stride, Stride>, tr::NoBias>{},
                        tr::BatchNormalization<>{}, tr::ReLU{}, tr::Conv2D<Filters, 3, 3, tr::Same, tr::NoBias>{},
                        tr::BatchNormalization<>{}};
}

/// A basic block whose shortcut is the input.
template <std::size_t Filters>
auto basic_block() {
  return tr::Sequential{tr::Add{tr::Skip{}, two_convolutions<Filters, 1>()}, tr::ReLU{}};
}

/// A basic block that halves height and width, and whose shortcut is a 1 x 1 projection.
template <std::size_t Filters>
auto reducing_block() {
  return tr::Sequential{tr::Add{tr::Sequential{tr::Conv2D<Filters, 1, 1, tr::Same, tr::Strides<2, 2>, tr::NoBias>{},
                                               tr::BatchNormalization<>{}},
                                two_convolutions<Filters, 2>()},
                        tr::ReLU{}};
}

/// ResNet-18 in its form for small images. Source: He et al., Deep residual learning for image recognition, 2016.
inline auto resnet18() {
  return tr::Sequential{tr::Input<32, 32, 3>{},
                        tr::Conv2D<64, 3, 3, tr::Same, tr::NoBias>{},
                        tr::BatchNormalization<>{},
                        tr::ReLU{},
                        basic_block<64>(),
                        basic_block<64>(),
                        reducing_block<128>(),
                        basic_block<128>(),
                        reducing_block<256>(),
                        basic_block<256>(),
                        reducing_block<512>(),
                        basic_block<512>(),
                        tr::GlobalAveragePooling2D{},
                        tr::Dense<10>{}};
}

/// VGG-11 on small images, with a smaller head: eight convolutions, five poolings, 512, 512, 10. Source: Simonyan and
/// Zisserman, Very deep convolutional networks for large-scale image recognition, 2015.
inline auto vgg() {
  using Pool = tr::MaxPooling2D<2, 2>;
  return tr::Sequential{tr::Input<32, 32, 3>{},
                        tr::Conv2D<64, 3, 3, tr::ReLU, tr::Same>{},
                        Pool{},
                        tr::Conv2D<128, 3, 3, tr::ReLU, tr::Same>{},
                        Pool{},
                        tr::Conv2D<256, 3, 3, tr::ReLU, tr::Same>{},
                        tr::Conv2D<256, 3, 3, tr::ReLU, tr::Same>{},
                        Pool{},
                        tr::Conv2D<512, 3, 3, tr::ReLU, tr::Same>{},
                        tr::Conv2D<512, 3, 3, tr::ReLU, tr::Same>{},
                        Pool{},
                        tr::Conv2D<512, 3, 3, tr::ReLU, tr::Same>{},
                        tr::Conv2D<512, 3, 3, tr::ReLU, tr::Same>{},
                        Pool{},
                        tr::Flatten{},
                        tr::Dense<512, tr::ReLU>{},
                        tr::Dense<512, tr::ReLU>{},
                        tr::Dense<10>{}};
}

template <std::size_t Filters>
auto level() {
  return tr::Sequential{tr::Conv2D<Filters, 3, 3, tr::ReLU, tr::Same>{},
                        tr::Conv2D<Filters, 3, 3, tr::ReLU, tr::Same>{}};
}

/// A U-Net of two levels and a bottom, one logit a pixel. Source: Ronneberger, Fischer and Brox, U-Net, 2015.
inline auto unet() {
  using Pool = tr::MaxPooling2D<2, 2>;
  using Up = tr::UpSampling2D<2, 2>;
  return tr::Graph{tr::Input<64, 64, 1>{},
                   tr::node<"down_1">(level<32>()),
                   tr::node<"pool_1">(Pool{}),
                   tr::node<"down_2">(level<64>()),
                   tr::node<"pool_2">(Pool{}),
                   tr::node<"bottom">(level<128>()),
                   tr::node<"enlarged_2">(Up{}),
                   tr::node<"joined_2", "enlarged_2", "down_2">(tr::Concatenate{}),
                   tr::node<"up_2">(level<64>()),
                   tr::node<"enlarged_1">(Up{}),
                   tr::node<"joined_1", "enlarged_1", "down_1">(tr::Concatenate{}),
                   tr::node<"up_1">(level<32>()),
                   tr::node<"head">(tr::Conv2D<1, 1, 1>{})};
}

/// Convolutions over 128 steps of 32 channels: a Conv2D over images of height 1.
inline auto conv1d() {
  return tr::Sequential{tr::Input<1, 128, 32>{},      tr::Conv2D<64, 1, 5, tr::ReLU, tr::Same>{},
                        tr::MaxPooling2D<1, 2>{},     tr::Conv2D<128, 1, 5, tr::ReLU, tr::Same>{},
                        tr::MaxPooling2D<1, 2>{},     tr::Conv2D<128, 1, 3, tr::ReLU, tr::Same>{},
                        tr::GlobalAveragePooling2D{}, tr::Dense<10>{}};
}

}  // namespace bench
