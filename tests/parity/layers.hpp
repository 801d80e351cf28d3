/// One layer against Keras's numbers of a reference case: output, gradients of input and weights, in each context that
/// a program asks for.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "parity/context_memory.hpp"
#include "parity/reference.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/execution/views.hpp"
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

/// A case for layers in these contexts.
template <class... Contexts>
struct LayerCase : ReferenceCase {};

using HostLayerCase = LayerCase<ThreadContext, SpaceContext<Kokkos::DefaultHostExecutionSpace>>;

/// Workspace that holds no numbers.
template <class Context>
class Workspace {
 public:
  explicit Workspace(std::size_t bytes)
      : memory_(make_view<ContextView<Context, std::byte>>("trireme: workspace", bytes + arena_alignment,
                                                           std::byte{0xff})) {}
  std::byte* get() const {
    void* aligned = memory_.data();
    std::size_t space = memory_.size();
    return static_cast<std::byte*>(std::align(arena_alignment, 1, aligned, space));
  }

 private:
  ContextView<Context, std::byte> memory_;
};

/// The buffers of one call. What a layer has to overwrite starts as garbage.
template <class Context, class T>
class LayerNumbers {
  using View = ContextView<Context, T>;

 public:
  LayerNumbers(ReferenceCase const& c, std::vector<ParameterShape> const& shapes, std::size_t workspace_bytes)
      : case_(c),
        workspace_(workspace_bytes),
        x_(in_memory_of<Context>(joined<T>(c, "x"))),
        dy_(in_memory_of<Context>(c.array<T>("dy").values)),
        rows_(c.array<T>("dy").extents[0]),
        y_(garbage(dy_.size())),
        dx_(garbage(x_.size())) {
    std::vector<T> parameters;
    auto const& weights = c.description.at("weights");
    BOOST_REQUIRE_EQUAL(shapes.size(), weights.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      auto const weight = c.array<T>(weights[i].at("array"));
      BOOST_TEST(shapes[i].name == weights[i].at("name").get<std::string>());
      BOOST_TEST(shapes[i].shape.to_vector() == weight.extents, boost::test_tools::per_element());
      offsets_.push_back(parameters.size());
      parameters.insert(parameters.end(), weight.values.begin(), weight.values.end());
      parameters.resize(offsets_.back() + aligned_count<T>(weight.values.size()));
    }
    parameters_ = in_memory_of<Context>(parameters);
    gradients_ = garbage(parameters.size());
  }

  std::size_t rows() const { return rows_; }
  ForwardPass<T> forward() { return {rows_, x_.data(), y_.data(), parameters_.data(), workspace_.get(), {}, true}; }
  BackwardPass<T> backward() {
    return {rows_,      x_.data(),          y_.data(),         dy_.data(),
            dx_.data(), parameters_.data(), gradients_.data(), workspace_.get(),
            {}};
  }

  void compare() const {
    std::string const where = name_of_context<Context>();
    case_.template compare<T>("y" + where, case_.template array<double>("y").values, to_host(y_));
    if (!case_.description.at("input_gradients").empty())
      case_.template compare<T>("dx" + where, joined<double>(case_, "dx"), to_host(dx_));
    auto const& weights = case_.description.at("weights");
    auto const gradients = to_host(gradients_);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      auto const expected = case_.template array<double>(weights[i].at("gradient")).values;
      T const* const got = gradients.data() + offsets_[i];
      case_.template compare<T>("gradient of " + weights[i].at("name").get<std::string>() + where, expected,
                                std::vector<T>(got, got + expected.size()));
    }
  }

 private:
  static View garbage(std::size_t count) { return make_view<View>("trireme: results of a case", count, T(1e30)); }

  ReferenceCase const& case_;
  Workspace<Context> workspace_;
  View x_, dy_;
  std::size_t rows_;
  View y_, dx_, parameters_, gradients_;
  std::vector<std::size_t> offsets_;
};

template <class Context, class T, class L, class In>
void check_layer(ReferenceCase const& c, L const& layer, In const& in) {
  auto const parameters = detail::parameters_of(layer, in);
  std::size_t const rows = c.description.at("arrays").at("dy").at("shape").at(0);
  LayerNumbers<Context, T> numbers(c, {parameters.begin(), parameters.end()},
                                   detail::pass_workspace<T, Context>(layer, in, rows));
  Context context;
  detail::pass_forward(context, layer, in, numbers.forward());
  detail::pass_backward(context, layer, in, numbers.backward());
  numbers.compare();
}

/// The layer over samples of the given extents, in float and double and in all contexts.
template <class... Contexts, class L, class In>
void check_layer_in(LayerCase<Contexts...> const& c, L const& layer, In const& in) {
  std::vector<std::size_t> const shape = c.description.at("arrays").at("y").at("shape");
  BOOST_TEST(layer.output(in).to_vector() == std::vector<std::size_t>(shape.begin() + 1, shape.end()),
             boost::test_tools::per_element());
  (check_layer<Contexts, double>(c, layer, in), ...);
  (check_layer<Contexts, float>(c, layer, in), ...);
}

template <class Case, class L, std::size_t... I>
void check_layer_of_rank(Case const& c, L const& layer, std::index_sequence<I...>) {
  auto const& shape = c.description.at("arrays").at("x").at("shape");
  check_layer_in(c, layer,
                 Extents<(static_cast<void>(I), dynamic)...>{{shape.at(I + 1).template get<std::size_t>()...}});
}

/// False if the case's samples have another rank.
template <std::size_t Rank, class Case, class L>
bool check_layer(Case const& c, L const& layer) {
  if (c.description.at("arrays").at("x").at("shape").size() != Rank + 1) return false;
  check_layer_of_rank(c, layer, std::make_index_sequence<Rank>());
  return true;
}

/// Runs each case of the classes; those that `run` does not know are named as missing.
template <class Case, class Run>
void check_layers(std::set<std::string> const& classes, bool name_others, Run const& run) {
  Tally tally(classes);
  for (ReferenceCase const& reference : reference_cases("layers")) {
    Case const c{reference};
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
