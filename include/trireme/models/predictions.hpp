/// Collects the predictions of all processes in the order of the data.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "trireme/core/row_range.hpp"
#include "trireme/models/description.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme {

/// Extents of an array of so many samples: (rows, extents...).
inline std::vector<std::size_t> with_rows(std::size_t rows, std::vector<std::size_t> extents) {
  extents.insert(extents.begin(), rows);
  return extents;
}

/// Arrays (rows, output extents...) from `all`, rows of a model's outputs one after the other; of several outputs, an
/// array (a tuple) of these. A copy, in host memory.
template <class Model, class T>
auto output_arrays(ModelDescription const& model, std::size_t rows, T const* all) {
  std::size_t row_size = 0, first = 0;
  auto const size_of = [](std::vector<std::size_t> const& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>{});
  };
  auto const next = [&](std::vector<std::size_t> const& extents) {
    auto values = xt::xarray<T>::from_shape(with_rows(rows, extents));
    std::size_t const size = size_of(extents);
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(all + row * row_size + first, size, values.data() + row * size);
    first += size;
    return values;
  };
  if constexpr (Model::outputs == 1) {
    row_size = size_of(model.output);
    return next(model.output);
  } else {
    for (auto const& extents : model.outputs) row_size += size_of(extents);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array{next(model.outputs[I])...};
    }(std::make_index_sequence<Model::outputs>());
  }
}

namespace detail {

/// Rows that a process has predicted, and their places among those of all.
template <class T>
class PredictedRows {
 public:
  explicit PredictedRows(std::size_t row_size) : row_size_(row_size) {}

  /// Room for `rows` rows from row `first` of a batch on, which has `global_rows`; valid until the next call.
  T* next(std::size_t first, std::size_t rows, std::size_t global_rows) {
    segments_.push_back({count_ + first, count_ + first + rows});
    count_ += global_rows;
    own_.resize(own_.size() + rows * row_size_);
    return own_.data() + (own_.size() - rows * row_size_);
  }

  /// Number of samples of all processes.
  std::size_t count() const { return count_; }

  /// The rows of all processes, (count, row_size). Collective. \param is_local  rank after rank
  template <class Group>
  std::vector<T> gather(Group const& group, bool is_local) const {
    std::vector<T> all(count_ * row_size_);
    auto const segments = group.allgatherv(segments_);
    auto const values = group.allgatherv(own_);
    std::size_t next = 0;
    std::set<std::size_t> placed;  // the stages of a pipeline have the same rows
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      T const* from = values.part(rank).data();
      for (RowRange const& segment : segments.part(rank)) {
        std::size_t const size = segment.size() * row_size_;
        if (!segment.empty() && placed.insert(segment.begin).second) {
          std::size_t const to = is_local ? std::exchange(next, next + segment.size()) : segment.begin;
          std::copy_n(from, size, all.begin() + static_cast<std::ptrdiff_t>(to * row_size_));
        }
        from += size;
      }
    }
    return all;
  }

 private:
  std::size_t row_size_;
  std::size_t count_ = 0;
  std::vector<RowRange> segments_;
  std::vector<T> own_;
};

}  // namespace detail

/// Predictions of all processes in the order of the data, (samples, output extents...); of samples that each process
/// owns, rank after rank.
template <class Engine>
class Predictions {
  using T = typename Engine::T;

 public:
  /// Predictions of the engine's model, still without rows.
  /// \param is_local  each process owns samples, whose rows come rank after rank
  Predictions(Engine const& engine, bool is_local)
      : engine_(&engine), is_local_(is_local), rows_(engine.model().output_size()) {}

  /// Destination of the outputs for this process's rows of the batch, valid until the next call.
  template <class Batch>
  T* next(Batch const& batch) {
    return rows_.next(batch.first_row, batch.rows, batch.global_rows);
  }

  /// (samples, output extents...) on every process; of a model of several outputs, an array (a tuple) of these.
  /// Collective.
  auto gather() const {
    std::vector<T> const all = rows_.gather(engine_->group(), is_local_);
    return output_arrays<typename Engine::Model>(engine_->model().description(), rows_.count(), all.data());
  }

 private:
  Engine const* engine_;
  bool is_local_;
  detail::PredictedRows<T> rows_;
};

}  // namespace trireme
