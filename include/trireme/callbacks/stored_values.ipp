/// Definitions of trireme/callbacks/stored_values.hpp.
#pragma once

#include "trireme/callbacks/stored_values.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/numbers.hpp"
#include "trireme/io/stored_tensor.hpp"

namespace trireme {

TRIREME_INLINE void StoredValues::require_complete() const {
  if (named_ == tensors_.size()) return;
  fail(
      formatted("holds {} values, of which this run knows {}: a run goes on with the strategy, validation and "
                "callbacks that it had, "
                "these in their order",
                tensors_.size(), named_));
}

TRIREME_INLINE void StoredValues::length(std::string_view name, std::size_t& value) {
  std::size_t const most = std::max(value, tensors_.size());
  number(name, value);
  if (value > most) fail(formatted("states {} elements '{}', of which there are {} at most", value, folder_, most));
}

TRIREME_INLINE void StoredValues::require_elements(std::string_view name, std::size_t size, bool repeated) const {
  if (!loads_) return;
  auto const found = tensors_.find(folder_ + std::string(name));
  if (found == tensors_.end()) return;  // reading it says so
  std::size_t elements = 1;
  for (std::size_t const extent : found->second.extents) elements *= extent;
  bool const fits = repeated ? elements >= size && elements % size == 0 : elements == size;
  if (!fits) fail(formatted("has {} values '{}{}' in place of {}", elements, folder_, name, size));
}

TRIREME_INLINE void StoredValues::fail(std::string const& what) const {
  raise_uniform(FileError(path_, what));  // every process has the same tensors, but for those of callbacks
}

TRIREME_INLINE StoredTensor& StoredValues::slot(std::string_view name, ElementType type,
                                                std::vector<std::size_t> extents, std::string_view bytes) {
  std::string const path = folder_ + std::string(name);
  ++named_;
  if (!loads_) {
    if (tensors_.contains(path)) fail(formatted("would have two values of the name '{}'", path));
    if (path.find_first_of(" \t\r\n") != std::string::npos)
      fail(formatted("would have a value of the name '{}', and names have no blanks", printable(path)));
    return tensors_[path] = {type, std::move(extents), std::string(bytes)};
  }
  auto const found = tensors_.find(path);
  if (found == tensors_.end() || found->second.type != type)
    fail(
        formatted("has no value '{}': a run goes on with the strategy, validation and callbacks that it had, these in "
                  "their order",
                  path));
  return found->second;
}

}  // namespace trireme
