/// Collects the predictions of all processes in the order of the data.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trireme/tensor/xtensor.hpp"

namespace trireme {

template <class Part>
class Predictions {
  using T = typename Part::T;

 public:
  explicit Predictions(Part const& part) : part_(&part), row_size_(part.model().output_size()) {}

  /// Where the outputs for this process's rows of the batch go, until the next call.
  template <class Batch>
  T* next(Batch const& batch) {
    segments_.push_back({start_ + batch.first_row, batch.rows});
    start_ += batch.global_rows;
    own_.resize(own_.size() + batch.rows * row_size_);
    return own_.data() + (own_.size() - batch.rows * row_size_);
  }

  /// (samples, output extents...) on every process. Collective.
  xt::xarray<T> gather() const {
    std::vector<std::size_t> extents = part_->model().description().output;
    extents.insert(extents.begin(), start_);
    std::vector<T> all(start_ * row_size_);
    auto const segments = part_->group().allgatherv(segments_);
    auto const values = part_->group().allgatherv(own_);
    std::size_t const processes = part_->group().size();
    for (std::size_t rank = 0; rank < processes; ++rank) {
      T const* from = values.part(rank).data();
      for (Segment const& segment : segments.part(rank)) {
        std::copy_n(from, segment.rows * row_size_,
                    all.begin() + static_cast<std::ptrdiff_t>(segment.first * row_size_));
        from += segment.rows * row_size_;
      }
    }
    return to_xarray(all.data(), extents);
  }

 private:
  struct Segment {
    std::size_t first, rows;
  };

  Part const* part_;
  std::size_t row_size_;
  std::size_t start_ = 0;
  std::vector<Segment> segments_;
  std::vector<T> own_;
};

}  // namespace trireme
