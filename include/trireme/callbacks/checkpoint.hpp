/// A whole run in one file: weights and optimizer as in a file of weights, and beside them all that the run stands on.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/callbacks/archive.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/models/state_file.hpp"

namespace trireme {

namespace detail {

/// Equal for models of the same layers, optimizer, scalars, metrics and seed (from which all random numbers follow,
/// with the step). Options that are numbers may differ: whoever resumes may want another rate of Dropout.
template <class Model>
std::uint64_t model_fingerprint(Model const& model) {
  ModelDescription const& description = model.description();
  std::string text = formatted("{} {}", sizeof(typename Model::scalar), model.seed());
  for (LayerInfo const& layer : description.layers) text += formatted(" {} {}", layer.class_name, layer.path);
  for_each_weight(description,
                  [&](WeightInfo const& weight) { text += formatted(" {} {}", weight.path, weight.size); });
  for (auto const& name : Model::log_names) text += formatted(" {}", name);
  if constexpr (requires { Model::Optimizer::name.view(); }) text += formatted(" {}", Model::Optimizer::name.view());
  return data::hash_bytes(text.data(), text.size());
}

/// The run's own values, and what they have to fit. Returns how many processes saved it.
template <class Part, class Run>
std::size_t run_state(Archive<Part>& archive, Part& part, Run& run) {
  archive.same("is of another model (its layers, optimizer, metrics, scalars or seed)", "model",
               model_fingerprint(part.model()));
  std::size_t ranks = part.group().size();
  archive("ranks", ranks);
  archive("part", part);
  run.state(archive);
  return ranks;
}

/// How far results agree with those of the run where it was saved, for people to read.
template <class Part>
std::string resumed_agreement(Archive<Part> const& archive, Part const& part) {
  if (!archive.moved()) return "agree to the bit";
  if constexpr (requires { part.moved_agreement(); })
    return part.moved_agreement();
  else
    return "agree to rounding";
}

/// A sentence if the run was saved elsewhere, else nothing.
template <class Part>
std::string describe_move(Archive<Part> const& archive, Part const& part, std::size_t saved_by) {
  std::size_t const ranks = part.group().size();
  if (!archive.moved() && saved_by == ranks) return {};
  auto const count = [](std::size_t n) { return formatted("{} rank{}", n, n == 1 ? "" : "s"); };
  std::string const agreement = resumed_agreement(archive, part);
  if (saved_by != ranks)
    return formatted("resumed on {} what {} saved: results {}", count(ranks), count(saved_by), agreement);
  return formatted("resumed ({}) what was saved otherwise ({}): results {}", archive.here(), archive.there(),
                   agreement);
}

}  // namespace detail

/// What loading a checkpoint has to say to people, on the chief: of files that were damaged, and of where it was saved.
struct LoadReport {
  std::string damage{}, move{};
};

/// Writes the checkpoint on the chief, and changes nothing that training goes on with. Collective; an error there is
/// thrown on every process. `run.state(archive)` names what there is beside the model.
template <class Part, class Run>
void save_checkpoint(Part& part, Run& run, CheckpointFile const& file) {
  using T = typename Part::T;
  part.require_together("saving the run");
  detail::HostState<T> state;
  std::as_const(part).stream_to(state);
  Archive<Part> archive(part, file.path());
  detail::run_state(archive, part, run);
  auto const& model = part.model().description();
  auto const weights = detail::state_tensors<NamedTensor, typename Part::Model::Optimizer>(
      model, state, true, !part.has_schedule(), [](auto group, std::size_t index, auto extents, auto const* data) {
        return named_tensor(std::move(group), index, std::move(extents), data);
      });
  part.on_chief(
      [](auto const&, CheckpointFile const* target, std::vector<NamedTensor> const& all,
         std::vector<NamedGroup> const& groups, StoredTensors const& tensors) { target->write(all, groups, tensors); },
      &file, weights, detail::layer_groups(model), archive.tensors());
}

/// Sets model and run to what the newest undamaged checkpoint holds; false if there is none. Collective; only the chief
/// reads. `placement`: whether it may have been saved by other processes and threads.
/// \throws FileError that says what does not fit, on every process
template <class Part, class Run>
bool load_checkpoint(Part& part, Run& run, CheckpointFile const& file, Placement placement, LoadReport& report) {
  using T = typename Part::T;
  auto const& model = part.model().description();
  detail::HostState<T> state;
  bool const has_room = !detail::is_divided<Part> || part.group().is_chief();
  state.parameters.resize(has_room ? model.arena_elements() : 0);
  state.slots.assign(part.slots(), std::vector<T>(has_room ? model.elements : 0));
  auto const weights = detail::state_tensors<NamedDestination, typename Part::Model::Optimizer>(
      model, state, true, !part.has_schedule(), [](auto group, std::size_t index, auto extents, auto* data) {
        return named_destination(std::move(group), index, std::move(extents), data);
      });
  StoredTensors tensors;
  bool const found =
      part.on_chief([](auto const&, CheckpointFile const* source, std::vector<NamedDestination> const& all,
                       StoredTensors* values, std::string* damage) { return source->read(all, *values, *damage); },
                    &file, weights, &tensors, &report.damage);
  if (!found) return false;
  broadcast_tensors(part.group(), tensors);
  Archive<Part> archive(part, file.path(), std::move(tensors), placement);
  std::size_t const saved_by = detail::run_state(archive, part, run);
  archive.require_complete();
  part.set_parameters(state.parameters);
  for (std::size_t slot = 0; slot < state.slots.size(); ++slot) part.set_slot(slot, state.slots[slot]);
  if constexpr (requires { part.resumed(); }) part.resumed();
  report.move = detail::describe_move(archive, part, saved_by);
  return true;
}

}  // namespace trireme
