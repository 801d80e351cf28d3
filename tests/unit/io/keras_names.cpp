#define BOOST_TEST_MODULE io_keras_names
#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

#include "trireme/io/keras_names.hpp"

namespace tr = trireme;

BOOST_AUTO_TEST_CASE(classes_are_spelled_as_keras_spells_them) {
  std::vector<std::pair<std::string, std::string>> const names{
      {"Dense", "dense"},
      {"Conv2D", "conv2d"},
      {"Conv2DTranspose", "conv2d_transpose"},
      {"DepthwiseConv2D", "depthwise_conv2d"},
      {"MaxPooling2D", "max_pooling2d"},
      {"GlobalAveragePooling2D", "global_average_pooling2d"},
      {"ReLU", "re_lu"},
      {"LeakyReLU", "leaky_re_lu"},
      {"PReLU", "p_re_lu"},
      {"ELU", "elu"},
      {"LSTM", "lstm"},
      {"GRU", "gru"},
      {"SimpleRNN", "simple_rnn"},
      {"BatchNormalization", "batch_normalization"},
      {"RMSNormalization", "rms_normalization"},
      {"MultiHeadAttention", "multi_head_attention"},
      {"EinsumDense", "einsum_dense"},
      {"SpatialDropout2D", "spatial_dropout2d"},
      {"ZeroPadding2D", "zero_padding2d"},
      {"UpSampling2D", "up_sampling2d"},
      {"Sequential", "sequential"},
  };
  for (auto const& [name, spelled] : names) BOOST_TEST(tr::keras_snake_case(name) == spelled);
}

BOOST_AUTO_TEST_CASE(layers_of_one_class_are_numbered_from_the_second) {
  std::vector<std::string> const names =
      tr::keras_layer_names({"Conv2D", "MaxPooling2D", "Conv2D", "Flatten", "Dense", "Conv2D", "Dense"});
  std::vector<std::string> const wanted{"conv2d", "max_pooling2d", "conv2d_1", "flatten",
                                        "dense",  "conv2d_2",      "dense_1"};
  BOOST_TEST(names == wanted, boost::test_tools::per_element());
}
