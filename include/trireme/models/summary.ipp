/// Definitions of trireme/models/summary.hpp.
#pragma once

#include "trireme/models/summary.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/weight_table.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string grouped(std::size_t number) {
  std::string const digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

TRIREME_INLINE std::string readable_bytes(std::size_t bytes) {
  constexpr std::array units{"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return unit == 0 ? formatted("{} B", bytes) : formatted("{:.2f} {}", value, units[unit]);
}

TRIREME_INLINE std::string readable_count(std::size_t count) {
  constexpr std::array units{"", " k", " M", " G", " T", " P"};
  double value = static_cast<double>(count);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return unit == 0 ? formatted("{}", count)
                   : formatted("{:.{}f}{}", value,
                               value < 9.995   ? 2
                               : value < 99.95 ? 1
                                               : 0,
                               units[unit]);
}

TRIREME_INLINE std::string TextTable::text() const {
  std::vector<std::size_t> width(columns_.size(), 0);
  for (auto const& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!row[i].empty()) width[i] = std::max({width[i], row[i].size(), columns_[i].header.size()});
  std::vector<std::string> headers;
  std::size_t total = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    headers.emplace_back(columns_[i].header);
    if (width[i] > 0) total += width[i] + 2;
  }
  std::string const rule = std::string(total, '-') + '\n';
  std::string text = rule + line(headers, width) + rule;
  for (auto const& row : rows_) text += line(row, width);
  return text + rule;
}

TRIREME_INLINE std::string TextTable::line(std::vector<std::string> const& row,
                                           std::vector<std::size_t> const& width) const {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (width[i] == 0) continue;
    text += text.empty() ? " " : "  ";
    text += columns_[i].numbers ? formatted("{:>{}}", row[i], width[i]) : formatted("{:<{}}", row[i], width[i]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

TRIREME_INLINE std::string batch_extents(std::vector<std::size_t> const& extents) {
  std::string text = "(None";
  for (std::size_t const extent : extents) text += formatted(", {}", extent);
  return text + ')';
}

TRIREME_INLINE std::string shortened(std::string const& name) {
  constexpr std::size_t most = 44;
  return name.size() <= most ? name : "..." + name.substr(name.size() - (most - 3));
}

TRIREME_INLINE std::vector<std::string> layer_notes(ModelDescription const& model) {
  std::vector<std::string> notes(model.layers.size());
  for (FrozenInfo const& weight : model.frozen) notes[weight.layer] = "frozen";
  for (SharedLayers const& shared : model.shared)
    for (std::size_t layer = shared.first; layer < shared.last; ++layer)
      notes[layer] += notes[layer].empty() ? "shared" : ", shared";
  return notes;
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE std::string summary(ModelDescription const& model, std::size_t scalar_size, MemoryUse const& use,
                                   std::string const& placement, LayerPlacement const& places) {
  detail::TextTable table({{"Layer (type)", false},
                           {"Output shape", false},
                           {"Param #", true},
                           {"Bytes", true},
                           {"Operations", true},
                           {places.header, false},
                           {"Notes", false}});
  auto const notes = detail::layer_notes(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    LayerInfo const& layer = model.layers[i];
    table.add({detail::shortened(formatted("{} ({})", layer.path, layer.class_name)),
               detail::batch_extents(layer.output), detail::grouped(layer.parameters),
               detail::readable_bytes(layer.parameters * scalar_size), detail::readable_count(layer.flops),
               places.empty() ? std::string() : places.layers[i], notes[i]});
  }
  std::size_t const count = model.parameter_count();
  std::string text = table.text() + formatted("Total params: {} ({})\n", detail::grouped(count),
                                              detail::readable_bytes(count * scalar_size));
  if (model.non_trainable_count() > 0)
    text += formatted("Trainable params: {}\nNon-trainable params: {}\n", detail::grouped(model.trainable_count()),
                      detail::grouped(model.non_trainable_count()));
  text += formatted("Operations: {} a sample, forward\n", detail::readable_count(model.flops()));
  text += formatted("Optimizer state: {}\nActivations: {} a sample\nWorkspace: {} for a batch of {}\n",
                    detail::readable_bytes(use.optimizer_bytes()), detail::readable_bytes(use.model.activation_bytes),
                    detail::readable_bytes(use.workspace_bytes), use.rows);
  text += formatted("Reduced between {}: {} a step\n", use.members, detail::readable_bytes(use.reduced_bytes()));
  if (!placement.empty()) text += formatted("Placement: {}\n", placement);
  return text;
}

}  // namespace trireme
