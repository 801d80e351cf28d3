/// The complete state of a model in a file: weights and optimizer, as Keras lays them out.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/weights_file.hpp"
#include "trireme/io/weights_index.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/inference_model.hpp"

namespace trireme {

namespace detail {

/// The group of a file that holds the weight: "layers/dense/vars", "layers/lstm/cell/vars".
std::string stored_group(ModelDescription const& model, WeightInfo const& weight);

/// True if one group of a file holds both weights.
inline bool in_one_group(WeightInfo const& a, WeightInfo const& b) {
  return a.layer == b.layer && a.keras_group == b.keras_group;
}

/// Calls f(path of the group, index in it, weight) for each weight, within a group in Keras's order.
template <class F>
void for_each_stored_weight(ModelDescription const& model, F const& f) {
  std::size_t index = 0;
  WeightInfo const* before = nullptr;
  for_each_weight(model, [&](WeightInfo const& weight) {
    index = before && in_one_group(*before, weight) ? index + 1 : 0;
    before = &weight;
    f(path_parts(stored_group(model, weight)), index, weight);
  });
}

/// The parameters in Keras's order, layer after layer.
std::vector<ParameterInfo const*> stored_parameters(ModelDescription const& model);

/// Slots that Keras stores side by side for each variable (Adam's m and v); the others follow one after the other.
template <class Optimizer>
constexpr std::size_t interleaved_slots(std::size_t slots) {
  if constexpr (requires { Optimizer::interleaved_slots; })
    return slots < Optimizer::interleaved_slots ? slots : Optimizer::interleaved_slots;
  else
    return slots < 1 ? slots : 1;
}

/// Calls f(slot, parameter) in the order of `optimizer/vars`, after iteration and learning rate.
template <class Optimizer, class F>
void for_each_slot(ModelDescription const& model, std::size_t slots, F const& f) {
  std::size_t const together = interleaved_slots<Optimizer>(slots);
  auto const parameters = stored_parameters(model);
  for (ParameterInfo const* parameter : parameters)
    for (std::size_t slot = 0; slot < together; ++slot) f(slot, *parameter);
  for (std::size_t slot = together; slot < slots; ++slot)
    for (ParameterInfo const* parameter : parameters) f(slot, *parameter);
}

/// Host copies of an engine's state: parameters, then the optimizer's slots.
template <class T>
struct HostState {
  std::vector<T> parameters;
  std::vector<std::vector<T>> slots;
  std::int64_t iteration = 0;
  T learning_rate = 0;
  T stored_number = 0;  ///< behind the slots, of optimizers that have one in files
};

/// An optimizer that has a number behind its slots in files, as Keras's Nadam; it follows from the iteration.
template <class Optimizer>
concept HasStoredNumber = requires(Optimizer const& optimizer) {
  { optimizer.stored_number(std::uint64_t{}) } -> std::convertible_to<double>;
};

/// Sets that number of a state that was gathered.
template <class Engine, class T>
void set_stored_number(Engine const& engine, HostState<T>& state) {
  if constexpr (HasStoredNumber<typename Engine::Model::Optimizer>)
    state.stored_number =
        static_cast<T>(engine.model().optimizer().stored_number(static_cast<std::uint64_t>(state.iteration)));
}

/// Address of the element, or null in a vector without elements: of a process that has only extents.
template <class Values>
auto* element_or_null(Values& values, std::size_t offset) {
  return values.empty() ? nullptr : values.data() + offset;
}

/// The tensors of a state; Tensor is NamedTensor or NamedDestination, State const or not.
template <class Tensor, class Optimizer, class State, class Make>
std::vector<Tensor> state_tensors(ModelDescription const& model, State& state, bool with_optimizer, bool with_rate,
                                  Make const& make) {
  std::vector<Tensor> tensors;
  for_each_stored_weight(model, [&](std::vector<std::string> path, std::size_t index, WeightInfo const& p) {
    tensors.push_back(make(std::move(path), index, p.shape.to_vector(), element_or_null(state.parameters, p.offset)));
  });
  if (!with_optimizer) return tensors;
  std::vector<std::string> const group{"optimizer", "vars"};
  std::size_t index = 0;
  tensors.push_back(make(group, index++, std::vector<std::size_t>{}, &state.iteration));
  if (with_rate) tensors.push_back(make(group, index++, std::vector<std::size_t>{}, &state.learning_rate));
  for_each_slot<Optimizer>(model, state.slots.size(), [&](std::size_t slot, ParameterInfo const& p) {
    tensors.push_back(make(group, index++, p.shape.to_vector(), element_or_null(state.slots[slot], p.offset)));
  });
  if constexpr (HasStoredNumber<Optimizer>)
    tensors.push_back(make(group, index, std::vector<std::size_t>{}, &state.stored_number));
  return tensors;
}

/// True if each process holds only a part of the model.
template <class Engine>
inline constexpr bool is_divided = requires { requires Engine::divided; };

/// Elements [offset, offset + count) of the weights, on every process. Collective.
template <class Engine>
std::vector<typename Engine::T> values_on_all(Engine const& engine, std::size_t offset, std::size_t count) {
  if constexpr (requires { engine.weights().mean_values(offset, count); })
    return engine.weights().mean_values(offset, count);  // each process has its own
  else if constexpr (requires { engine.weights().chief_values(offset, count); })
    return engine.weights().chief_values(offset, count);  // some processes have no weights to read
  else
    return engine.weights().host_values(offset, count);
}

/// State with room for what the chief reads from a file. `set_parameters` and `set_slot` broadcast it to the other
/// processes, which need the same room unless each of them holds only a part of the model.
template <class Engine>
HostState<typename Engine::T> state_to_read(Engine const& engine) {
  using T = typename Engine::T;
  auto const& model = engine.model().description();
  bool const has_room = !is_divided<Engine> || engine.group().is_chief();
  HostState<T> state;
  state.parameters.resize(has_room ? model.arena_elements() : 0);
  state.slots.assign(engine.slots(), std::vector<T>(has_room ? model.elements : 0));
  return state;
}

/// An optimizer's kind, and the state that it keeps: "Adam (momentum, velocity)".
template <class Optimizer>
std::string optimizer_text(Optimizer const& optimizer) {
  std::vector<std::string> slots;
  if constexpr (requires { optimizer.slot_name(std::size_t{}); })
    for (std::size_t slot = 0; slot < optimizer.slots(); ++slot) slots.emplace_back(optimizer.slot_name(slot));
  std::string const kind = type_name<Optimizer>();
  return slots.empty() ? kind : formatted("{} ({})", kind, joined(slots, ", "));
}

/// The group of a file with the optimizer's state, which has the optimizer's text beside it; Keras's has not.
template <class Optimizer>
NamedGroup optimizer_group(Optimizer const& optimizer) {
  return {{"optimizer", "vars"}, optimizer_text(optimizer), "optimizer"};
}

/// True if the file has the state of this optimizer, as far as it says so, of so many variables. A warning says if it
/// has another number of them, or names another optimizer.
bool holds_optimizer(std::string const& path, std::size_t variables, NamedGroup const& optimizer);

/// The file's layers, or none if it has one that cannot be described: weights that have been read are not refused for a
/// warning's sake.
std::vector<StoredLayer> layers_to_warn_of(std::string const& path);

/// Warns if at the place of a layer the file has weights under the name of another layer of the model. Numbered names
/// of classes, such as "dense_1", are no reason: Keras numbers layers in the order in which programs make them.
void warn_of_other_places(std::string const& path, std::vector<StoredLayer> const& stored,
                          ModelDescription const& model);

/// Checks a file's number of steps, and its learning rate if that is read. \throws FileError "<path>: the learning rate
/// is -0.5, which is outside of [0, inf)"
void require_optimizer_numbers(std::string const& path, std::int64_t iteration, std::optional<double> learning_rate);

/// The groups of all layers, of those within them and of the composites around them, with the names that users see.
std::vector<NamedGroup> layer_groups(ModelDescription const& model);

/// These, and the optimizer's if the model has one.
template <class Model>
std::vector<NamedGroup> state_groups(Model const& model) {
  std::vector<NamedGroup> groups = layer_groups(model.description());
  if constexpr (is_trainable<Model>) groups.push_back(optimizer_group(model.optimizer()));
  return groups;
}

}  // namespace detail

/// Writes weights and optimizer state to `path` (.weights.h5, or .npz) on the chief. Collective.
/// \throws FileError on all processes if the name ends otherwise, or the file cannot be written.
template <class Engine>
void save_state(Engine const& engine, std::string const& path) {
  using T = typename Engine::T;
  using Optimizer = typename Engine::Model::Optimizer;
  std::string const fault = output_name_fault(path, weights_file_format);  // before all weights travel to the chief
  if (!fault.empty()) raise_uniform(FileError(path, fault));
  auto const& model = engine.model().description();
  detail::HostState<T> state;
  engine.gather_state(state);
  detail::set_stored_number(engine, state);
  auto const tensors = detail::state_tensors<NamedTensor, Optimizer>(
      model, state, is_trainable<typename Engine::Model>, !engine.optimizer().has_schedule(),
      [](auto group, std::size_t index, auto extents, auto const* data) {
        return named_tensor(std::move(group), index, std::move(extents), data);
      });
  engine.on_chief([](auto const&, std::string const& file, std::vector<NamedTensor> const& all,
                     std::vector<NamedGroup> const& groups) { write_weights(file, all, groups); },
                  path, tensors, detail::state_groups(engine.model()));
}

/// Reads a file of save_state or Keras on the chief, and sets all processes to what it reads. The optimizer's state is
/// read if the file has it, with as many variables as the model's; other numbers of them leave it as it is, as in
/// Keras, and so does a file of save_state that names another optimizer. Both are a warning, and so are weights at the
/// place of a layer that have the name of another one. Collective.
/// \throws FileError that names the file and what does not fit, the same on every process; nothing is changed then.
template <class Engine>
void load_state(Engine& engine, std::string const& path) {
  using T = typename Engine::T;
  using Optimizer = typename Engine::Model::Optimizer;
  auto state = detail::state_to_read(engine);
  bool with_optimizer = false;
  engine.group().together([&] {
    if (!engine.group().is_chief()) return;
    auto const tensors = [&](bool optimizer) {
      return detail::state_tensors<NamedDestination, Optimizer>(
          engine.model().description(), state, optimizer, !engine.optimizer().has_schedule(),
          [](auto group, std::size_t index, auto extents, auto* data) {
            return named_destination(std::move(group), index, std::move(extents), data);
          });
    };
    auto all = tensors(false);
    if constexpr (is_trainable<typename Engine::Model>) {
      auto with_slots = tensors(true);
      with_optimizer = detail::holds_optimizer(path, with_slots.size() - all.size(),
                                               detail::optimizer_group(engine.model().optimizer()));
      if (with_optimizer) all = std::move(with_slots);
    }
    read_weights(path, all);
    detail::warn_of_other_places(path, detail::layers_to_warn_of(path), engine.model().description());
    if (!with_optimizer) return;
    std::optional<double> rate;
    if (!engine.optimizer().has_schedule()) rate = static_cast<double>(state.learning_rate);
    detail::require_optimizer_numbers(path, state.iteration, rate);  // here, before anything is set
  });
  engine.weights().set_parameters(state.parameters);
  if constexpr (is_trainable<typename Engine::Model>) {
    with_optimizer = engine.group().broadcast(with_optimizer).value();
    if (!with_optimizer) return;
    for (std::size_t slot = 0; slot < state.slots.size(); ++slot) engine.set_slot(slot, state.slots[slot]);
    engine.group().broadcast(std::span<std::int64_t>(&state.iteration, 1));
    engine.optimizer().set_iteration(static_cast<std::uint64_t>(state.iteration));
    if (engine.optimizer().has_schedule()) return;
    engine.group().broadcast(std::span<T>(&state.learning_rate, 1));
    engine.optimizer().set_learning_rate(static_cast<double>(state.learning_rate));
  }
}

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/models/state_file.ipp"
#endif
