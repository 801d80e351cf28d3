/// A whole run in one file: weights and optimizer as in a file of weights, and beside them all that the run stands on.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/callbacks/archive.hpp"
#include "trireme/data/checksum.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/text.hpp"

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

/// The run's own values, and what they have to fit.
template <class Part, class Run>
void run_state(Archive<Part>& archive, Part& part, Run& run) {
  archive.same("is of another model (its layers, optimizer, metrics, scalars or seed)", "model",
               model_fingerprint(part.model()));
  archive("part", part);
  run.state(archive);
}

}  // namespace detail

/// Writes the checkpoint on the chief. Collective; an error there is thrown on every process. `run.state(archive)`
/// names what there is beside the model.
template <class Part, class Run>
void save_checkpoint(Part& part, Run& run, CheckpointFile const& file) {
  using T = typename Part::T;
  part.require_together("saving the run");
  part.drain();
  detail::HostState<T> state;
  part.stream_to(state);
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
/// reads. `report`: on the chief, what is to be said of damaged files.
/// \throws FileError that says what does not fit, on every process
template <class Part, class Run>
bool load_checkpoint(Part& part, Run& run, CheckpointFile const& file, std::string& report) {
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
                    &file, weights, &tensors, &report);
  if (!found) return false;
  broadcast_tensors(part.group(), tensors);
  Archive<Part> archive(part, file.path(), std::move(tensors));
  detail::run_state(archive, part, run);
  archive.require_complete();
  part.set_parameters(state.parameters);
  for (std::size_t slot = 0; slot < state.slots.size(); ++slot) part.set_slot(slot, state.slots[slot]);
  return true;
}

}  // namespace trireme
