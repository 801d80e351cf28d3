/// ArrayBatch: a global batch in arrays that every process has, for `train_on_batch`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/data_shard.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/data/sample_rows.hpp"
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
  template <class Engine, class X, class Y>
  ArrayBatch(Engine& engine, X&& x, Y&& y, std::vector<double> const& sample_weight) {
    if constexpr (requires { engine.require_together(""); }) engine.require_together("train_on_batch");
    std::optional<decltype(data::sample_rows(std::forward<X>(x)))> x_rows;
    std::optional<decltype(data::sample_rows(std::forward<Y>(y)))> y_rows;
    require_same_config(engine.group(), "train_on_batch", [&](Config& c) {
      x_rows.emplace(data::sample_rows(std::forward<X>(x)));
      y_rows.emplace(data::sample_rows(std::forward<Y>(y)));
      verify(engine, *x_rows, *y_rows, sample_weight, c);
    });
    auto const& inputs = x_rows->tensor;
    auto const& targets = y_rows->tensor;
    std::size_t const rows = inputs.samples();
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
  template <class Engine, class X, class Y>
  static void verify(Engine& engine, X const& x, Y const& y, std::vector<double> const& sample_weight, Config& c) {
    auto const& inputs = x.tensor;
    auto const& targets = y.tensor;
    std::size_t const rows = inputs.samples();
    if (rows == 0) throw ValueError("train_on_batch was given no samples");
    auto const needed = engine.model().sample_requirements();
    data::verify_extents({x.extents(), x.parts, "the batch"}, {y.extents(), y.parts, "the batch"}, needed);
    require_sizes(targets.size(), rows * engine.model().target_size(), "targets");
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
