/// The first samples of a source, or all but the first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "trireme/data/sample_source.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::data {

/// Source of at most `count` samples of another, beginning with number `first`.
template <class X, class Y>
class SelectedSource : public SampleSource<X, Y> {
 public:
  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

  /// At most `count` samples from number `first` on; `all`: to the end.
  SelectedSource(SourcePointer<X, Y> source, std::size_t first, std::size_t count)
      : SampleSource<X, Y>(source->x_size(), source->y_size()),
        source_(std::move(source)),
        first_(first),
        count_(count) {
    // Of samples in another order it is not known beforehand which are drawn.
    if (!source_->in_memory_order()) return;
    inputs_ = rows_of(source_->inputs());
    targets_ = rows_of(source_->targets());
  }

  std::optional<std::size_t> size() const override;
  bool endless() const override { return source_->endless() && count_ == all; }
  bool may_run_out() const override { return source_->may_run_out(); }
  bool random_access() const override { return source_->random_access(); }
  bool varies() const override { return source_->varies(); }
  bool weighted() const override { return source_->weighted(); }
  std::span<X const> memory() const override { return source_->memory(); }
  HostTensor<X> const* inputs() const override { return inputs_ ? &*inputs_ : nullptr; }
  HostTensor<Y> const* targets() const override { return targets_ ? &*targets_ : nullptr; }
  bool in_memory_order() const override { return source_->in_memory_order(); }
  void trace(Lineage& lineage) const override;
  std::unique_ptr<SampleReader<X, Y>> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader : public SampleReader<X, Y> {
   public:
    explicit Reader(SelectedSource const& source) : source_(source), samples_(source.source_->reader()) {}
    void start(std::uint64_t pass) override { samples_->start(pass); }
    std::optional<Sample<X, Y>> at(std::size_t position) override {
      if (position >= source_.count_) return std::nullopt;
      return samples_->at(source_.first_ + position);
    }
    std::optional<Sample<X, Y>> run(std::size_t position, std::size_t count) override {
      if (position + count > source_.count_) return std::nullopt;
      return samples_->run(source_.first_ + position, count);
    }
    bool find(std::span<std::size_t> positions, Sample<X, Y>* to) override {
      for (std::size_t& position : positions) {
        if (position >= source_.count_) return false;
        position += source_.first_;
      }
      return samples_->find(positions, to);
    }

   private:
    SelectedSource const& source_;
    std::unique_ptr<SampleReader<X, Y>> samples_;
  };

  template <class T>
  std::optional<HostTensor<T>> rows_of(HostTensor<T> const* tensor) const {
    if (tensor == nullptr) return std::nullopt;
    std::size_t const samples = tensor->samples(), begin = std::min(first_, samples);
    return tensor->slice(begin, begin + std::min(count_, samples - begin));
  }

  SourcePointer<X, Y> source_;
  std::size_t first_;
  std::size_t count_;
  std::optional<HostTensor<X>> inputs_{};
  std::optional<HostTensor<Y>> targets_{};
};

template <class X, class Y>
std::optional<std::size_t> SelectedSource<X, Y>::size() const {
  if (source_->endless() && count_ != all) return count_;
  auto const total = source_->size();
  if (!total) return std::nullopt;
  return std::min(*total - std::min(first_, *total), count_);
}

template <class X, class Y>
void SelectedSource<X, Y>::trace(Lineage& lineage) const {
  source_->trace(lineage);
  if (first_ != 0) lineage.add("skip", "number of samples", first_);
  if (count_ != all) lineage.add("take", "number of samples", count_);
}

}  // namespace trireme::data
