/// A new order of the samples in each pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trireme/data/permutation.hpp"
#include "trireme/data/sample_source.hpp"

namespace trireme::data {

/// Base of all shuffled sources.
template <class X, class Y>
class Shuffled : public SampleSource<X, Y> {
 public:
  /// Source in an order that seed, part and pass determine.
  Shuffled(SourcePointer<X, Y> source, std::uint64_t seed, std::uint32_t part)
      : SampleSource<X, Y>(source->x_size(), source->y_size()), source_(std::move(source)), seed_(seed), part_(part) {}

  std::optional<std::size_t> size() const override { return source_->size(); }
  bool endless() const override { return source_->endless(); }
  bool may_run_out() const override { return source_->may_run_out(); }
  bool varies() const override { return true; }
  bool weighted() const override { return source_->weighted(); }
  HostTensor<X> const* inputs() const override { return source_->inputs(); }
  HostTensor<Y> const* targets() const override { return source_->targets(); }
  void trace(Lineage& lineage) const override;

  /// Source that is shuffled.
  SampleSource<X, Y> const& source() const { return *source_; }
  /// Random integers of a pass.
  IndexSequence sequence(std::uint64_t pass) const { return {seed_, part_, pass}; }

 private:
  SourcePointer<X, Y> source_;
  std::uint64_t seed_;
  std::uint32_t part_;
};

template <class X, class Y>
void Shuffled<X, Y>::trace(Lineage& lineage) const {
  source_->trace(lineage);
  lineage.add("shuffle", "seed", seed_);
}

/// One permutation of all samples of a random-access source.
template <class X, class Y>
class PermutedSource : public Shuffled<X, Y> {
 public:
  using Shuffled<X, Y>::Shuffled;
  bool random_access() const override { return true; }
  std::span<X const> memory() const override { return this->source().memory(); }
  std::unique_ptr<SampleReader<X, Y>> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader : public SampleReader<X, Y> {
   public:
    explicit Reader(PermutedSource const& source) : source_(source), samples_(source.source().reader()) {}
    void start(std::uint64_t pass) override {
      samples_->start(pass);
      permute(order_, source_.size().value(), source_.sequence(pass));
    }
    std::optional<Sample<X, Y>> at(std::size_t position) override {
      if (position >= order_.size()) return std::nullopt;
      return samples_->at(order_[position]);
    }
    bool find(std::span<std::size_t> positions, Sample<X, Y>* to) override {
      for (std::size_t& position : positions) {
        if (position >= order_.size()) return false;
        position = order_[position];
      }
      return samples_->find(positions, to);
    }

   private:
    PermutedSource const& source_;
    std::unique_ptr<SampleReader<X, Y>> samples_;
    std::vector<std::size_t> order_;
  };
};

/// Draws each sample from a window over a source that can only be read in order.
template <class X, class Y>
class WindowShuffledSource : public Shuffled<X, Y> {
 public:
  /// Source drawn from a window of so many samples.
  WindowShuffledSource(SourcePointer<X, Y> source, std::size_t window, std::uint64_t seed, std::uint32_t part)
      : Shuffled<X, Y>(std::move(source), seed, part), window_(window) {}
  bool random_access() const override { return false; }
  void trace(Lineage& lineage) const override;
  std::unique_ptr<SampleReader<X, Y>> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader : public SampleReader<X, Y> {
   public:
    explicit Reader(WindowShuffledSource const& source)
        : source_(source), samples_(source.source().reader()), pass_{source.sequence(0)} {}

    void start(std::uint64_t pass) override {
      samples_->start(pass);
      pass_ = Pass{source_.sequence(pass)};
      order_.clear();
      while (order_.size() < source_.window_) {
        // Slot `order_.size()` is free: nothing has been given out yet.
        if (!fill(order_.size())) break;
        order_.push_back(order_.size());
      }
    }

    std::optional<Sample<X, Y>> at(std::size_t position) override {
      while (pass_.given <= position) {
        // The slot that was given out is free now; a source that ended leaves the window smaller.
        if (auto const free = std::exchange(pass_.last, std::nullopt); free && fill(*free)) order_.push_back(*free);
        if (order_.empty()) return std::nullopt;
        std::swap(order_[pass_.random.below(order_.size())], order_.back());
        pass_.last = order_.back();
        order_.pop_back();
        ++pass_.given;
      }
      if (!pass_.last) return std::nullopt;
      std::size_t const slot = *pass_.last;
      return Sample<X, Y>{x_.data() + slot * source_.x_size(), y_.data() + slot * source_.y_size(),
                          source_.weighted() ? weight_.data() + slot : nullptr};
    }

   private:
    // Made anew at the start of a pass, so that nothing of the one before is left.
    struct Pass {
      IndexSequence random;
      std::size_t taken = 0, given = 0;   // samples of the source, and of this one
      std::optional<std::size_t> last{};  // the slot given out last
    };

    bool fill(std::size_t slot) {
      auto const sample = samples_->at(pass_.taken);
      if (!sample) return false;
      ++pass_.taken;
      std::size_t const nx = source_.x_size(), ny = source_.y_size();
      // Grows with what the source really has, since a buffer may be larger than it.
      if (x_.size() < (slot + 1) * nx) x_.resize((slot + 1) * nx);
      if (y_.size() < (slot + 1) * ny) y_.resize((slot + 1) * ny);
      std::copy_n(sample->x, nx, x_.data() + slot * nx);
      std::copy_n(sample->y, ny, y_.data() + slot * ny);
      if (source_.weighted()) {
        if (weight_.size() <= slot) weight_.resize(slot + 1);
        weight_[slot] = sample->weight ? *sample->weight : 1.0;
      }
      return true;
    }

    WindowShuffledSource const& source_;
    std::unique_ptr<SampleReader<X, Y>> samples_;
    Pass pass_;
    std::vector<X> x_;
    std::vector<Y> y_;
    std::vector<double> weight_;
    std::vector<std::size_t> order_;  // slots that hold a sample not yet given out
  };

  std::size_t window_;
};

template <class X, class Y>
void WindowShuffledSource<X, Y>::trace(Lineage& lineage) const {
  Shuffled<X, Y>::trace(lineage);
  lineage.add("shuffle", "buffer", window_);
}

/// A full permutation if the source allows it, otherwise a window of `buffer` samples.
template <class X, class Y>
SourcePointer<X, Y> shuffled(SourcePointer<X, Y> source, std::size_t buffer, std::uint64_t seed, std::uint32_t part) {
  if (source->random_access()) return std::make_shared<PermutedSource<X, Y>>(std::move(source), seed, part);
  return std::make_shared<WindowShuffledSource<X, Y>>(std::move(source), buffer, seed, part);
}

}  // namespace trireme::data
