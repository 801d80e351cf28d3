/// Layers with windows, by the configuration of a reference case.
#pragma once

#include <cstddef>
#include <string>

#include "parity/layers.hpp"
#include "parity/reference.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/layers/up_sampling2d.hpp"

namespace trireme::test {

/// True if the window of a configuration is that of the layer's type.
template <class L>
bool has_window(nlohmann::json const& config, nlohmann::json const& size, std::size_t height, std::size_t width) {
  return size == nlohmann::json{height, width} && config.at("strides") == nlohmann::json{L::S::height, L::S::width} &&
         config.at("padding") == (L::same ? "same" : "valid") && config.at("data_format") == "channels_last";
}

template <std::size_t KH, std::size_t KW, class... Options, class Case>
bool conv2d_is(Case const& c, nlohmann::json const& config) {
  using L = Conv2D<dynamic, KH, KW, Options...>;
  return has_window<L>(config, config.at("kernel_size"), KH, KW) &&
         config.at("dilation_rate") == nlohmann::json{L::D::height, L::D::width} && config.at("groups") == 1 &&
         config.at("use_bias") == L::use_bias && config.at("activation") == std::string(L::A::name.view()) &&
         check_layer<3>(c, L{.filters = config.at("filters").get<std::size_t>()});
}

template <class Case>
bool conv2d(Case const& c, nlohmann::json const& config) {
  return conv2d_is<1, 1, NoBias>(c, config) || conv2d_is<3, 3>(c, config) || conv2d_is<3, 3, ReLU>(c, config) ||
         conv2d_is<3, 3, Strides<2, 2>>(c, config) || conv2d_is<3, 3, Same>(c, config) ||
         conv2d_is<3, 3, Same, Strides<2, 2>>(c, config) || conv2d_is<3, 3, Dilation<2, 2>>(c, config) ||
         conv2d_is<3, 3, Dilation<2, 1>, Same>(c, config) || conv2d_is<2, 4>(c, config) ||
         conv2d_is<2, 4, Strides<2, 2>>(c, config) || conv2d_is<2, 4, Same>(c, config) ||
         conv2d_is<2, 4, Same, Strides<2, 2>>(c, config) || conv2d_is<3, 5, Same, Strides<2, 3>>(c, config);
}

template <template <std::size_t, std::size_t, class...> class Pooling, std::size_t H, std::size_t W, class... Options,
          class Case>
bool pooling_is(Case const& c, nlohmann::json const& config) {
  using L = Pooling<H, W, Options...>;
  return has_window<L>(config, config.at("pool_size"), H, W) && check_layer<3>(c, L{});
}

template <template <std::size_t, std::size_t, class...> class Pooling, class Case>
bool pooling(Case const& c, nlohmann::json const& config) {
  return pooling_is<Pooling, 2, 2>(c, config) || pooling_is<Pooling, 3, 2, Strides<2, 3>>(c, config) ||
         pooling_is<Pooling, 3, 2, Strides<2, 3>, Same>(c, config);
}

template <std::size_t H, std::size_t W, class... Options, class Case>
bool up_sampling_is(Case const& c, nlohmann::json const& config) {
  using L = UpSampling2D<H, W, Options...>;
  return config.at("size") == nlohmann::json{H, W} && config.at("data_format") == "channels_last" &&
         config.at("interpolation") == (L::bilinear ? "bilinear" : "nearest") && check_layer<3>(c, L{});
}

/// False if the library has no such layer with this configuration.
template <class Case>
bool window_layer(Case const& c, nlohmann::json const& config) {
  std::string const name = c.class_name();
  if (name == "Conv2D") return conv2d(c, config);
  if (name == "MaxPooling2D") return pooling<MaxPooling2D>(c, config);
  if (name == "AveragePooling2D") return pooling<AveragePooling2D>(c, config);
  if (name == "UpSampling2D") return up_sampling_is<2, 3>(c, config) || up_sampling_is<2, 3, Bilinear>(c, config);
  return !config.at("keepdims") && check_layer<3>(c, GlobalAveragePooling2D{});
}

template <class Case>
void check_window_layers() {
  check_layers<Case>(window_classes, false,
                     [](auto const& c, nlohmann::json const& config) { return window_layer(c, config); });
}

}  // namespace trireme::test
