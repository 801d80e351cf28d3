/// Initial parameters of a model, from its initializers or the application's memory.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/backend/execution/views.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// The arena that training changes: the application's View where the model has one, otherwise a new one.
/// \throws ShapeError if the View does not hold as many numbers as the model says.
template <class Arena, class Space, class Model>
Arena parameter_arena(Space const& space, Model const& model) {
  std::size_t const elements = model.description().arena_elements();
  if constexpr (requires { model.parameter_view(); }) {
    Arena const arena = model.parameter_view();
    if (arena.extent(0) != elements)
      throw ShapeError(formatted("the View of the parameters '{}' holds {} numbers, but the model has {}",
                                 arena.label(), arena.extent(0), elements));
    return arena;
  } else {
    return make_view<Arena>(space, "trireme::parameters", elements);
  }
}

/// Initial values, in host memory.
template <class Model>
std::vector<typename Model::scalar> initial_parameters(Model const& model) {
  std::vector<typename Model::scalar> values(model.description().arena_elements());
  if constexpr (requires { model.parameter_view(); })
    copy_view(host_view(values), model.parameter_view());
  else
    model.initialize(values);
  return values;
}

}  // namespace trireme
