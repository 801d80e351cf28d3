/// ArrayBatch: a global batch in arrays that every process has, for `train_on_batch`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/data_shard.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/mpi/same_config.hpp"
#include "trireme/tensor/flat_elements.hpp"

namespace trireme::detail {

/// The rows of this process, converted to the model's scalar T and label L.
template <class T, class L>
class ArrayBatch {
 public:
  /// Collective. `sample_weight` has to outlive this object.
  /// \throws ShapeError or ValueError on all processes, if there is no sample, a label or index is outside of its
  /// range, or arrays do not fit the model or differ between processes.
  template <class Engine, class Inputs, class Targets>
  ArrayBatch(Engine& engine, Inputs const& inputs, Targets const& targets, std::vector<double> const& sample_weight) {
    std::size_t const rows = inputs.samples();
    if constexpr (requires { engine.require_together(""); }) engine.require_together("train_on_batch");
    require_same_config(engine.group(), "train_on_batch",
                        [&](Config& c) { verify(engine, inputs, targets, sample_weight, c); });
    auto const own = data::even_rows(rows, engine.data_shard(Phase::train));
    RowRange const mine{own.first_row, own.first_row + own.rows};
    x_ = converted<T>(inputs, mine, engine.model().input_size());
    y_ = converted<L>(targets, mine, engine.model().target_size());
    batch_ = {x_.data(), y_.data(),  sample_weight.empty() ? nullptr : sample_weight.data() + mine.begin,
              own.rows,  mine.begin, rows};
  }
  ArrayBatch(ArrayBatch const&) = delete;
  ArrayBatch& operator=(ArrayBatch const&) = delete;

  Batch<T, L> const& batch() const { return batch_; }

 private:
  /// Lists for comparison what has to be the same on all processes.
  template <class Engine, class Inputs, class Targets>
  static void verify(Engine& engine, Inputs const& inputs, Targets const& targets,
                     std::vector<double> const& sample_weight, Config& c) {
    std::size_t const rows = inputs.samples();
    if (rows == 0) throw ValueError("train_on_batch was given no samples");
    require_sizes(inputs.size(), rows * engine.model().input_size(), "inputs");
    require_sizes(targets.size(), rows * engine.model().target_size(), "targets");
    auto const needed = engine.model().sample_requirements();
    data::verify_indices(inputs, needed.indices, "the batch");
    if (needed.classes != 0) data::verify_labels(targets, needed.classes, needed.ignored, "the batch");
    data::verify_labels(targets, needed.label_columns(), "the batch");
    if (!sample_weight.empty()) require_sizes(sample_weight.size(), rows, "sample weights");
    if (engine.group().size() == 1) return;  // nothing to compare
    list_learning_rate(c, engine);
    c("samples", rows);
    c("the checksum of the inputs", data::hash_bytes(inputs.data, inputs.size() * sizeof(inputs.data[0])));
    c("the checksum of the targets", data::hash_bytes(targets.data, targets.size() * sizeof(targets.data[0])));
    c("the checksum of the sample weights",
      data::hash_bytes(sample_weight.data(), sample_weight.size() * sizeof(double)));
  }

  template <class To, class Tensor>
  static std::vector<To> converted(Tensor const& tensor, RowRange const& rows, std::size_t row_size) {
    std::vector<To> values((rows.end - rows.begin) * row_size);
    std::transform(tensor.data + rows.begin * row_size, tensor.data + rows.end * row_size, values.begin(),
                   [](auto value) { return static_cast<To>(value); });
    return values;
  }

  std::vector<T> x_;
  std::vector<L> y_;
  Batch<T, L> batch_;
};

}  // namespace trireme::detail
