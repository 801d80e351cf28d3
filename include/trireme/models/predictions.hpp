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

/// Predictions of all processes in the order of the data, (samples, output extents...); of samples that each process
/// owns, rank after rank.
template <class Engine>
class Predictions {
  using T = typename Engine::T;

 public:
  /// Predictions of the engine's model, still without rows.
  /// \param is_local  each process owns samples, whose rows come rank after rank
  Predictions(Engine const& engine, bool is_local)
      : engine_(&engine), is_local_(is_local), row_size_(engine.model().output_size()) {}

  /// Destination of the outputs for this process's rows of the batch, valid until the next call.
  template <class Batch>
  T* next(Batch const& batch) {
    segments_.push_back({start_ + batch.first_row, batch.rows});
    start_ += batch.global_rows;
    own_.resize(own_.size() + batch.rows * row_size_);
    return own_.data() + (own_.size() - batch.rows * row_size_);
  }

  /// (samples, output extents...) on every process; of a model of several outputs, an array (a tuple) of these.
  /// Collective.
  auto gather() const {
    return output_arrays<typename Engine::Model>(engine_->model().description(), start_, gather_rows().data());
  }

 private:
  struct Segment {
    std::size_t first, rows;
  };

  std::vector<T> gather_rows() const {
    std::vector<T> all(start_ * row_size_);
    auto const segments = engine_->group().allgatherv(segments_);
    auto const values = engine_->group().allgatherv(own_);
    std::size_t const processes = engine_->group().size();
    std::size_t next = 0;
    std::set<std::size_t> placed;  // the stages of a pipeline have the same rows
    for (std::size_t rank = 0; rank < processes; ++rank) {
      T const* from = values.part(rank).data();
      for (Segment const& segment : segments.part(rank)) {
        std::size_t const size = segment.rows * row_size_;
        if (segment.rows > 0 && placed.insert(segment.first).second) {
          std::size_t const to = is_local_ ? std::exchange(next, next + segment.rows) : segment.first;
          std::copy_n(from, size, all.begin() + static_cast<std::ptrdiff_t>(to * row_size_));
        }
        from += size;
      }
    }
    return all;
  }

  Engine const* engine_;
  bool is_local_;
  std::size_t row_size_;
  std::size_t start_ = 0;
  std::vector<Segment> segments_;
  std::vector<T> own_;
};

}  // namespace trireme
