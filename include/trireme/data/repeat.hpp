/// A source that is gone through several times in one epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "trireme/data/batch_order.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/sample_source.hpp"

namespace trireme::data {

/// Source that passes `count` times over another, or without end (`forever`); each pass has its own order if the source
/// varies.
template <class X, class Y>
class RepeatedSource : public SampleSource<X, Y> {
 public:
  /// `count` passes over the source; `forever`: without end.
  RepeatedSource(SourcePointer<X, Y> source, std::size_t count)
      : SampleSource<X, Y>(source->x_size(), source->y_size()), source_(std::move(source)), count_(count) {}

  std::optional<std::size_t> size() const override;
  bool endless() const override;
  bool may_run_out() const override { return source_->may_run_out(); }
  // A source whose passes differ would have to hold the order of all of them at once.
  bool random_access() const override { return source_->random_access() && !source_->varies() && count_ != forever; }
  bool varies() const override { return source_->varies(); }
  bool weighted() const override { return source_->weighted(); }
  std::span<X const> memory() const override { return source_->memory(); }
  HostTensor<X> const* inputs() const override { return source_->inputs(); }
  HostTensor<Y> const* targets() const override { return source_->targets(); }
  void trace(Lineage& lineage) const override;
  std::unique_ptr<SampleReader<X, Y>> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader : public SampleReader<X, Y> {
   public:
    explicit Reader(RepeatedSource const& source)
        : source_(source), samples_(source.source_->reader()), once_(source.source_->size()) {}

    void start(std::uint64_t pass) override {
      pass_ = Pass{pass};
      start_repetition(0);
    }

    std::optional<Sample<X, Y>> at(std::size_t position) override {
      if (once_) return locate(position) ? samples_->at(position % *once_) : std::nullopt;
      if (source_.count_ == 0) return std::nullopt;
      // The end of a pass shows only when it is reached, so go there sample by sample.
      if (position < pass_.next) return samples_->at(position - pass_.base);
      std::optional<Sample<X, Y>> sample;
      while (pass_.next <= position) {
        sample = samples_->at(pass_.next - pass_.base);
        if (sample) {
          ++pass_.next;
        } else {
          if (pass_.next == pass_.base || pass_.repetition + 1 >= source_.count_) return std::nullopt;
          pass_.base = pass_.next;
          start_repetition(pass_.repetition + 1);
        }
      }
      return sample;
    }

    std::optional<Sample<X, Y>> run(std::size_t position, std::size_t count) override {
      if (!once_ || count == 0 || !locate(position) || position % *once_ + count > *once_) return std::nullopt;
      return samples_->run(position % *once_, count);
    }

    bool find(std::span<std::size_t> positions, Sample<X, Y>* to) override {
      if (!once_ || *once_ == 0) return false;
      for (std::size_t& position : positions) {
        if (position / *once_ != pass_.repetition) return false;  // another pass, which has an order of its own
        position %= *once_;
      }
      return samples_->find(positions, to);
    }

   private:
    // Made anew at the start of a pass, so that nothing of the one before is left.
    struct Pass {
      std::uint64_t number = 0;
      std::size_t repetition = 0;
      std::size_t next = 0;  // position that has not been read yet, and the first of this repetition,
      std::size_t base = 0;  // where the size of the source is not known
    };

    void start_repetition(std::size_t repetition) {
      pass_.repetition = repetition;
      std::uint64_t const passes = source_.count_ == forever ? endless_passes : source_.count_;
      samples_->start(pass_number(pass_.number, passes, repetition));
    }

    bool locate(std::size_t position) {
      if (*once_ == 0 || position / *once_ >= source_.count_) return false;
      if (std::size_t const repetition = position / *once_; repetition != pass_.repetition) {
        if (source_.source_->varies() || !source_.source_->random_access())
          start_repetition(repetition);
        else
          pass_.repetition = repetition;
      }
      return true;
    }

    RepeatedSource const& source_;
    std::unique_ptr<SampleReader<X, Y>> samples_;
    std::optional<std::size_t> once_;
    Pass pass_;
  };

  SourcePointer<X, Y> source_;
  std::size_t count_;
};

template <class X, class Y>
std::optional<std::size_t> RepeatedSource<X, Y>::size() const {
  auto const once = source_->size();
  if (count_ == 0 || (once && *once == 0)) return 0;
  if (!once || count_ == forever) return std::nullopt;
  return repeated(*once, count_, "samples");
}

template <class X, class Y>
bool RepeatedSource<X, Y>::endless() const {
  return count_ != 0 && (source_->endless() || (count_ == forever && source_->size() != std::size_t{0}));
}

template <class X, class Y>
void RepeatedSource<X, Y>::trace(Lineage& lineage) const {
  source_->trace(lineage);
  lineage.add("repeat", "number of passes", count_);
}

}  // namespace trireme::data
