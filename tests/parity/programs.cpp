// Whole programs of Keras whose models branch, as graphs of named nodes: a U-Net and a residual network.
#define BOOST_TEST_MODULE parity_programs
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <set>
#include <string>

#include "parity/reference.hpp"
#include "parity/tensorflow_resizing.hpp"
#include "parity/training.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/layers/up_sampling2d.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/optimizers/rmsprop.hpp"
#include "trireme/optimizers/sgd.hpp"

using namespace trireme;
using namespace trireme::test;

namespace {

struct Mae {
  static constexpr FixedString name = "mae";
};

template <class Enlarged>
auto unet_with(Enlarged const& bilinear) {
  return Graph{Input<8, 8, 1>{},
               node<"down_1">(Conv2D<6, 3, 3, ReLU, Same>{}),
               node<"pool_1">(MaxPooling2D<2, 2>{}),
               node<"down_2">(Conv2D<8, 3, 3, ReLU, Same>{}),
               node<"pool_2">(MaxPooling2D<2, 2>{}),
               node<"bottom">(Conv2D<12, 3, 3, ReLU, Same>{}),
               node<"larger_2">(UpSampling2D<2, 2>{}),
               node<"joined_2", "larger_2", "down_2">(Concatenate{}),
               node<"up_2">(Conv2D<8, 3, 3, ReLU, Same>{}),
               node<"larger_1">(bilinear),
               node<"joined_1", "larger_1", "down_1">(Concatenate{}),
               node<"up_1">(Conv2D<6, 3, 3, ReLU, Same>{}),
               node<"head">(Conv2D<1, 1, 1, Sigmoid>{})};
}

void unet(ReferenceCase const& given) {
  ReferenceCase c = given;
  RMSprop const optimizer{.learning_rate = 0.002};
  MeanSquaredError const loss{};
  metrics::MeanOf<MeanAbsoluteError, Mae> const mae{};
  // TensorFlow resizes in float whatever the type. With its rounding the numbers in double are Keras's.
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
    Training<double>(c).check(plan, unet_with(TensorFlowResizing{}), optimizer, loss, mae);
  // Without it double has what is left, about 1e-7 of the enlarged values, which RMSprop's first steps scale up.
  c.description["tolerance"]["float64"] = {{"rtol", 1e-6}, {"atol", 1e-8}};
  check_training(c, unet_with(UpSampling2D<2, 2, Bilinear>{}), optimizer, loss, mae);
}

void resnet(ReferenceCase const& c) {
  BatchNormalization<> const norm{.momentum = 0.9};
  Graph const model{Input<8, 8, 1>{},
                    node<"c0">(Conv2D<6, 3, 3, Same, NoBias>{}),
                    node<"n0">(norm),
                    node<"h0">(ReLU{}),
                    node<"ca1">(Conv2D<6, 3, 3, Same, NoBias>{}),
                    node<"na1">(norm),
                    node<"ha1">(ReLU{}),
                    node<"cb1">(Conv2D<6, 3, 3, Same, NoBias>{}),
                    node<"nb1">(norm),
                    node<"sum1", "nb1", "h0">(Add{}),
                    node<"h1">(ReLU{}),
                    node<"ca2">(Conv2D<12, 3, 3, Same, Strides<2, 2>, NoBias>{}),
                    node<"na2">(norm),
                    node<"ha2">(ReLU{}),
                    node<"cb2">(Conv2D<12, 3, 3, Same, NoBias>{}),
                    node<"cs2", "h1">(Conv2D<12, 1, 1, Strides<2, 2>, NoBias>{}),
                    node<"nb2", "cb2">(norm),
                    node<"ns2", "cs2">(norm),
                    node<"sum2", "nb2", "ns2">(Add{}),
                    node<"h2">(ReLU{}),
                    node<"mean">(GlobalAveragePooling2D{}),
                    node<"head">(Dense<10>{})};
  check_training(c, model, SGD{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true, .weight_decay = 1e-4},
                 SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
}

}  // namespace

BOOST_AUTO_TEST_CASE(graphs_train_as_in_keras) {
  Tally tally({"resnet", "unet"});
  for (ReferenceCase c : reference_cases("programs")) {
    c.description["class"] = c.name();
    if (c.name() == "unet") unet(c);
    if (c.name() == "resnet") resnet(c);
    if (c.name() == "unet" || c.name() == "resnet")
      tally.ran(c);
    else
      tally.missing(c, "a program");
  }
  tally.check();
}
