/// Definitions of trireme/io/stored_tensor.hpp.
#pragma once

#include "trireme/io/stored_tensor.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/stated_extents.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string table_of_contents(StoredTensors const& tensors) {
  std::string text;
  for (auto const& [name, tensor] : tensors) {
    text += formatted("{} {} {}", name, static_cast<int>(tensor.type), tensor.extents.size());
    for (std::size_t const extent : tensor.extents) text += formatted(" {}", extent);
    text += '\n';
  }
  return text;
}

TRIREME_INLINE std::optional<StatedTensor> stated_tensor(std::string_view line) {
  StatedTensor stated;
  std::size_t const end = line.find(' ');
  if (end == 0 || end == std::string_view::npos) return std::nullopt;
  stated.name = line.substr(0, end);
  line.remove_prefix(end);
  auto const number = [&]() -> std::optional<std::size_t> {
    if (!line.starts_with(' ')) return std::nullopt;
    line.remove_prefix(1);
    return io::take_number(line);
  };
  auto const type = number(), rank = number();
  if (!type || *type >= element_types || !rank || *rank > io::max_axes) return std::nullopt;
  stated.type = static_cast<ElementType>(*type);
  for (std::size_t axis = 0; axis < *rank; ++axis) {
    auto const extent = number();
    if (!extent) return std::nullopt;
    stated.extents.push_back(*extent);
  }
  auto const elements = io::stated_elements(stated.extents, size_of(stated.type));
  if (!line.empty() || !elements) return std::nullopt;
  stated.bytes = *elements * size_of(stated.type);
  return stated;
}

TRIREME_INLINE PackedTensors::PackedTensors(StoredTensors const& tensors) : contents(table_of_contents(tensors)) {
  for (auto const& [name, tensor] : tensors)
    if (!name.ends_with(of_chief)) values += tensor.bytes;
}

TRIREME_INLINE StoredTensors PackedTensors::tensors() const {
  auto const is_packed = [](std::string const& name) { return !name.ends_with(of_chief); };
  StoredTensors all = tensors_of_contents("a checkpoint", contents, static_cast<std::size_t>(-1), is_packed);
  std::size_t at = 0;
  for (auto& [name, tensor] : all) {
    tensor.bytes = values.substr(at, tensor.bytes.size());
    at += tensor.bytes.size();
  }
  return all;
}

}  // namespace trireme::detail
