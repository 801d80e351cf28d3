/// Arguments of a compiled model's calls that read or change weights, compared over the processes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/models/weight_transfer.hpp"
#include "trireme/mpi/same_config.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::detail {

/// Weight that `weights` reads. Collective where processes hold only parts of the model.
/// \throws ValueError that lists all paths, if the model has none of this name. Where the call is collective, on all
/// processes, and also if they read different parameters.
template <class Engine>
WeightInfo const& weight_to_read(Engine const& engine, std::string_view path) {
  ModelDescription const& model = engine.model().description();
  if constexpr (is_divided<Engine>) {
    WeightInfo const* weight = nullptr;
    require_same_config(engine.group(), "weights", [&](Config& c) {
      weight = &weight_named(model, path);
      c.add("the parameter", std::string(path));
    });
    return *weight;
  } else {
    return weight_named(model, path);
  }
}

/// Throws where processes cannot do `call` together, since each goes its own pace.
template <class Engine>
void require_together(Engine const& engine, char const* call) {
  if constexpr (requires { engine.require_together(call); }) engine.require_together(call);
}

/// Weight that `set_weights` changes to values of these extents. Collective.
/// \throws ShapeError on all processes if the extents differ on one; ValueError on all that lists all paths, if the
/// model has none of this name, or that names both parameters, if processes set different ones.
template <class Engine>
WeightInfo const& weight_to_set(Engine const& engine, std::string_view path, std::vector<std::size_t> const& extents) {
  WeightInfo const* weight = nullptr;
  require_together(engine, "set_weights");
  require_same_config(engine.group(), "set_weights", [&](Config& c) {
    weight = &weight_named(engine.model().description(), path);
    if (auto const own = weight->shape.to_vector(); extents != own)
      throw ShapeError(formatted("'{}' has extents {}, and cannot be set to values of extents {}", path,
                                 format_extents(own), format_extents(extents)));
    c.add("the parameter", std::string(path));
  });
  return *weight;
}

/// Throws ValueError on all processes if they save different files. Collective; but while workers go their own pace it
/// compares nothing.
template <class Engine>
void require_same_save(Engine const& engine, std::string const& path) {
  if constexpr (requires { engine.weights().apart(); })
    if (engine.weights().apart()) return;
  require_same_config(engine.group(), "save_weights", [&](Config& c) { c.add("the path", path); });
}

/// Throws ValueError on all processes if they load different files. Collective.
template <class Engine>
void require_same_load(Engine const& engine, std::string const& path) {
  require_together(engine, "load_weights");
  require_same_config(engine.group(), "load_weights", [&](Config& c) { c.add("the path", path); });
}

/// Lists the options that LoadOptions and CopyOptions have in common.
template <class Options>
void list_transfer(Config& c, Options const& options) {
  c.add("from", formatted("'{}'", options.from));
  c.add("into", formatted("'{}'", options.into));
  c("skip_mismatch", options.skip_mismatch);
}

/// Throws ValueError on all processes if they load different files, or with other options. Collective.
template <class Engine>
void require_same_load(Engine const& engine, std::string const& path, LoadOptions const& options) {
  require_together(engine, "load_weights");
  require_same_config(engine.group(), "load_weights", [&](Config& c) {
    c.add("the path", path);
    c("by_name", options.by_name);
    list_transfer(c, options);
  });
}

/// Throws ValueError on all processes if they copy the weights of different models, or with other options. Collective.
template <class Engine>
void require_same_copy(Engine const& engine, ModelDescription const& source, CopyOptions const& options) {
  require_together(engine, "copy_weights");
  require_same_config(engine.group(), "copy_weights", [&](Config& c) {
    list_transfer(c, options);
    for_each_weight(source, [&](WeightInfo const& weight) {
      c.add(formatted("the extents of '{}'", weight.path), format_extents(weight.shape.to_vector()));
    });
  });
}

}  // namespace trireme::detail
