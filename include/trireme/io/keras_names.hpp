/// The names that Keras gives to layers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme {

/// "MaxPooling2D" becomes "max_pooling2d", "ReLU" "re_lu", "LSTM" "lstm".
///
/// As in Keras: an underscore before each capital with small letters after it, then one between each small letter and
/// the capital that follows it.
std::string keras_snake_case(std::string_view name);

/// The groups of a model's layers in a file: {"Conv2D", "Dense", "Conv2D"} gives {"conv2d", "dense", "conv2d_1"}.
std::vector<std::string> keras_layer_names(std::vector<std::string> const& classes);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/keras_names.ipp"
#endif
