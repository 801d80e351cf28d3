/// Layers over sequences, by the configuration of a reference case.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "parity/layers.hpp"
#include "parity/reference.hpp"
#include "trireme/activations/hard_sigmoid.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/layers/gru.hpp"
#include "trireme/layers/layer_normalization.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::test {

template <class... Options, class Case>
bool lstm_is(Case const& c, nlohmann::json const& config) {
  using L = LSTM<dynamic, Options...>;
  return config.at("return_sequences") == L::sequences && config.at("go_backwards") == L::backwards &&
         config.at("use_bias") == L::use_bias && config.at("activation") == std::string(L::A::name.view()) &&
         config.at("recurrent_activation") == std::string(L::R::name.view()) &&
         check_layer<2>(c, L{.units = config.at("units").get<std::size_t>()});
}

template <class Case>
bool lstm(Case const& c, nlohmann::json const& config) {
  return lstm_is<>(c, config) || lstm_is<ReturnSequences>(c, config) ||
         lstm_is<ReturnSequences, GoBackwards>(c, config) ||
         lstm_is<ReLU, RecurrentActivation<HardSigmoid>, NoBias>(c, config);
}

template <class... Options, class Case>
bool gru_is(Case const& c, nlohmann::json const& config) {
  using L = GRU<dynamic, Options...>;
  return config.at("return_sequences") == L::sequences && config.at("go_backwards") == L::backwards &&
         config.at("use_bias") == L::use_bias && config.at("reset_after") == L::reset_after &&
         config.at("activation") == std::string(L::A::name.view()) &&
         config.at("recurrent_activation") == std::string(L::R::name.view()) &&
         check_layer<2>(c, L{.units = config.at("units").get<std::size_t>()});
}

template <class Case>
bool gru(Case const& c, nlohmann::json const& config) {
  return gru_is<>(c, config) || gru_is<ReturnSequences>(c, config) || gru_is<ResetBefore>(c, config) ||
         gru_is<ReturnSequences, ResetBefore>(c, config);
}

template <std::size_t Axes, class... Options, class Case>
bool layer_normalization_is(Case const& c, nlohmann::json const& config) {
  using L = LayerNormalization<LastAxes<Axes>, Options...>;
  std::vector<int> const axes = config.at("axis");
  int const rank = static_cast<int>(c.template array<double>("x").extents.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    if ((axes[i] + rank) % rank != rank - static_cast<int>(axes.size() - i)) return false;
  L const layer{.epsilon = config.at("epsilon").get<double>()};
  if (axes.size() != Axes || config.at("scale") != L::scale || config.at("center") != L::center) return false;
  if (config.at("rms_scaling")) return false;
  if constexpr (Axes == 1)
    if (check_layer<1>(c, layer)) return true;
  return check_layer<2>(c, layer);
}

template <class Case>
bool layer_normalization(Case const& c, nlohmann::json const& config) {
  return layer_normalization_is<1>(c, config) || layer_normalization_is<2>(c, config) ||
         layer_normalization_is<1, NoScale, NoCenter>(c, config);
}

/// Of one sequence, or of one to another: x0 gives the queries, and x1 keys and values.
template <class L, class Case>
bool check_attention(Case const& c, L const& layer) {
  if (c.has("x")) return check_layer<2>(c, layer);
  auto const extents = [&](char const* x) {
    std::vector<std::size_t> const shape = c.description.at("arrays").at(x).at("shape");
    return Extents<dynamic, dynamic>{{shape.at(1), shape.at(2)}};
  };
  if (c.has("x2")) return false;
  check_layer_in(c, layer, Parts{std::tuple{extents("x0"), extents("x1")}});
  return true;
}

template <std::size_t Heads, std::size_t KeyDim, class... Options, class Case>
bool attention_is(Case const& c, nlohmann::json const& config) {
  using L = MultiHeadAttention<Heads, KeyDim, Options...>;
  bool const causal = c.description.contains("note") &&
                      c.description.at("note").template get<std::string>().find("causal") != std::string::npos;
  nlohmann::json const output = L::output_dim == 0 ? nlohmann::json() : nlohmann::json{L::output_dim};
  return config.at("num_heads") == Heads && config.at("key_dim") == KeyDim && config.at("value_dim") == L::value_dim &&
         config.at("use_bias") == L::use_bias && config.at("output_shape") == output && causal == L::causal &&
         check_attention(c, L{});
}

template <class Case>
bool attention(Case const& c, nlohmann::json const& config) {
  return attention_is<2, 3>(c, config) || attention_is<2, 3, Causal>(c, config) ||
         attention_is<3, 4, NoBias>(c, config) || attention_is<2, 3, Causal, ValueDim<5>, OutputDim<4>>(c, config);
}

/// False if the library has no such layer with this configuration.
template <class Case>
bool sequence_layer(Case const& c, nlohmann::json const& config) {
  if (c.class_name() == "LSTM") return lstm(c, config);
  if (c.class_name() == "GRU") return gru(c, config);
  if (c.class_name() == "LayerNormalization") return layer_normalization(c, config);
  return attention(c, config);
}

template <class Case>
void check_sequence_layers() {
  check_layers<Case>({"GRU", "LSTM", "LayerNormalization", "MultiHeadAttention"}, false,
                     [](auto const& c, nlohmann::json const& config) { return sequence_layer(c, config); });
}

}  // namespace trireme::test
