/// Samples changed by a user's function.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/data/sample_source.hpp"

namespace trireme::data {

/// Function f(input, new input) on spans of one sample, which leaves targets as they are.
template <class F, class X, class OutX>
concept InputMap = std::invocable<F const&, std::span<X const>, std::span<OutX>>;

/// Function f(input, target, new input, new target) on spans of one sample.
template <class F, class X, class Y, class OutX, class OutY>
concept SampleMap = std::invocable<F const&, std::span<X const>, std::span<Y const>, std::span<OutX>, std::span<OutY>>;

/// Source that applies a function to each sample as it is read. `F` is an InputMap or a SampleMap.
template <class X, class Y, class OutX, class OutY, class F>
class MappedSource : public SampleSource<OutX, OutY> {
 public:
  static constexpr bool keeps_targets = InputMap<F, X, OutX>;

  /// Source whose new samples have `x_size` numbers, and targets of `y_size`.
  MappedSource(SourcePointer<X, Y> source, std::size_t x_size, std::size_t y_size, F function)
      : SampleSource<OutX, OutY>(x_size, y_size), source_(std::move(source)), function_(std::move(function)) {}

  std::optional<std::size_t> size() const override { return source_->size(); }
  bool endless() const override { return source_->endless(); }
  bool may_run_out() const override { return source_->may_run_out(); }
  bool random_access() const override { return source_->random_access(); }
  bool varies() const override { return source_->varies(); }
  bool weighted() const override { return source_->weighted(); }
  HostTensor<OutY> const* targets() const override {
    if constexpr (keeps_targets)
      return source_->targets();
    else
      return nullptr;
  }
  bool in_memory_order() const override { return source_->in_memory_order(); }
  void trace(Lineage& lineage) const override {
    source_->trace(lineage);
    lineage.add("map", "numbers of a sample", this->x_size());
    lineage.add("map", "numbers of a target", this->y_size());
  }
  std::unique_ptr<SampleReader<OutX, OutY>> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader : public SampleReader<OutX, OutY> {
   public:
    explicit Reader(MappedSource const& source)
        : source_(source),
          samples_(source.source_->reader()),
          x_(source.x_size()),
          y_(keeps_targets ? 0 : source.y_size()) {}

    void start(std::uint64_t pass) override { samples_->start(pass); }

    std::optional<Sample<OutX, OutY>> at(std::size_t position) override {
      auto const sample = samples_->at(position);
      if (!sample) return std::nullopt;
      std::span<X const> const x(sample->x, source_.source_->x_size());
      if constexpr (keeps_targets) {
        source_.function_(x, std::span<OutX>(x_));
        return Sample<OutX, OutY>{x_.data(), sample->y, sample->weight};
      } else {
        source_.function_(x, std::span<Y const>(sample->y, source_.source_->y_size()), std::span<OutX>(x_),
                          std::span<OutY>(y_));
        return Sample<OutX, OutY>{x_.data(), y_.data(), sample->weight};
      }
    }

   private:
    MappedSource const& source_;
    std::unique_ptr<SampleReader<X, Y>> samples_;
    std::vector<OutX> x_;
    std::vector<OutY> y_;
  };

  SourcePointer<X, Y> source_;
  F function_;
};

}  // namespace trireme::data
