/// Samples that are computed once and then kept in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/data/sample_source.hpp"

namespace trireme::data {

/// Source that keeps the samples of the first pass of another, in the order of that pass.
///
/// Of a random-access source each sample is kept when it is first read, so that a process holds only what it draws; any
/// other source is read to its end when it is first needed, and is random access from then on.
template <class X, class Y>
class CachedSource : public SampleSource<X, Y> {
 public:
  /// Cache of a source, shared by all copies of the dataset.
  /// \param first  samples before this one are never drawn, so that none of them is kept.
  explicit CachedSource(SourcePointer<X, Y> source, std::size_t first = 0)
      : SampleSource<X, Y>(source->x_size(), source->y_size()),
        memory_(std::make_shared<Memory>(std::move(source), first)) {}

  std::optional<std::size_t> size() const override;
  bool may_run_out() const override { return false; }
  bool random_access() const override { return true; }
  bool varies() const override { return false; }
  bool weighted() const override { return memory_->source->weighted(); }
  HostTensor<X> const* inputs() const override { return memory_->source->inputs(); }
  HostTensor<Y> const* targets() const override { return memory_->source->targets(); }
  void trace(Lineage& lineage) const override;
  std::unique_ptr<SampleReader<X, Y>> reader() const override { return std::make_unique<Reader>(memory_); }

 private:
  // Shared by all readers, which may be on different threads: a sample is written under the lock, once, before its
  // address is handed out, and never again.
  struct Memory {
    Memory(SourcePointer<X, Y> wrapped, std::size_t first_drawn) : source(std::move(wrapped)), first(first_drawn) {}

    SourcePointer<X, Y> source;
    std::size_t first;
    std::unique_ptr<SampleReader<X, Y>> reader;
    std::mutex mutex;
    std::unique_ptr<X[]> x;
    std::vector<X> grown_x;
    std::unique_ptr<Y[]> y;
    std::vector<Y> grown_y;
    std::vector<double> weight;
    std::vector<char> kept;
    std::size_t samples = 0;
    std::size_t left_out = 0;  ///< samples at the beginning that have no memory
    bool complete = false;

    X* x_data() { return x ? x.get() : grown_x.data(); }
    Y* y_data() { return y ? y.get() : grown_y.data(); }

    void prepare() {
      if (reader) return;
      auto fresh = source->reader();
      fresh->start(0);
      std::size_t const nx = source->x_size(), ny = source->y_size();
      auto const size = source->size();
      if (source->random_access() && size) {
        // Not initialised, so that the pages of samples that this process never draws are never touched.
        x = std::make_unique_for_overwrite<X[]>(*size * nx);
        y = std::make_unique_for_overwrite<Y[]>(*size * ny);
        if (source->weighted()) weight.resize(*size);
        kept.resize(*size);
        samples = *size;
      } else {
        grown_x.clear(), grown_y.clear(), weight.clear();
        left_out = first;
        for (samples = 0; auto const sample = fresh->at(samples); ++samples) {
          if (samples < left_out) continue;
          grown_x.insert(grown_x.end(), sample->x, sample->x + nx);
          grown_y.insert(grown_y.end(), sample->y, sample->y + ny);
          if (source->weighted()) weight.push_back(sample->weight ? *sample->weight : 1.0);
        }
        complete = true;
      }
      reader = std::move(fresh);
    }

    void keep(std::size_t position) {
      if (complete || kept[position]) return;
      auto const sample = reader->at(position);
      if (!sample) throw ValueError("a cached dataset ended before the size that it gave");
      std::copy_n(sample->x, source->x_size(), x_data() + position * source->x_size());
      std::copy_n(sample->y, source->y_size(), y_data() + position * source->y_size());
      if (source->weighted()) weight[position] = sample->weight ? *sample->weight : 1.0;
      kept[position] = 1;
    }
  };

  class Reader : public SampleReader<X, Y> {
   public:
    explicit Reader(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
    void start(std::uint64_t) override {
      std::lock_guard lock(memory_->mutex);
      memory_->prepare();
    }
    std::optional<Sample<X, Y>> at(std::size_t position) override { return run(position, 1); }
    std::optional<Sample<X, Y>> run(std::size_t position, std::size_t count) override {
      if (position + count > memory_->samples || position < memory_->left_out) return std::nullopt;
      {
        std::lock_guard lock(memory_->mutex);
        for (std::size_t i = position; i < position + count; ++i) memory_->keep(i);
      }
      std::size_t const row = position - memory_->left_out;
      return Sample<X, Y>{memory_->x_data() + row * memory_->source->x_size(),
                          memory_->y_data() + row * memory_->source->y_size(),
                          memory_->weight.empty() ? nullptr : memory_->weight.data() + row};
    }

   private:
    std::shared_ptr<Memory> memory_;
  };

  std::shared_ptr<Memory> memory_;
};

template <class X, class Y>
std::optional<std::size_t> CachedSource<X, Y>::size() const {
  // The size of samples that come in order may be a promise, of a generator that is repeated without end and is empty.
  if (auto const known = memory_->source->size(); known && memory_->source->random_access()) return known;
  std::lock_guard lock(memory_->mutex);
  memory_->prepare();
  return memory_->samples;
}

template <class X, class Y>
void CachedSource<X, Y>::trace(Lineage& lineage) const {
  memory_->source->trace(lineage);
  lineage.add("cache", "", 1);
}

/// Source that keeps the samples of another's first pass.
/// \throws ValueError if the samples, those of all processes, have no end.
template <class X, class Y>
SourcePointer<X, Y> cached(SourcePointer<X, Y> source, bool endless) {
  if (endless) throw ValueError("cache() of a dataset without end: give it a take() before");
  return std::make_shared<CachedSource<X, Y>>(std::move(source));
}

}  // namespace trireme::data
