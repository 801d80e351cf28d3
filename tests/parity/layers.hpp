/// One layer against Keras's numbers of a reference case: output, gradients of input and weights, in each host context.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "parity/reference.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/graph_pass.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::test {

/// Classes with test programs of their own: those with windows, those that normalize or go over sequences, and joins.
inline std::set<std::string> const window_classes{"AveragePooling2D", "Conv2D", "GlobalAveragePooling2D",
                                                  "MaxPooling2D", "UpSampling2D"};
inline std::set<std::string> const sequence_classes{"BatchNormalization", "GRU", "LSTM", "LayerNormalization",
                                                    "MultiHeadAttention"};
inline std::set<std::string> const join_classes{"Add", "Concatenate"};

/// The array `name`, or where a case has several inputs `name0`, `name1`, … one after the other: a tuple of tensors.
template <class T>
std::vector<T> joined(ReferenceCase const& c, std::string const& name) {
  if (c.has(name)) return c.array<T>(name).values;
  std::vector<T> all;
  for (std::size_t i = 0; c.has(name + std::to_string(i)); ++i) {
    auto const part = c.array<T>(name + std::to_string(i)).values;
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// The buffers of one call. What a layer has to overwrite starts as garbage.
template <class T>
class LayerNumbers {
 public:
  LayerNumbers(ReferenceCase const& c, std::string where, std::vector<ParameterShape> const& shapes,
               std::size_t workspace_bytes)
      : case_(c),
        where_(std::move(where)),
        memory_(workspace_bytes + arena_alignment, std::byte{0xff}),  // no number
        x_(joined<T>(c, "x")),
        dy_(c.array<T>("dy").values),
        rows_(c.array<T>("dy").extents[0]),
        y_(dy_.size(), T(1e30)),
        dx_(x_.size(), T(1e30)) {
    auto const& weights = c.description.at("weights");
    BOOST_REQUIRE_EQUAL(shapes.size(), weights.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      auto const weight = c.array<T>(weights[i].at("array"));
      BOOST_TEST(shapes[i].name == weights[i].at("name").get<std::string>());
      BOOST_TEST(shapes[i].shape.to_vector() == weight.extents, boost::test_tools::per_element());
      offsets_.push_back(parameters_.size());
      parameters_.insert(parameters_.end(), weight.values.begin(), weight.values.end());
      parameters_.resize(offsets_.back() + aligned_count<T>(weight.values.size()));
    }
    gradients_.assign(parameters_.size(), T(1e30));
  }

  std::size_t rows() const { return rows_; }
  ForwardPass<T> forward() { return {rows_, x_.data(), y_.data(), parameters_.data(), workspace(), {}, true}; }
  BackwardPass<T> backward() {
    return {rows_,       x_.data(), y_.data(), dy_.data(), dx_.data(), parameters_.data(), gradients_.data(),
            workspace(), {}};
  }

  void compare() const {
    case_.template compare<T>("y" + where_, case_.template array<double>("y").values, y_);
    if (!case_.description.at("input_gradients").empty())
      case_.template compare<T>("dx" + where_, joined<double>(case_, "dx"), dx_);
    auto const& weights = case_.description.at("weights");
    for (std::size_t i = 0; i < weights.size(); ++i) {
      auto const expected = case_.template array<double>(weights[i].at("gradient")).values;
      T const* const got = gradients_.data() + offsets_[i];
      case_.template compare<T>("gradient of " + weights[i].at("name").get<std::string>() + where_, expected,
                                std::vector<T>(got, got + expected.size()));
    }
  }

 private:
  std::byte* workspace() {
    void* aligned = memory_.data();
    std::size_t space = memory_.size();
    return static_cast<std::byte*>(std::align(arena_alignment, 1, aligned, space));
  }

  ReferenceCase const& case_;
  std::string where_;
  std::vector<std::byte> memory_;
  std::vector<T> x_, dy_;
  std::size_t rows_;
  std::vector<T> y_, dx_, parameters_, gradients_;
  std::vector<std::size_t> offsets_;
};

template <class Context, class T, class L, class In>
void check_layer(ReferenceCase const& c, char const* where, L const& layer, In const& in) {
  auto const parameters = detail::parameters_of(layer, in);
  std::size_t const rows = c.description.at("arrays").at("dy").at("shape").at(0);
  LayerNumbers<T> numbers(c, where, {parameters.begin(), parameters.end()},
                          detail::pass_workspace<T, Context>(layer, in, rows));
  Context context;
  detail::pass_forward(context, layer, in, numbers.forward());
  detail::pass_backward(context, layer, in, numbers.backward());
  numbers.compare();
}

/// The layer over samples of the given extents, in float and double and in both host contexts.
template <class L, class In>
void check_layer_in(ReferenceCase const& c, L const& layer, In const& in) {
  using Space = SpaceContext<Kokkos::DefaultHostExecutionSpace>;
  std::vector<std::size_t> const shape = c.description.at("arrays").at("y").at("shape");
  BOOST_TEST(layer.output(in).to_vector() == std::vector<std::size_t>(shape.begin() + 1, shape.end()),
             boost::test_tools::per_element());
  check_layer<ThreadContext, double>(c, " on a thread", layer, in);
  check_layer<ThreadContext, float>(c, " on a thread", layer, in);
  check_layer<Space, double>(c, " on a space", layer, in);
  check_layer<Space, float>(c, " on a space", layer, in);
}

template <class L, std::size_t... I>
void check_layer_of_rank(ReferenceCase const& c, L const& layer, std::index_sequence<I...>) {
  auto const& shape = c.description.at("arrays").at("x").at("shape");
  check_layer_in(c, layer,
                 Extents<(static_cast<void>(I), dynamic)...>{{shape.at(I + 1).template get<std::size_t>()...}});
}

/// False if the case's samples have another rank.
template <std::size_t Rank, class L>
bool check_layer(ReferenceCase const& c, L const& layer) {
  if (c.description.at("arrays").at("x").at("shape").size() != Rank + 1) return false;
  check_layer_of_rank(c, layer, std::make_index_sequence<Rank>());
  return true;
}

/// Runs each case of the classes; those that `run` does not know are named as missing.
template <class Run>
void check_layers(std::set<std::string> const& classes, bool name_others, Run const& run) {
  Tally tally(classes);
  for (ReferenceCase const& c : reference_cases("layers")) {
    if (classes.count(c.class_name()) == 0) {
      if (name_others && !window_classes.contains(c.class_name()) && !sequence_classes.contains(c.class_name()) &&
          !join_classes.contains(c.class_name()))
        tally.missing(c, c.class_name());
    } else if (run(c, c.description.at("config"))) {
      tally.ran(c);
    } else {
      tally.missing(c, c.class_name() + " " + c.description.at("config").dump());
    }
  }
  tally.check();
}

}  // namespace trireme::test
