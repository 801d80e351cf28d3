/// The table of a model's layers, as Keras prints it, and what training it takes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/description.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

namespace detail {

/// 12345 -> "12,345"
inline std::string grouped(std::size_t number) {
  std::string const digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

inline std::string readable_bytes(std::size_t bytes) {
  constexpr std::array units{"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return unit == 0 ? formatted("{} B", bytes) : formatted("{:.2f} {}", value, units[unit]);
}

}  // namespace detail

/// A model's summary as text: its layers, extents and numbers of parameters.
///
/// \param scalar_size  bytes of a parameter.
inline std::string summary(ModelDescription const& model, std::size_t scalar_size, MemoryUse const& use) {
  constexpr std::size_t columns = 3;
  std::vector<std::string> cells;
  auto const add_row = [&](std::string_view layer, std::string_view output, std::string_view parameters) {
    for (std::string_view const cell : {layer, output, parameters}) cells.push_back(std::string(cell));
  };
  add_row("Layer (type)", "Output shape", "Param #");
  for (LayerInfo const& layer : model.layers) {
    std::string extents = "(None";
    for (std::size_t extent : layer.output) extents += formatted(", {}", extent);
    extents += ')';
    add_row(formatted("{} ({})", layer.path, layer.class_name), extents, detail::grouped(layer.parameters));
  }
  std::array<std::size_t, columns> width{};
  for (std::size_t i = 0; i < cells.size(); ++i) width[i % columns] = std::max(width[i % columns], cells[i].size());
  std::string const rule(width[0] + width[1] + width[2] + 6, '-');
  std::string text = rule + "\n";
  for (std::size_t i = 0; i < cells.size(); i += columns) {
    text += formatted(" {:<{}}  {:<{}}  {:>{}}\n", cells[i], width[0], cells[i + 1], width[1], cells[i + 2], width[2]);
    if (i == 0) text += rule + "\n";
  }
  std::size_t const count = model.parameter_count();
  text += formatted("{}\nTotal params: {} ({})\n", rule, detail::grouped(count),
                    detail::readable_bytes(count * scalar_size));
  if (model.non_trainable_count() > 0)
    text += formatted("Trainable params: {}\nNon-trainable params: {}\n", detail::grouped(model.trainable_count()),
                      detail::grouped(model.non_trainable_count()));
  text += formatted("Optimizer state: {}\nActivations: {} a sample\nWorkspace: {} for a batch of {}\n",
                    detail::readable_bytes(use.optimizer_bytes()), detail::readable_bytes(use.model.activation_bytes),
                    detail::readable_bytes(use.workspace_bytes), use.rows);
  text += formatted("Reduced between processes: {} a step\n", detail::readable_bytes(use.reduced_bytes()));
  return text;
}

}  // namespace trireme
