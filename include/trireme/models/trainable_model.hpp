/// The TrainableModel concept: it owns no state, and computes over a slice of rows with parameters that it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/layers/call.hpp"
#include "trireme/models/head.hpp"

namespace trireme {

/// Model for `compile(strategy, model)`: a Model of layers is one, and so is any class with the members below. It owns
/// no state, and computes over a slice of rows with parameters that it is given.
///
/// - `scalar`, `label`, `Optimizer`: types of numbers, of targets, of the optimizer.
/// - `outputs`, `totals_width`, `log_names`, `log_directions`, `class_labels`: constants; see OwnModel.
/// - `description()`, `cost()`, `optimizer()`, `seed()`.
/// - `input_size()`, `output_size()`, `target_size()`, `classes()`, `sample_requirements()`: of one sample.
/// - `masks_positions()`, `positions(rows)`, `counted_positions(targets, rows)`: what the mean of the loss is over.
/// - `initialize(arena)`: first values, in host memory; or, where the application keeps the parameters,
///   `parameter_view()`: a View of them in the space's memory.
/// - `workspace_bytes<Context>(rows)`: bytes of `memory` for so many rows.
/// - `train(context, slice, scales, parameters, gradients, memory, totals, keys, sink)`: `gradients` is overwritten
///   with the gradient of scale * sum of losses, `totals` is added to.
/// - `test(context, slice, parameters, memory, totals)`.
/// - `predict(context, rows, x, y, parameters, memory)`: y (rows, output numbers) for x (rows, input numbers).
/// - `results(totals)`: values of log_names from merged totals.
/// - `takes_scattered_rows<Context>(rows)`, perhaps: true if train and test take `rows` scattered rows
///   (Slice::x).
///
/// Compile-time errors: `compile` names this list if a member is missing. Members communicate through `context` and
/// `sink` alone.
template <class M>
concept TrainableModel = requires(M const model, ThreadContext context,
                                  Slice<typename M::scalar, typename M::label> slice,
                                  PerOutput<M::outputs> const& scales, typename M::scalar* values,
                                  typename M::scalar const* parameters, std::byte* memory, double* totals,
                                  StepKeys const& keys, std::size_t rows) {
  typename M::Optimizer;
  M::totals_width;
  M::log_names.size();
  M::log_directions.size();
  M::class_labels;
  model.description().arena_elements();
  model.cost();
  model.optimizer();
  model.seed();
  model.input_size() + model.output_size() + model.target_size() + model.classes();
  model.sample_requirements();
  model.masks_positions();
  model.positions(rows);
  model.template workspace_bytes<ThreadContext>(rows);
  model.train(context, slice, scales, parameters, values, memory, totals, keys, nullptr);
  model.test(context, slice, parameters, memory, totals);
  model.predict(context, rows, parameters, values, parameters, memory);
  model.results(totals);
}
&&(
    requires(M const model, std::span<typename M::scalar> arena) { model.initialize(arena); } ||
    requires(M const model) { model.parameter_view(); });

}  // namespace trireme
