/// Host data that the library reads: a row-major block with its extents and its owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// A row-major tensor in host memory that is only read. Cheap to copy: the memory is shared.
///
/// `owner` keeps the memory alive; it is null if the memory has another owner. `origin` names the source of the data in
/// messages, such as a file.
template <class T>
struct HostTensor {
  using value_type = T;

  std::shared_ptr<void const> owner;
  T const* data = nullptr;
  std::vector<std::size_t> extents;
  std::string origin;

  /// Number of elements.
  std::size_t size() const {
    std::size_t product = 1;
    for (std::size_t extent : extents) product *= extent;
    return product;
  }

  /// The first extent, which counts the samples. \throws ShapeError if there is no axis.
  std::size_t samples() const {
    if (extents.empty()) throw_no_samples();
    return extents[0];
  }

  /// The extents of one sample.
  std::vector<std::size_t> sample_extents() const {
    if (extents.empty()) throw_no_samples();
    return {extents.begin() + 1, extents.end()};
  }

  /// Name of this tensor in messages.
  std::string name() const { return origin.empty() ? std::string("a tensor") : origin; }

  /// The same data under a name of the user's choice, for messages.
  HostTensor named(std::string text) const {
    HostTensor result = *this;
    result.origin = std::move(text);
    return result;
  }

  /// The same data with other extents of the same number of elements: `table.columns(0, 64).reshaped({n, 8, 8, 1})`.
  HostTensor reshaped(std::vector<std::size_t> new_extents) const {
    HostTensor result = *this;
    result.extents = std::move(new_extents);
    if (result.size() != size())
      throw ShapeError(formatted("{} of extents {} cannot be reshaped to {}", name(), format_extents(extents),
                                 format_extents(result.extents)));
    return result;
  }

  /// The samples [first, last), without a copy.
  HostTensor slice(std::size_t first, std::size_t last) const {
    if (first > last || last > samples())
      throw ValueError(formatted("samples [{}, {}) are not within the {} of {}", first, last, samples(), name()));
    HostTensor result = *this;
    result.extents[0] = last - first;
    if (samples() != 0) result.data = data + first * (size() / samples());
    return result;
  }

  /// The columns [first, last) of a table, copied together: (rows, last - first).
  HostTensor columns(std::size_t first, std::size_t last) const;

  /// One column of a table: (rows).
  HostTensor column(std::size_t index) const { return columns(index, index + 1).reshaped({samples()}); }

 private:
  [[noreturn]] void throw_no_samples() const { throw ShapeError(name() + " has no axis that counts the samples"); }
};

/// New host memory for the given extents, whose values are not set, and a tensor that owns it: write to `memory`, hand
/// out `tensor`.
template <class T>
struct NewHostTensor {
  std::shared_ptr<T[]> memory;
  HostTensor<T> tensor;

  /// Memory of these extents; `origin` names the data in messages.
  explicit NewHostTensor(std::vector<std::size_t> extents, std::string origin = {}) {
    tensor.extents = std::move(extents);
    tensor.origin = std::move(origin);
    memory = std::make_shared_for_overwrite<T[]>(tensor.size());
    tensor.owner = memory;
    tensor.data = memory.get();
  }
};

template <class T>
HostTensor<T> HostTensor<T>::columns(std::size_t first, std::size_t last) const {
  if (extents.size() != 2)
    throw ShapeError(formatted("{} of extents {} is not a table with columns", name(), format_extents(extents)));
  if (first > last || last > extents[1])
    throw ValueError(formatted("columns [{}, {}) are not within the {} of {}", first, last, extents[1], name()));
  NewHostTensor<T> picked({extents[0], last - first}, origin);
  for (std::size_t row = 0; row < extents[0]; ++row)
    std::copy(data + row * extents[1] + first, data + row * extents[1] + last,
              picked.memory.get() + row * (last - first));
  return picked.tensor;
}

}  // namespace trireme
