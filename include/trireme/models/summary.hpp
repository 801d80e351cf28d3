/// The table of a model's layers, as Keras prints it, and what training it takes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "trireme/models/cost.hpp"
#include "trireme/models/description.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/text.hpp"

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

/// \param scalar_size  bytes of a parameter.
inline std::string summary(ModelDescription const& model, std::size_t scalar_size, MemoryUse const& use) {
  std::vector<std::array<std::string, 3>> rows{{"Layer (type)", "Output shape", "Param #"}};
  for (LayerInfo const& layer : model.layers) {
    std::string extents = "(None";
    for (std::size_t extent : layer.output) extents += formatted(", {}", extent);
    rows.push_back(
        {formatted("{} ({})", layer.path, layer.class_name), extents + ")", detail::grouped(layer.parameters)});
  }
  std::array<std::size_t, 3> width{};
  for (auto const& row : rows)
    for (std::size_t c = 0; c < 3; ++c) width[c] = std::max(width[c], row[c].size());
  std::string const rule(width[0] + width[1] + width[2] + 6, '-');
  std::string text = rule + "\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += formatted(" {:<{}}  {:<{}}  {:>{}}\n", rows[r][0], width[0], rows[r][1], width[1], rows[r][2], width[2]);
    if (r == 0) text += rule + "\n";
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
