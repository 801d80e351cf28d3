// Conv2D, 2-D pooling and up-sampling give Keras's output and gradients, in float and double, on a thread and on a host
// space.
#define BOOST_TEST_MODULE parity_layers_windows
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <string>

#include "parity/layers.hpp"
#include "parity/reference.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/layers/up_sampling2d.hpp"

using namespace trireme;
using namespace trireme::test;
using nlohmann::json;

namespace {

/// Whether the window of a configuration is that of the layer's type.
template <class L>
bool has_window(json const& config, json const& size, std::size_t height, std::size_t width) {
  return size == json{height, width} && config.at("strides") == json{L::S::height, L::S::width} &&
         config.at("padding") == (L::same ? "same" : "valid") && config.at("data_format") == "channels_last";
}

template <std::size_t KH, std::size_t KW, class... Options>
bool conv2d_is(ReferenceCase const& c, json const& config) {
  using L = Conv2D<dynamic, KH, KW, Options...>;
  return has_window<L>(config, config.at("kernel_size"), KH, KW) &&
         config.at("dilation_rate") == json{L::D::height, L::D::width} && config.at("groups") == 1 &&
         config.at("use_bias") == L::use_bias && config.at("activation") == std::string(L::A::name.view()) &&
         check_layer<3>(c, L{.filters = config.at("filters").get<std::size_t>()});
}

bool conv2d(ReferenceCase const& c, json const& config) {
  return conv2d_is<1, 1, NoBias>(c, config) || conv2d_is<3, 3>(c, config) || conv2d_is<3, 3, ReLU>(c, config) ||
         conv2d_is<3, 3, Strides<2, 2>>(c, config) || conv2d_is<3, 3, Same>(c, config) ||
         conv2d_is<3, 3, Same, Strides<2, 2>>(c, config) || conv2d_is<3, 3, Dilation<2, 2>>(c, config) ||
         conv2d_is<3, 3, Dilation<2, 1>, Same>(c, config) || conv2d_is<2, 4>(c, config) ||
         conv2d_is<2, 4, Strides<2, 2>>(c, config) || conv2d_is<2, 4, Same>(c, config) ||
         conv2d_is<2, 4, Same, Strides<2, 2>>(c, config) || conv2d_is<3, 5, Same, Strides<2, 3>>(c, config);
}

template <template <std::size_t, std::size_t, class...> class Pooling, std::size_t H, std::size_t W, class... Options>
bool pooling_is(ReferenceCase const& c, json const& config) {
  using L = Pooling<H, W, Options...>;
  return has_window<L>(config, config.at("pool_size"), H, W) && check_layer<3>(c, L{});
}

template <template <std::size_t, std::size_t, class...> class Pooling>
bool pooling(ReferenceCase const& c, json const& config) {
  return pooling_is<Pooling, 2, 2>(c, config) || pooling_is<Pooling, 3, 2, Strides<2, 3>>(c, config) ||
         pooling_is<Pooling, 3, 2, Strides<2, 3>, Same>(c, config);
}

template <std::size_t H, std::size_t W, class... Options>
bool up_sampling_is(ReferenceCase const& c, json const& config) {
  using L = UpSampling2D<H, W, Options...>;
  return config.at("size") == json{H, W} && config.at("data_format") == "channels_last" &&
         config.at("interpolation") == (L::bilinear ? "bilinear" : "nearest") && check_layer<3>(c, L{});
}

/// False if the library has no such layer with this configuration.
bool run(ReferenceCase const& c, json const& config) {
  std::string const name = c.class_name();
  if (name == "Conv2D") return conv2d(c, config);
  if (name == "MaxPooling2D") return pooling<MaxPooling2D>(c, config);
  if (name == "AveragePooling2D") return pooling<AveragePooling2D>(c, config);
  if (name == "UpSampling2D") return up_sampling_is<2, 3>(c, config) || up_sampling_is<2, 3, Bilinear>(c, config);
  return !config.at("keepdims") && check_layer<3>(c, GlobalAveragePooling2D{});
}

}  // namespace

BOOST_AUTO_TEST_CASE(layers_with_windows_have_keras_outputs_and_gradients) { check_layers(window_classes, false, run); }
