/// Layers without windows, by the configuration of a reference case.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <variant>

#include "parity/activation_of.hpp"
#include "parity/layers.hpp"
#include "parity/reference.hpp"
#include "trireme/layers/activation.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/models/sequential.hpp"

namespace trireme::test {

template <class Case>
bool activation_layer(Case const& c, nlohmann::json const& activation) {
  auto const found = activation_of(activation);
  return found && std::visit(
                      [&]<class A>(A const& a) {
                        Activation<A> const layer{.activation = a};
                        if (check_layer<1>(c, layer)) return true;
                        if constexpr (A::elementwise) return false;
                        return check_layer<2>(c, layer);
                      },
                      *found);
}

template <class Case>
bool dense(Case const& c, nlohmann::json const& config) {
  std::size_t const units = config.at("units");
  auto const found = activation_of(config.at("activation"));
  if (!found) return false;
  if (!config.at("use_bias"))
    return std::holds_alternative<Linear>(*found) && check_layer<1>(c, Dense<dynamic, NoBias>{.units = units});
  return std::visit(
      [&]<class A>(A const& a) {
        Dense<dynamic, A> const layer{.units = units, .activation = a};
        if (check_layer<1>(c, layer)) return true;
        if constexpr (!std::is_same_v<A, Linear>) return false;
        return check_layer<2>(c, layer);
      },
      *found);
}

template <class Case>
bool reshape(Case const& c) {
  auto const extents = c.template array<double>("y").extents;
  using Reshape = Reshape<dynamic, dynamic>;
  return extents.size() == 3 && check_layer<2>(c, Sequential{Reshape{.extents = {{extents[1], extents[2]}}}});
}

/// False if the library has no such layer, or not with this configuration.
template <class Case>
bool plain_layer(Case const& c, nlohmann::json const& config) {
  std::string const name = c.class_name();
  if (name == "Activation") return activation_layer(c, config.at("activation"));
  if (name == "Dense") return dense(c, config);
  if (name == "ELU") return activation_layer(c, {{"name", "elu"}, {"alpha", config.at("alpha")}});
  if (name == "Embedding")
    return !config.at("mask_zero") &&
           check_layer<1>(c, Embedding<dynamic, dynamic>{.vocabulary = config.at("input_dim").get<std::size_t>(),
                                                         .dim = config.at("output_dim").get<std::size_t>()});
  if (name == "Flatten") return check_layer<3>(c, Sequential{Flatten{}});
  if (name == "LeakyReLU")
    return activation_layer(c, {{"name", "leaky_relu"}, {"negative_slope", config.at("negative_slope")}});
  if (name == "ReLU") {
    bool const plain =
        config.at("max_value").is_null() && config.at("negative_slope") == 0 && config.at("threshold") == 0;
    return plain && activation_layer(c, "relu");
  }
  if (name == "Reshape") return reshape(c);
  return config.at("axis") == -1 && activation_layer(c, "softmax");
}

template <class Case>
void check_plain_layers() {
  check_layers<Case>({"Activation", "Dense", "ELU", "Embedding", "Flatten", "LeakyReLU", "ReLU", "Reshape", "Softmax"},
                     true, [](auto const& c, nlohmann::json const& config) { return plain_layer(c, config); });
}

}  // namespace trireme::test
