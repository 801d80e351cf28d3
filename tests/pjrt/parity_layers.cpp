// Layers as programs give Keras's output, gradients and moving statistics, in float and double.
#define BOOST_TEST_MODULE pjrt_parity_layers
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "parity/join_cases.hpp"
#include "parity/layer_cases.hpp"
#include "parity/normalization_cases.hpp"
#include "parity/reference.hpp"
#include "parity/sequence_cases.hpp"
#include "parity/window_cases.hpp"
#include "pjrt/run_program.hpp"
#include "trireme/pjrt/lowering/model.hpp"

namespace trireme::test {

/// The program of one layer's forward and backward.
template <class T, class L>
class LayerProgram {
  using Trace = lowering::Trace<T>;

 public:
  LayerProgram(ReferenceCase const& c, L const& layer) : case_(c), layer_(layer) {}

  template <class In>
  void check(In const& in, bool training) {
    std::size_t const rows = case_.description.at("arrays").at("dy").at("shape").at(0);
    auto const x = input(in, rows);
    typename Trace::LayerWeights weights;
    for (auto const& weight : case_.description.at("weights")) {
      bool const is_state = !weight.contains("gradient");
      auto const argument =
          b_.argument<T>(lowering::AnyExtents{case_.array<double>(weight.at("array").get<std::string>()).extents});
      (is_state ? weights.states : weights.parameters).push_back(argument);
    }
    Trace trace(b_, weights, {}, training);
    auto const all = b_.constant<bool>(true, Extents<dynamic>{{rows}});
    trace.set_rows({all, b_.constant<T>(T{1}), b_.constant<double>(static_cast<double>(rows)), 1, false});
    auto const lowered = lowering::lower(trace, layer_, x);
    auto const dy = b_.argument<T>(lowered.y.extents);
    b_.result(lowered.y);
    if (training) {
      for (auto const& dx : lowering::list_values<T>(lowered.backward(trace, dy))) b_.result(dx);
      for (auto const& gradient : trace.gradients([](std::size_t) { return ""; })) b_.result(gradient);
      for (auto const& mean : trace.state_means()) b_.result(mean);
    }
    run(lowered.y.extents, training, weights.states.size());
  }

 private:
  template <std::size_t... E>
  auto input(Extents<E...> const& in, std::size_t rows) {
    return b_.argument<T>(lowering::with_rows(rows, in));
  }
  template <class... P>
  auto input(Parts<P...> const& in, std::size_t rows) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{input(in.template part<I>(), rows)...};  // in their order, as in all braces
    }(std::index_sequence_for<P...>());
  }

  template <class Out>
  void run(Out const& out, bool training, std::size_t states) {
    auto const& weights = case_.description.at("weights");
    std::vector<std::size_t> const shape = case_.description.at("arrays").at("y").at("shape");
    BOOST_TEST(out.to_vector() == shape, boost::test_tools::per_element());
    ProgramRun program(b_.finish());
    for (std::string const& name : inputs()) program.with(case_.array<T>(name).values);
    for (auto const& weight : weights) program.with(case_.array<T>(weight.at("array").get<std::string>()).values);
    program.with(case_.array<T>("dy").values).run();
    case_.compare<T>("y", case_.array<double>("y").values, program.template take<T>());
    if (!training) return;
    bool const has_dx = !case_.description.at("input_gradients").empty();
    for (std::string const& name : inputs()) {
      auto const dx = program.template take<T>();
      if (has_dx) case_.compare<T>("d" + name, case_.array<double>("d" + name).values, dx);
    }
    for (auto const& weight : weights)
      if (weight.contains("gradient"))
        case_.compare<T>("gradient of " + weight.at("name").get<std::string>(),
                         case_.array<double>(weight.at("gradient").get<std::string>()).values,
                         program.template take<T>());
    if constexpr (requires { layer_.momentum; }) {
      BOOST_TEST(states == 2u);
      T const momentum = static_cast<T>(layer_.momentum);
      for (auto const& weight : weights) {
        if (weight.contains("gradient")) continue;
        auto moved = case_.array<T>(weight.at("array").get<std::string>()).values;
        auto const mean = program.template take<T>();
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = momentum * moved[i] + (1 - momentum) * mean[i];
        case_.compare<T>(weight.at("name").get<std::string>(),
                         case_.array<double>(weight.at("after_update").get<std::string>()).values, moved);
      }
    }
  }

  std::vector<std::string> inputs() const {
    if (case_.has("x")) return {"x"};
    std::vector<std::string> names;
    for (std::size_t i = 0; case_.has("x" + std::to_string(i)); ++i) names.push_back("x" + std::to_string(i));
    return names;
  }

  ReferenceCase const& case_;
  L const& layer_;
  lowering::Builder b_;
};

/// A case for layers as programs of the plugin.
struct ProgramCase : ReferenceCase {};

template <class L, class In>
void check_layer_in(ProgramCase const& c, L const& layer, In const& in) {
  LayerProgram<double, L>(c, layer).check(in, true);
  LayerProgram<float, L>(c, layer).check(in, true);
}

template <class L, std::size_t... I>
void check_normalization_in(ProgramCase const& c, L const& layer, std::index_sequence<I...>) {
  auto const extents = c.array<double>("x").extents;
  Extents<(static_cast<void>(I), dynamic)...> const in{{extents.at(I + 1)...}};
  bool const training = c.description.at("training");
  LayerProgram<double, L>(c, layer).check(in, training);
  LayerProgram<float, L>(c, layer).check(in, training);
}

}  // namespace trireme::test

using namespace trireme::test;

BOOST_AUTO_TEST_CASE(layers_without_windows_have_keras_outputs_and_gradients) { check_plain_layers<ProgramCase>(); }
BOOST_AUTO_TEST_CASE(layers_with_windows_have_keras_outputs_and_gradients) { check_window_layers<ProgramCase>(); }
BOOST_AUTO_TEST_CASE(layers_over_sequences_have_keras_outputs_and_gradients) { check_sequence_layers<ProgramCase>(); }
BOOST_AUTO_TEST_CASE(joins_have_keras_outputs_and_gradients) { check_joins<ProgramCase>(); }
BOOST_AUTO_TEST_CASE(batch_normalization_has_keras_outputs_gradients_and_moving_statistics) {
  check_batch_normalization<ProgramCase>();
}
