/// The activation that a configuration of Keras describes.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "parity/reference.hpp"
#include "trireme/activations/elu.hpp"
#include "trireme/activations/gelu.hpp"
#include "trireme/activations/hard_sigmoid.hpp"
#include "trireme/activations/leaky_relu.hpp"
#include "trireme/activations/linear.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/silu.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/activations/softplus.hpp"
#include "trireme/activations/tanh.hpp"

namespace trireme::test {

using AnyActivation =
    std::variant<Linear, ReLU, LeakyReLU, ELU, GELU, HardSigmoid, Sigmoid, SiLU, Softmax, Softplus, Tanh>;

/// From a name, or an object with a name and numbers. Nothing if the library has no such activation.
inline std::optional<AnyActivation> activation_of(nlohmann::json const& config) {
  if (config.is_string()) return activation_of(nlohmann::json{{"name", config}});
  std::string const name = config.at("name");
  if (name == "linear") return Linear{};
  if (name == "relu") return ReLU{};
  if (name == "leaky_relu") return LeakyReLU{.negative_slope = option(config, "negative_slope", 0.2)};
  if (name == "elu") return ELU{.alpha = option(config, "alpha", 1.0)};
  if (name == "gelu") return GELU{.approximate = option(config, "approximate", false)};
  if (name == "hard_sigmoid") return HardSigmoid{};
  if (name == "sigmoid") return Sigmoid{};
  if (name == "silu") return SiLU{};
  if (name == "softmax") return Softmax{};
  if (name == "softplus") return Softplus{};
  if (name == "tanh") return Tanh{};
  return std::nullopt;
}

}  // namespace trireme::test
