/// Options of a stream of batches besides its shard of the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/requirements.hpp"

namespace trireme::data {

/// Options of `BatchedDataset::stream`.
struct StreamOptions {
  std::vector<double> class_weight{};  ///< weight of the samples of each class; a class past its end weighs 1
  std::size_t classes = 0;  ///< labels are checked against it as batches come; 0: only that they are integers
  std::optional<std::int32_t> ignored{};  ///< label beside the classes
  std::vector<IndexColumns> indices{};    ///< of inputs; where these do not lie in memory, checked as batches come
  std::vector<IndexColumns> labels{};     ///< of targets of several outputs, checked likewise
  bool targets = true;                    ///< false: targets are not read, and a batch has none
  bool in_order = true;            ///< false: the next batch is known only on request, so that none is gathered ahead
  bool scattered = false;          ///< inputs may stay where they lie, row by row
  std::size_t kept = 0;            ///< devices that may keep a copy of the memory of inputs (InputMemory)
  std::string x_name{}, y_name{};  ///< of data that have none, in messages

  /// \throws ValueError if class weights do not go with the samples.
  void verify(bool weighted) const {
    if (class_weight.empty()) return;
    if (weighted) throw ValueError("class_weight and sample weights were both given: only one of them can be used");
    if (!targets) throw ValueError("class_weight was given, but targets are not read");
    if (classes != 0 && class_weight.size() > classes)
      throw ValueError(
          formatted("class_weight has {} numbers, but there are {} classes", class_weight.size(), classes));
  }
};

}  // namespace trireme::data
