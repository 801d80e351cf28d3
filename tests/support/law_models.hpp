/// The models that law 1 is tested with, and a training run of one.
#pragma once

#include <cstddef>

#include "support/small_training.hpp"
#include "trireme/activations/gelu.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/gaussian_noise.hpp"
#include "trireme/layers/layer_normalization.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/optimizers/sgd.hpp"

namespace trireme::test::law {

inline auto input() { return Input<cnn_inputs[0], cnn_inputs[1], cnn_inputs[2]>{}; }
inline auto sequence() { return Reshape<cnn_inputs[0], cnn_inputs[1] * cnn_inputs[2]>{}; }

// Each has four layers with parameters, so that four stages have one each. Layers before a normalization, and keys,
// have no bias: its gradient is 0, and rounding is all that would be compared.

inline auto perceptron() {
  return Sequential{input(),
                    Flatten{},
                    Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)},
                    Dropout{.rate = 0.25f},
                    Dense<8, Tanh>{.bias_regularizer = L1(1e-3)},
                    GaussianNoise{.stddev = 0.1},
                    Dense<7, Tanh>{},
                    Dense<classes>{}};
}
inline auto convolutional() {
  return Sequential{input(),   Conv2D<3, 3, 3, ReLU, Same>{}, MaxPooling2D<2, 2>{}, Conv2D<4, 2, 2, Tanh>{},
                    Flatten{}, Dropout{.rate = 0.25f},        Dense<6, Tanh>{},     Dense<classes>{}};
}
template <class Normalization>
auto normalized(Normalization const& normalization) {
  return Sequential{input(),
                    Conv2D<3, 3, 3, Same, NoBias>{},
                    normalization,
                    ReLU{},
                    MaxPooling2D<2, 2>{},
                    Flatten{},
                    Dense<6, Tanh>{},
                    Dense<classes>{}};
}
inline auto recurrent() {
  return Sequential{input(), sequence(), LSTM<5, ReturnSequences>{}, LSTM<4>{}, Dense<6, Tanh>{}, Dense<classes>{}};
}
inline auto transformer() {
  return Sequential{input(),
                    sequence(),
                    Residual{LayerNormalization<>{}, MultiHeadAttention<2, 3, NoBias>{}},
                    Residual{LayerNormalization<>{}, Dense<8, ReLU>{}, Dense<10>{}},
                    Flatten{},
                    Dense<6, Tanh>{},
                    Dense<classes>{}};
}

/// Nodes with several inputs, one that several nodes read, and a frozen one between trained ones.
inline auto graph() {
  return Graph{input(),
               node<"first">(Conv2D<3, 3, 3, ReLU, Same>{}),
               node<"left">(Conv2D<3, 1, 1>{}),
               node<"right", "first">(Conv2D<3, 3, 3, Same, NoBias>{}),
               node<"norm">(SyncBatchNormalization<>{.momentum = 0.8}),
               node<"sum", "left", "norm", "first">(Add{}),
               node<"flat">(Flatten{}),
               node<"hidden">(Dense<7, Tanh>{}),
               node<"frozen", "hidden">(Frozen{Dense<5, Tanh>{}}),
               node<"drop", "hidden">(Dropout{.rate = 0.25f}),
               node<"both", "drop", "frozen">(Concatenate{}),
               node<"head">(Dense<classes>{})};
}

/// Matrices so large that threads compute their gradients together, one behind the other and with layers between them
/// that use the buffers of gradients anew; one whose width is known at run time.
inline auto deep() {
  return Sequential{input(),
                    Flatten{},
                    Dense<100, Tanh>{},
                    LayerNormalization<>{},
                    Dense<100>{},
                    Activation<ReLU>{},
                    Residual{LayerNormalization<>{}, Dense<100, GELU>{}, Dense<100>{}},
                    Dense<dynamic, NoBias>{.units = 1100},
                    Dropout{.rate = 0.25f},
                    Dense<100, Sigmoid>{},
                    Dense<classes>{}};
}

struct Training {
  Parallelism parallelism = Parallelism::samples;
  std::size_t batch = 7;
  bool shuffle = true;
  double clipnorm = 0;
};

/// Two epochs of five batches, the last of one sample; calls check(model, history). \param samples  of the training.
template <class T, class Strategy, class Architecture, class Optimizer, class Check>
void trained_with(Optimizer const& optimizer, Strategy const& strategy, Architecture const& architecture,
                  Samples<T> const& samples, Training const& training, Check const& check) {
  auto const tests = cnn_samples<T>(7, 2);
  auto const ordered = samples.data();
  auto const data =
      (training.shuffle ? ordered.shuffle(samples.size(), 3) : ordered).batch(GlobalBatch{training.batch});
  auto model = compile<T>(strategy, architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                          Accuracy{}, Margin{}, CompileOptions{.seed = 5, .parallelism = training.parallelism});
  auto const history =
      fit(strategy, model, data, validation(tests.data().batch(GlobalBatch{5})), {.epochs = 2, .verbose = false});
  check(model, history);
}

template <class T, class Strategy, class Architecture, class Check>
void trained_on(Strategy const& strategy, Architecture const& architecture, Samples<T> const& samples,
                Training const& training, Check const& check) {
  trained_with<T>(SGD{.learning_rate = 0.02, .momentum = 0.9, .global_clipnorm = training.clipnorm}, strategy,
                  architecture, samples, training, check);
}

template <class T, class Strategy, class Architecture, class Check>
void trained(Strategy const& strategy, Architecture const& architecture, Training const& training, Check const& check) {
  trained_on<T>(strategy, architecture, cnn_samples<T>(4 * training.batch + 1), training, check);
}

}  // namespace trireme::test::law
