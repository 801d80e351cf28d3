/// Requirements of a model on samples, and the messages where they do not fit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::data {

/// Target of one output of several, its extents for one sample.
struct TargetPart {
  std::vector<std::size_t> extents;
  std::size_t classes = 0;                ///< 0: dense
  std::optional<std::int32_t> ignored{};  ///< label beside the classes that the loss leaves out
};

/// Numbers [begin, end) of a sample, or of its targets, that are indices below `count`: of classes, or of words.
struct IndexColumns {
  std::size_t begin, end, count;
  std::optional<std::int32_t> ignored{};  ///< index beside these that labels may have
};

/// Requirements of a model on samples: extents of one sample and one target, and the number of classes if targets are
/// class indices.
struct SampleRequirements {
  std::vector<std::size_t> x_extents;
  std::vector<std::size_t> target_extents;  ///< of class indices: one per position, so () for one index a sample
  std::size_t classes = 0;                  ///< 0: dense targets
  std::vector<IndexColumns> indices{};      ///< numbers of a sample that are looked up
  /// Of a model of several inputs, the extents of each; `x_extents` are (all their numbers) then.
  std::vector<std::vector<std::size_t>> inputs{};
  /// Of a model of several outputs, the target of each; `target_extents` are (all their numbers) then, and `classes` 0.
  std::vector<TargetPart> targets{};
  std::optional<std::int32_t> ignored{};  ///< label beside the classes that the loss leaves out, of one output

  /// Columns of class indices among the targets of several outputs.
  std::vector<IndexColumns> label_columns() const;
};

/// True if extents are equal, except for axes of extent 1 at the end: as in Keras, (28, 28) fits (28, 28, 1).
bool fits(std::vector<std::size_t> given, std::vector<std::size_t> needed);

/// True if the label is this index.
template <class Y>
bool is_index(Y label, std::int32_t index) {
  if constexpr (std::is_floating_point_v<Y>)
    return label == static_cast<Y>(index);
  else if constexpr (std::is_signed_v<Y>)
    return static_cast<std::int64_t>(label) == index;
  else
    return index >= 0 && static_cast<std::uintmax_t>(label) == static_cast<std::uintmax_t>(index);
}

/// A label as class index. `place` says in the message which label it is: "at index 12 of train-labels".
/// \param classes  0: any index from 0 on.
/// \param ignored  a label that is taken too, whether it is a class or not.
/// \throws ValueError if it is not an integer or not in [0, classes).
template <class Y, class Place>
std::int32_t class_index(Y label, std::size_t classes, Place const& place, std::optional<std::int32_t> ignored = {}) {
  if (ignored && is_index(label, *ignored)) return *ignored;
  constexpr std::size_t largest = std::numeric_limits<std::int32_t>::max();
  std::size_t const limit = classes == 0 ? largest : std::min(classes - 1, largest);
  if constexpr (std::is_floating_point_v<Y>) {
    if (!(std::trunc(label) == label)) throw ValueError(formatted("label {} {} is not an integer", label, place()));
    // As double, which holds every limit: the largest one as float is 2^31.
    if (label >= 0 && label <= static_cast<double>(limit)) return static_cast<std::int32_t>(label);
  } else {
    bool negative = false;
    if constexpr (std::is_signed_v<Y>) negative = label < 0;
    if (!negative && static_cast<std::uintmax_t>(label) <= limit) return static_cast<std::int32_t>(label);
  }
  if (classes == 0) throw ValueError(formatted("label {} {} is not a class index: these count from 0", label, place()));
  throw ValueError(formatted("label {} {} is outside of [0, {})", label, place(), classes));
}

/// Calls f(i, columns) for each number i of so many rows that is an index.
template <class F>
void for_each_index(std::vector<IndexColumns> const& columns, std::size_t rows, std::size_t row_size, F const& f) {
  for (IndexColumns const& c : columns)
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = row * row_size + c.begin; i < row * row_size + c.end; ++i) f(i, c);
}

/// Checks that inputs are indices where they have to be. `place(row)` says in the message which sample one is of.
/// \throws ValueError naming place and value of the first that is not.
template <class X, class Place>
void verify_indices(RowsView<X> const& inputs, std::size_t rows, std::size_t row_size,
                    std::vector<IndexColumns> const& columns, Place const& place) {
  for_each_index(columns, rows, row_size, [&](std::size_t i, IndexColumns const& of) {
    std::size_t const vocabulary = of.count;
    X const index = inputs.row(i / row_size, row_size)[i % row_size];
    if constexpr (std::is_floating_point_v<X>)
      if (!(std::trunc(index) == index))
        throw ValueError(
            formatted("input {} {} is not an integer, but the model looks it up", index, place(i / row_size)));
    bool negative = false;
    if constexpr (std::is_signed_v<X>) negative = index < 0;
    if (negative || !(static_cast<double>(index) < static_cast<double>(vocabulary)))
      throw ValueError(
          formatted("input {} {} is outside of the vocabulary [0, {})", index, place(i / row_size), vocabulary));
  });
}

/// The same for all samples of a tensor.
template <class X>
void verify_indices(HostTensor<X> const& inputs, std::vector<IndexColumns> const& columns, std::string const& name) {
  std::size_t const rows = inputs.samples();
  verify_indices(RowsView(inputs.data), rows, rows == 0 ? 1 : std::max<std::size_t>(inputs.size() / rows, 1), columns,
                 [&](std::size_t row) { return formatted("of sample {} of {}", row, name); });
}

/// Checks every label of a tensor of labels, or those in the columns of a tensor of rows.
/// \throws ValueError naming index and value of the first that does not fit.
template <class Y>
void verify_labels(HostTensor<Y> const& targets, std::vector<IndexColumns> const& columns, std::string const& name) {
  std::size_t const rows = targets.samples(), row_size = rows == 0 ? 1 : targets.size() / rows;
  for_each_index(columns, rows, row_size, [&](std::size_t i, IndexColumns const& of) {
    class_index(
        targets.data[i], of.count, [&] { return formatted("at index {} of {}", i / row_size, name); }, of.ignored);
  });
}
/// Checks every label of a tensor to be in [0, classes), or `ignored`.
/// \throws ValueError naming index and value of the first that does not fit.
template <class Y>
void verify_labels(HostTensor<Y> const& labels, std::size_t classes, std::optional<std::int32_t> ignored,
                   std::string const& name) {
  std::size_t const row_size = labels.samples() == 0 ? 1 : labels.size() / labels.samples();
  verify_labels(labels, {{0, row_size, classes, ignored}}, name);
}

/// The parts of a sample, or of its targets, against those that the model has; a single array whose samples hold all of
/// their numbers in one row is as good. \throws ShapeError naming both.
void verify_parts(std::vector<std::vector<std::size_t>> const& given, std::vector<std::size_t> const& extents,
                  std::vector<std::vector<std::size_t>> const& needed, std::vector<std::size_t> const& all,
                  std::string const& what, std::string const& name);

/// Extents of one sample, or of its targets, as they were given.
struct GivenExtents {
  std::vector<std::size_t> extents;             ///< of several parts, (all their numbers)
  std::vector<std::vector<std::size_t>> parts;  ///< of a tuple; none for one array
  std::string name;                             ///< in messages
};

/// Checks the extents of samples against those that the model takes, of several inputs or outputs each its own.
///
/// \throws ShapeError naming both extents.
void verify_extents(GivenExtents const& x, GivenExtents const& y, SampleRequirements const& needed);

}  // namespace trireme::data

#ifndef TRIREME_COMPILED
#include "trireme/data/requirements.ipp"
#endif
