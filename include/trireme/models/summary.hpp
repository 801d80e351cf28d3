/// The table of a model's layers, with Keras's columns and more, and what training it takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/weight_table.hpp"

namespace trireme {

namespace detail {

/// 12345 -> "12,345"
std::string grouped(std::size_t number);

std::string readable_bytes(std::size_t bytes);

}  // namespace detail

namespace detail {

/// 100480 -> "100 k": three digits and a unit from 1000 on.
std::string readable_count(std::size_t count);

/// A table with a header; columns of numbers stand at the right, and one without any text is left out.
class TextTable {
 public:
  struct Column {
    std::string_view header;
    bool numbers;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell a column.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  /// Each line ends with a newline, and none has blanks at its end.
  std::string text() const;

 private:
  std::string line(std::vector<std::string> const& row, std::vector<std::size_t> const& width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "(None, 28, 28, 1)"
std::string batch_extents(std::vector<std::size_t> const& extents);

/// The last part of a name that is longer than the table allows.
std::string shortened(std::string const& name);

/// For each layer, what is not as in most: "frozen", "shared".
std::vector<std::string> layer_notes(ModelDescription const& model);

}  // namespace detail

/// Summary of a model as text. A row a layer: path and type, extents, numbers and bytes of its weights, operations of
/// forward for one sample, its stage or ranks where the strategy does not place all layers alike, and whether it is
/// frozen or shared with other models. Then sums, memory and placement.
///
/// \param scalar_size  bytes of a parameter.
/// \param placement    how the strategy has placed the model; empty: not said.
/// \param places       the stage or ranks of each layer; empty: no such column.
std::string summary(ModelDescription const& model, std::size_t scalar_size, MemoryUse const& use,
                    std::string const& placement = {}, LayerPlacement const& places = {});

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/models/summary.ipp"
#endif
