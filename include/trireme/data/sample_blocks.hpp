/// Memory for samples whose number shows only as they come.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trireme/data/sample_source.hpp"

namespace trireme::data {

/// Samples in blocks, each as large as all before it together, so that no sample moves when others come. A block is
/// allocated with its first sample and not initialised: pages of samples that are not stored are never touched.
template <class X, class Y>
class SampleBlocks {
 public:
  /// Memory of samples of `x_size` numbers and targets of `y_size`, in blocks of `first` samples or more.
  SampleBlocks(std::size_t x_size, std::size_t y_size, bool weighted, std::size_t first)
      : x_size_(x_size), y_size_(y_size), weighted_(weighted), first_(std::max<std::size_t>(first, 1)) {}

  /// Copies a sample to a row.
  void store(std::size_t row, Sample<X, Y> const& sample);

  /// `count` rows from `row` on, which have been stored, unless they lie in several blocks.
  std::optional<Sample<X, Y>> rows(std::size_t row, std::size_t count) const;

 private:
  struct Block {
    std::unique_ptr<X[]> x;
    std::unique_ptr<Y[]> y;
    std::unique_ptr<double[]> weight;
  };

  std::size_t block_of(std::size_t row) const { return static_cast<std::size_t>(std::bit_width(row / first_)); }
  std::size_t begin_of(std::size_t block) const { return block == 0 ? 0 : first_ << (block - 1); }

  std::size_t x_size_, y_size_;
  bool weighted_;
  std::size_t first_;
  std::vector<Block> blocks_{};
};

template <class X, class Y>
void SampleBlocks<X, Y>::store(std::size_t row, Sample<X, Y> const& sample) {
  std::size_t const index = block_of(row), place = row - begin_of(index);
  if (index >= blocks_.size()) blocks_.resize(index + 1);
  Block& block = blocks_[index];
  if (!block.x) {
    std::size_t const size = std::max(first_, begin_of(index));
    Block fresh;
    fresh.y = std::make_unique_for_overwrite<Y[]>(size * y_size_);
    if (weighted_) fresh.weight = std::make_unique_for_overwrite<double[]>(size);
    fresh.x = std::make_unique_for_overwrite<X[]>(size * x_size_);
    block = std::move(fresh);
  }
  std::copy_n(sample.x, x_size_, block.x.get() + place * x_size_);
  std::copy_n(sample.y, y_size_, block.y.get() + place * y_size_);
  if (weighted_) block.weight[place] = sample.weight ? *sample.weight : 1.0;
}

template <class X, class Y>
std::optional<Sample<X, Y>> SampleBlocks<X, Y>::rows(std::size_t row, std::size_t count) const {
  std::size_t const index = block_of(row), place = row - begin_of(index);
  if (count > 1 && block_of(row + count - 1) != index) return std::nullopt;
  Block const& block = blocks_[index];
  return Sample<X, Y>{block.x.get() + place * x_size_, block.y.get() + place * y_size_,
                      weighted_ ? block.weight.get() + place : nullptr};
}

}  // namespace trireme::data
