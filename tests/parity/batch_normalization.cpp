// BatchNormalization gives Keras's output, gradients and moving statistics, in float and double, in both host contexts.
#define BOOST_TEST_MODULE parity_batch_normalization
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "parity/layers.hpp"
#include "parity/reference.hpp"
#include "trireme/layers/batch_normalization.hpp"

using namespace trireme;
using namespace trireme::test;
using nlohmann::json;

namespace {

/// Numbers of the weights with these names, one after the other in an arena.
template <class T>
std::vector<T> arena(ReferenceCase const& c, std::vector<std::string> const& names, char const* key) {
  std::vector<T> all;
  for (auto const& weight : c.description.at("weights"))
    for (auto const& name : names) {
      if (weight.at("name") != name) continue;
      auto const values = c.array<T>(weight.at(key)).values;
      std::size_t const begin = all.size();
      all.insert(all.end(), values.begin(), values.end());
      all.resize(begin + aligned_count<T>(values.size()));
    }
  return all;
}

template <class Context, class T, class L, class In>
void check(ReferenceCase const& c, L const& layer, In const& in) {
  std::vector<std::string> const trained{"gamma", "beta"}, moving{"moving_mean", "moving_variance"};
  bool const training = c.description.at("training");
  auto const x = c.array<T>("x").values;
  auto dy = c.array<T>("dy").values;
  std::size_t const rows = c.array<T>("x").extents[0];
  auto const parameters = arena<T>(c, trained, "array");
  auto const states = arena<T>(c, moving, "array");
  std::vector<T> y(x.size()), dx(x.size()), gradients(parameters.size()), updates(states.size());
  std::size_t const bytes = detail::workspace_bytes<T, Context>(layer, in, rows);
  std::vector<std::byte> memory(bytes + arena_alignment);
  void* aligned = memory.data();
  std::size_t space = memory.size();
  auto* const workspace = static_cast<std::byte*>(std::align(arena_alignment, bytes, aligned, space));

  Context context;
  detail::run_forward(context, layer, in,
                      ForwardPass<T>{.rows = rows,
                                     .x = x.data(),
                                     .y = y.data(),
                                     .parameters = parameters.data(),
                                     .workspace = workspace,
                                     .keys = {},
                                     .training = training,
                                     .states = states.data(),
                                     .state_updates = training ? updates.data() : nullptr});
  c.compare<T>("y", c.array<double>("y").values, y);
  if (!training) return;
  detail::run_backward(context, layer, in,
                       BackwardPass<T>{.rows = rows,
                                       .x = x.data(),
                                       .y = y.data(),
                                       .dy = dy.data(),
                                       .dx = dx.data(),
                                       .parameters = parameters.data(),
                                       .gradients = gradients.data(),
                                       .workspace = workspace,
                                       .keys = {}});
  c.compare<T>("dx", c.array<double>("dx").values, dx);
  auto const expected = arena<T>(c, trained, "gradient");
  c.compare<T>("gradients", std::vector<double>(expected.begin(), expected.end()), gradients);
  auto const after = arena<T>(c, moving, "after_update");
  auto const momentum = static_cast<T>(layer.momentum);
  std::vector<T> moved(states.size());
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = momentum * states[i] + (1 - momentum) * updates[i];
  c.compare<T>("moving statistics", std::vector<double>(after.begin(), after.end()), moved);
}

template <class L, std::size_t... I>
void check_in(ReferenceCase const& c, L const& layer, std::index_sequence<I...>) {
  auto const extents = c.array<double>("x").extents;
  Extents<(static_cast<void>(I), dynamic)...> const in{{extents.at(I + 1)...}};
  using Space = SpaceContext<Kokkos::DefaultHostExecutionSpace>;
  check<ThreadContext, double>(c, layer, in);
  check<ThreadContext, float>(c, layer, in);
  check<Space, double>(c, layer, in);
  check<Space, float>(c, layer, in);
}

template <std::size_t Rank, class L>
bool check_axis(ReferenceCase const& c, L const& layer, std::ptrdiff_t axis) {
  std::ptrdiff_t const last = static_cast<std::ptrdiff_t>(Rank), own = L::axis == 0 ? last : std::ptrdiff_t{L::axis};
  if (c.array<double>("x").extents.size() != Rank + 1 || (axis < 0 ? axis + last + 1 : axis) != own) return false;
  if constexpr (L::axis <= Rank) check_in(c, layer, std::make_index_sequence<Rank>());
  return true;
}

template <class... Options>
bool is(ReferenceCase const& c, json const& config) {
  using L = BatchNormalization<Options...>;
  if (config.at("scale") != L::scale || config.at("center") != L::center || config.at("renorm")) return false;
  L const layer{.momentum = config.at("momentum"), .epsilon = config.at("epsilon")};
  std::ptrdiff_t const axis = config.at("axis");
  return check_axis<1>(c, layer, axis) || check_axis<2>(c, layer, axis) || check_axis<3>(c, layer, axis);
}

}  // namespace

BOOST_AUTO_TEST_CASE(batch_normalization_has_keras_outputs_gradients_and_moving_statistics) {
  Tally tally({"BatchNormalization"});
  for (ReferenceCase const& c : reference_cases("layers")) {
    if (c.class_name() != "BatchNormalization") continue;
    json const& config = c.description.at("config");
    if (is<>(c, config) || is<NoScale>(c, config) || is<NoCenter>(c, config) || is<Axis<1>>(c, config) ||
        is<Axis<2>>(c, config))
      tally.ran(c);
    else
      tally.missing(c, config.dump());
  }
  tally.check();
}
