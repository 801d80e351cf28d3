/// Checkpoint: a whole run in one file, with weights and optimizer as in a file of weights, and the rest of its state.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/callbacks/archive.hpp"
#include "trireme/callbacks/own_values.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/mpi/same_config.hpp"

namespace trireme {

namespace detail {

/// Text of all that a run has in common with the one that goes on with it: layers with their options, the graph,
/// optimizer, loss, metrics, scalars and seed (from which all random numbers follow, with the step). Numbers of a range
/// may differ, so that a run can resume with another rate of Dropout.
template <class Model>
std::string model_text(Model const& model) {
  Config all, fixed;
  all.add("the seed", formatted("{}", model.seed()));
  list_model(all, model);
  all.add("the model", type_text<Model>());
  if constexpr (is_trainable<Model>) all.add("the optimizer's state", optimizer_text(model.optimizer()));
  for (auto const& entry : all.entries())
    if (!entry.may_change) fixed.add(entry.name, entry.value);
  return config_text(fixed);
}

/// Saves or sets the run's own values besides the model's text, and checks that they fit.
/// \return the number of processes that saved the run
template <class Engine, class Run>
std::size_t run_state(Archive<Engine>& archive, Engine& engine, Run& run) {
  std::size_t ranks = engine.group().size();
  archive("ranks", ranks);
  archive("part", engine);
  run.state(archive);
  return ranks;
}

/// True if all of so many processes are known to throw the error.
inline bool is_of_all(std::exception_ptr const& error, std::size_t processes) {
  if (processes == 1) return true;
  try {
    std::rethrow_exception(error);
  } catch (Error const& e) {
    return e.uniform();
  } catch (...) {
    return false;
  }
}

/// Sets the run's own values; all or, where the checkpoint does not fit or a callback throws, none of them. Another
/// error of one process alone ends the others anyway.
template <class Engine, class Run>
std::size_t set_or_undo(Archive<Engine>& archive, Engine& engine, Run& run) {
  Archive<Engine> before(engine, archive.path());
  run_state(before, engine, run);
  try {
    std::size_t const saved_by = run_state(archive, engine, run);
    archive.together([&] { archive.require_complete(); });
    archive.require_placement();
    return saved_by;
  } catch (...) {
    if (archive.failed() || is_of_all(std::current_exception(), engine.group().size())) {
      auto undo = Archive<Engine>::undo(before);
      try {
        run_state(undo, engine, run);
      } catch (...) {  // by the same callback, with what it threw before
      }
      if constexpr (requires { engine.resumed(); }) engine.resumed();
    }
    throw;
  }
}

/// Degree to which results agree with those under the saved run's placement, as readable text.
template <class Engine>
std::string resumed_agreement(Archive<Engine> const& archive, Engine const& engine) {
  if (!archive.moved()) return "agree to the bit";
  if constexpr (requires { engine.moved_agreement(); })
    return engine.moved_agreement();
  else
    return "agree to rounding";
}

/// A sentence if the run was saved under another placement; empty if not.
template <class Engine>
std::string describe_move(Archive<Engine> const& archive, Engine const& engine, std::size_t saved_by) {
  std::size_t const ranks = engine.group().size();
  if (!archive.moved() && saved_by == ranks) return {};
  auto const count = [](std::size_t n) { return formatted("{} rank{}", n, n == 1 ? "" : "s"); };
  std::string const agreement = resumed_agreement(archive, engine);
  if (saved_by != ranks)
    return formatted("resumed on {} what {} saved: results {}", count(ranks), count(saved_by), agreement);
  return formatted("resumed ({}) what was saved otherwise ({}): results {}", archive.here(), archive.there(),
                   agreement);
}

}  // namespace detail

/// Writes the checkpoint on the chief, and changes no state of the training. Collective. `run.state(archive)` names the
/// values besides the model.
/// \throws FileError on all processes if the file cannot be written.
template <class Engine, class Run>
void save_checkpoint(Engine& engine, Run& run, CheckpointFile const& file) {
  using T = typename Engine::T;
  engine.require_together("saving the run");
  detail::HostState<T> state;
  std::as_const(engine).gather_state(state);
  detail::set_stored_number(engine, state);
  Archive<Engine> archive(engine, file.path());
  archive.same_model(detail::model_text(engine.model()));
  detail::run_state(archive, engine, run);
  StoredTensors values = archive.take_tensors();
  detail::gather_own_values(engine.group(), values);
  auto const& model = engine.model().description();
  auto const weights = detail::state_tensors<NamedTensor, typename Engine::Model::Optimizer>(
      model, state, true, !engine.optimizer().has_schedule(),
      [](auto group, std::size_t index, auto extents, auto const* data) {
        return named_tensor(std::move(group), index, std::move(extents), data);
      });
  engine.on_chief(
      [](auto const&, CheckpointFile const* target, std::vector<NamedTensor> const& all,
         std::vector<NamedGroup> const& groups, StoredTensors const& tensors) { target->write(all, groups, tensors); },
      &file, weights, detail::state_groups(engine.model()), values);
}

/// Restores model and run from the newest undamaged checkpoint; false if there is none. Collective; only the chief
/// reads. Damaged files and a change of placement are messages of the run. `placement`: `any` accepts a run that other
/// numbers of processes and threads have saved. \throws FileError that names the file and the difference, on every
/// process; model and run are then as before
template <class Engine, class Run>
bool load_checkpoint(Engine& engine, Run& run, CheckpointFile const& file, Placement placement) {
  StoredTensors tensors;
  std::string damage;
  std::string const found = engine.on_chief([](auto const&, CheckpointFile const* source, StoredTensors* values,
                                               std::string* report) { return source->read(*values, *report); },
                                            &file, &tensors, &damage);
  if (found.empty()) return false;
  if (!damage.empty()) run.warning(formatted("warning: {}; an earlier checkpoint was taken", damage));
  detail::OwnValues const own = detail::take_own_values(tensors);
  broadcast_tensors(engine.group(), tensors);
  std::string const given_up = detail::scatter_own_values(engine.group(), own, tensors);
  Archive<Engine> archive(engine, found, std::move(tensors), placement);
  archive.same_model(detail::model_text(engine.model()));  // of another model no tensor needs to be read
  auto state = detail::state_to_read(engine);
  auto const weights = detail::state_tensors<NamedDestination, typename Engine::Model::Optimizer>(
      engine.model().description(), state, true, !engine.optimizer().has_schedule(),
      [](auto group, std::size_t index, auto extents, auto* data) {
        return named_destination(std::move(group), index, std::move(extents), data);
      });
  engine.on_chief([](auto const&, CheckpointFile const* source, std::string const& path,
                     std::vector<NamedDestination> const& all) { source->read_weights(path, all); },
                  &file, found, weights);
  std::size_t const saved_by = detail::set_or_undo(archive, engine, run);
  engine.weights().set_parameters(state.parameters);
  for (std::size_t slot = 0; slot < state.slots.size(); ++slot) engine.set_slot(slot, state.slots[slot]);
  if constexpr (requires { engine.resumed(); }) engine.resumed();
  if (!given_up.empty())
    run.warning(formatted("'{}' was not the same on all of the {} ranks that saved the run; it is that of rank 0 now",
                          printable(given_up, 200), saved_by));
  if (std::string const move = detail::describe_move(archive, engine, saved_by); !move.empty()) run.warning(move);
  return true;
}

}  // namespace trireme
