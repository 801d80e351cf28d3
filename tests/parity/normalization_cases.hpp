/// BatchNormalization by the configuration of a reference case: output, gradients and moving statistics.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "parity/layers.hpp"
#include "parity/reference.hpp"
#include "trireme/layers/batch_normalization.hpp"

namespace trireme::test {

/// Numbers of the weights with these names, one after the other in an arena, with `padding` in between.
template <class T>
std::vector<T> arena_of(ReferenceCase const& c, std::vector<std::string> const& names, char const* key,
                        T padding = {}) {
  std::vector<T> all;
  for (auto const& weight : c.description.at("weights"))
    for (auto const& name : names) {
      if (weight.at("name") != name) continue;
      auto const values = c.array<T>(weight.at(key)).values;
      std::size_t const begin = all.size();
      all.insert(all.end(), values.begin(), values.end());
      all.resize(begin + aligned_count<T>(values.size()), padding);
    }
  return all;
}

template <class Context, class T, class L, class In>
void check_normalization(ReferenceCase const& c, L const& layer, In const& in) {
  std::string const where = name_of_context<Context>();
  std::vector<std::string> const trained{"gamma", "beta"}, moving{"moving_mean", "moving_variance"};
  bool const training = c.description.at("training");
  std::size_t const rows = c.array<T>("x").extents[0];
  auto const initial_states = arena_of<T>(c, moving, "array");
  auto const numbers = [](std::vector<T> const& values) { return in_memory_of<Context>(values); };
  auto const x = numbers(c.array<T>("x").values), dy = numbers(c.array<T>("dy").values);
  auto const parameters = numbers(arena_of<T>(c, trained, "array")), states = numbers(initial_states);
  auto const garbage = [&](auto const& like) { return numbers(std::vector<T>(like.size(), T(1e30))); };
  auto const y = garbage(x), dx = garbage(x), gradients = garbage(parameters);
  auto const updates = numbers(std::vector<T>(states.size()));
  Workspace<Context> const workspace(detail::workspace_bytes<T, Context>(layer, in, rows));

  Context context;
  detail::run_forward(context, layer, in,
                      ForwardPass<T>{.rows = rows,
                                     .x = x.data(),
                                     .y = y.data(),
                                     .parameters = parameters.data(),
                                     .workspace = workspace.get(),
                                     .keys = {},
                                     .training = training,
                                     .states = states.data(),
                                     .state_updates = training ? updates.data() : nullptr});
  c.compare<T>("y" + where, c.array<double>("y").values, to_host(y));
  if (!training) return;
  detail::run_backward(context, layer, in,
                       BackwardPass<T>{.rows = rows,
                                       .x = x.data(),
                                       .y = y.data(),
                                       .dy = dy.data(),
                                       .dx = dx.data(),
                                       .parameters = parameters.data(),
                                       .gradients = gradients.data(),
                                       .workspace = workspace.get(),
                                       .keys = {}});
  c.compare<T>("dx" + where, c.array<double>("dx").values, to_host(dx));
  auto const expected = arena_of<T>(c, trained, "gradient", T(1e30));
  c.compare<T>("gradients" + where, std::vector<double>(expected.begin(), expected.end()), to_host(gradients));
  auto const after = arena_of<T>(c, moving, "after_update");
  auto const momentum = static_cast<T>(layer.momentum);
  auto const update = to_host(updates);
  std::vector<T> moved(update.size());
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = momentum * initial_states[i] + (1 - momentum) * update[i];
  c.compare<T>("moving statistics" + where, std::vector<double>(after.begin(), after.end()), moved);
}

template <class... Contexts, class L, std::size_t... I>
void check_normalization_in(LayerCase<Contexts...> const& c, L const& layer, std::index_sequence<I...>) {
  auto const extents = c.template array<double>("x").extents;
  Extents<(static_cast<void>(I), dynamic)...> const in{{extents.at(I + 1)...}};
  (check_normalization<Contexts, double>(c, layer, in), ...);
  (check_normalization<Contexts, float>(c, layer, in), ...);
}

template <std::size_t Rank, class Case, class L>
bool check_normalization_axis(Case const& c, L const& layer, std::ptrdiff_t axis) {
  std::ptrdiff_t const last = static_cast<std::ptrdiff_t>(Rank), own = L::axis == 0 ? last : std::ptrdiff_t{L::axis};
  if (c.template array<double>("x").extents.size() != Rank + 1 || (axis < 0 ? axis + last + 1 : axis) != own)
    return false;
  if constexpr (L::axis <= Rank) check_normalization_in(c, layer, std::make_index_sequence<Rank>());
  return true;
}

template <class... Options, class Case>
bool normalization_is(Case const& c, nlohmann::json const& config) {
  using L = BatchNormalization<Options...>;
  if (config.at("scale") != L::scale || config.at("center") != L::center || config.at("renorm")) return false;
  L const layer{.momentum = config.at("momentum"), .epsilon = config.at("epsilon")};
  std::ptrdiff_t const axis = config.at("axis");
  return check_normalization_axis<1>(c, layer, axis) || check_normalization_axis<2>(c, layer, axis) ||
         check_normalization_axis<3>(c, layer, axis);
}

template <class Case>
void check_batch_normalization() {
  check_layers<Case>({"BatchNormalization"}, false, [](auto const& c, nlohmann::json const& config) {
    return normalization_is<>(c, config) || normalization_is<NoScale>(c, config) ||
           normalization_is<NoCenter>(c, config) || normalization_is<Axis<1>>(c, config) ||
           normalization_is<Axis<2>>(c, config);
  });
}

}  // namespace trireme::test
