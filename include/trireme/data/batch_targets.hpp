/// Targets as a model takes them, checked as they come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/data/requirements.hpp"

namespace trireme::data {

/// Conversion of targets of a dataset (Y) to those of a model (L: class indices or its scalar). Errors name the sample
/// by its position in the epoch.
template <class Y, class L>
class BatchTargets {
  static constexpr bool labels = std::is_same_v<L, std::int32_t>;

 public:
  /// \param row_size  numbers of a sample's target.
  /// \param classes  labels are checked against it; 0: only that they count from 0.
  /// \param ignored  label that is taken beside them.
  /// \param columns  of class indices among the targets of `Outputs`: each is checked in the place of these two.
  /// \param name  of the data, in messages; may be empty.
  BatchTargets(std::size_t row_size, std::size_t classes, std::optional<std::int32_t> ignored,
               std::vector<IndexColumns> columns, std::string const& name)
      : row_size_(row_size),
        columns_(std::move(columns)),
        of_epoch_(name.empty() ? "of the epoch" : "of an epoch of " + name) {
    if (labels && columns_.empty()) columns_.push_back({0, row_size, classes, ignored});
  }

  /// Numbers of a sample's target.
  std::size_t row_size() const { return row_size_; }

  /// `rows` targets that lie together, the first at `position`. \throws ValueError if one is not a class index.
  void convert(Y const* from, L* to, std::size_t rows, std::size_t position) const;

  /// The same for targets that are used where they lie.
  void check(Y const* targets, std::size_t rows, std::size_t position) const;

 private:
  /// Calls f(i, label) for each class index of the targets.
  template <class F>
  void for_each_label(Y const* targets, std::size_t rows, std::size_t position, F const& f) const;

  std::size_t row_size_;
  std::vector<IndexColumns> columns_;  ///< that are class indices; all of them, if L is
  std::string of_epoch_;
};

template <class Y, class L>
void BatchTargets<Y, L>::convert(Y const* from, L* to, std::size_t rows, std::size_t position) const {
  if constexpr (labels) {
    for_each_label(from, rows, position, [to](std::size_t i, std::int32_t label) { to[i] = label; });
  } else {
    std::transform(from, from + rows * row_size_, to, [](Y value) { return static_cast<L>(value); });
    check(from, rows, position);
  }
}

template <class Y, class L>
void BatchTargets<Y, L>::check(Y const* targets, std::size_t rows, std::size_t position) const {
  for_each_label(targets, rows, position, [](std::size_t, std::int32_t) {});
}

template <class Y, class L>
template <class F>
void BatchTargets<Y, L>::for_each_label(Y const* targets, std::size_t rows, std::size_t position, F const& f) const {
  for_each_index(columns_, rows, row_size_, [&](std::size_t i, IndexColumns const& of) {
    auto const place = [&] { return formatted("of sample {} {}", position + i / row_size_, of_epoch_); };
    f(i, class_index(targets[i], of.count, place, of.ignored));
  });
}

}  // namespace trireme::data
