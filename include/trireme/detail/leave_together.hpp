/// leave_together: a call of a model that an error ends on all of its processes.
#pragma once

#include <cstdint>
#include <exception>

#include "trireme/environment/error_barrier.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

/// The call of an engine's recover(), where it has one. No std::function: it would be code of its own for each call.
template <class Engine>
ErrorBarrier::CleanUp recovery(Engine& engine) {
  if constexpr (requires { engine.recover(); })
    return {[](void* it) { static_cast<Engine*>(it)->recover(); }, &engine};
  else
    return {};
}

/// Calls f, the body of a call for which this thread alone uses the model. An error that leaves it on this process
/// alone ends all of them, which would wait for this one. \param model  a PlacedModel
template <class Placed, class F>
auto leave_together(Placed& model, char const* call, F const& f) {
  // Errors of a process that makes this call alone: of a thread beside the model's, and of a worker at its own pace.
  auto const use = model.begin_together(call);
  PositionScope const position;
  if constexpr (requires { model.engine().require_together(call); }) model.engine().require_together(call);
  ErrorBarrier::Scope together(model.error_barrier());
  if (model.error_barrier() == nullptr) return f();
  try {
    return f();
  } catch (...) {
    std::uint64_t begun = 0;
    if constexpr (requires { model.engine().begun(); }) begun = model.engine().begun();
    together.note(std::current_exception(), begun, recovery(model.engine()));
    throw;
  }
}

}  // namespace trireme::detail
