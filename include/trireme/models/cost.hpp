/// Memory and communication of a model: constant expressions where its extents are static.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/layers/layer.hpp"
#include "trireme/models/logits.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// Memory and communication of a model, in bytes and numbers:
/// `constexpr auto cost = model_cost<float>(Sequential{Input<784>{}, Dense<128, ReLU>{}, Dense<10>{}});`
struct ModelCost {
  std::size_t parameters = 0;        ///< numbers that training changes
  std::size_t arena_bytes = 0;       ///< of the parameters with padding; so long are gradients and each optimizer slot
  std::size_t state_bytes = 0;       ///< of the states, which every process holds and reduces as well
  std::size_t frozen_bytes = 0;      ///< of the weights of Frozen layers, which are not reduced
  std::size_t activation_bytes = 0;  ///< of the layers' outputs for one sample

  /// Bytes that a process contributes to the reduction of a step, where there are several.
  constexpr std::size_t reduced_bytes() const { return arena_bytes + state_bytes; }
};

/// Memory of a process for its batches, in bytes, as `summary` shows it.
struct MemoryUse {
  ModelCost model{};
  std::size_t slots = 0;                       ///< of the optimizer
  std::size_t processes = 1;                   ///< that share each batch
  std::size_t rows = 0;                        ///< of a batch that are this process's
  std::size_t workspace_bytes = 0;             ///< for them: activations, their gradients and what kernels need
  std::size_t slot_bytes = model.arena_bytes;  ///< of each slot: less where this process holds a part of it
  char const* members = "processes";  ///< what `processes` counts: "devices" of one process, each with all this

  /// Bytes of all optimizer slots of the process.
  constexpr std::size_t optimizer_bytes() const { return slots * slot_bytes; }
  /// Bytes that the process contributes to the reduction of a step; 0 if it is alone.
  constexpr std::size_t reduced_bytes() const { return processes > 1 ? model.reduced_bytes() : 0; }
};

namespace detail {

template <class T, class Composite, class In>
constexpr void add_cost(Composite const& composite, In const& in, ModelCost& cost) {
  composite.for_each_layer(in, [&cost]<class L>(L const& layer, auto const& extents) {
    if constexpr (is_frozen<L>) {
      ModelCost own;
      add_cost<T>(layer, extents, own);
      cost.frozen_bytes += own.arena_bytes + own.state_bytes + own.frozen_bytes;
      cost.activation_bytes += own.activation_bytes;
    } else if constexpr (is_composite<L>) {
      add_cost<T>(layer, extents, cost);
    } else {
      for (auto const& parameter : parameters_of(layer, extents)) cost.parameters += parameter.shape.size();
      cost.arena_bytes += parameter_elements<T>(layer, extents) * sizeof(T);
      cost.state_bytes += state_elements<T>(layer, extents) * sizeof(T);
      if constexpr (!reinterprets<L>) cost.activation_bytes += layer.output(extents).size() * sizeof(T);
    }
  });
}

/// Workspace for a step over `rows` samples. `part`: what `trained_part` leaves of the model for its loss.
template <class T, class Context, bool on_logits, class Part>
constexpr std::size_t step_workspace(Part const& part, std::size_t rows) {
  auto const in = part.input();
  std::size_t const inputs = is_parts<std::remove_const_t<decltype(in)>> ? rows * in.size() * sizeof(T) : 0;
  return aligned_bytes(inputs) + (on_logits ? 3 : 2) * aligned_bytes(rows * part.output(in).size() * sizeof(T)) +
         workspace_bytes<T, Context>(part, in, rows);
}

}  // namespace detail

/// Memory and communication of a model that begins with an Input, computed in T: a constant expression where its
/// extents are static.
template <class T, class Architecture>
constexpr ModelCost model_cost(Architecture const& architecture) {
  ModelCost cost;
  detail::add_cost<T>(architecture, architecture.input(), cost);
  return cost;
}

}  // namespace trireme
