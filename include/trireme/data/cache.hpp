/// Samples that are computed once and then kept in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/data/sample_blocks.hpp"
#include "trireme/data/sample_source.hpp"

namespace trireme::data {

/// Source that keeps the samples of the first pass of another, in the order of that pass.
///
/// Of a random-access source each sample is kept when it is first read, so that a process holds only what it draws. A
/// source that is read in order is read, and kept, as far as samples are drawn. If its size is not known, the first use
/// reads it to its end. The cache is random access.
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
  bool in_memory_order() const override { return memory_->source->in_memory_order(); }
  void trace(Lineage& lineage) const override;
  std::unique_ptr<SampleReader<X, Y>> reader() const override { return std::make_unique<Reader>(memory_); }

 private:
  // Shared by all readers, which may be on different threads, and used under its lock. What it hands out was written
  // once, before, and stays where it is.
  class Memory {
   public:
    Memory(SourcePointer<X, Y> wrapped, std::size_t first) : source(std::move(wrapped)), first_(first) {}

    SourcePointer<X, Y> const source;
    std::mutex mutex;

    /// Number of samples, for which a source without a size is read to its end.
    std::size_t size();

    /// Block of `count` samples from a position on, none of which is past the end; nothing if they do not lie one after
    /// another.
    std::optional<Sample<X, Y>> rows(std::size_t position, std::size_t count);

   private:
    /// Keeps the sample at this position of a random-access source, or all up to it of another.
    void keep(std::size_t position);

    /// Reads the next sample of a source that is read in order; false at its end.
    bool read_on();

    std::optional<Sample<X, Y>> read(std::size_t position);

    std::size_t first_;  // that is kept
    std::unique_ptr<SampleReader<X, Y>> reader_;
    std::optional<SampleBlocks<X, Y>> blocks_;
    std::optional<std::size_t> size_;
    std::size_t next_ = 0;      // of a source that is read in order: the first that has not been read
    std::vector<char> kept_{};  // of a random-access source: the samples that have been read
  };

  class Reader : public SampleReader<X, Y> {
   public:
    explicit Reader(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
    void start(std::uint64_t) override {
      std::lock_guard lock(memory_->mutex);
      memory_->size();
    }
    std::optional<Sample<X, Y>> at(std::size_t position) override { return run(position, 1); }
    std::optional<Sample<X, Y>> run(std::size_t position, std::size_t count) override {
      std::lock_guard lock(memory_->mutex);
      if (count == 0 || position + count > memory_->size()) return std::nullopt;
      return memory_->rows(position, count);
    }

   private:
    std::shared_ptr<Memory> memory_;
  };

  std::shared_ptr<Memory> memory_;
};

template <class X, class Y>
std::size_t CachedSource<X, Y>::Memory::size() {
  if (size_) return *size_;
  auto const known = source->size();
  bool const in_order = !known || !source->random_access();
  if (!blocks_) {
    constexpr std::size_t fewest = 16;  // samples of a block, where their number shows only as they come
    blocks_.emplace(source->x_size(), source->y_size(), source->weighted(), in_order ? fewest : *known);
    if (!in_order) first_ = 0;
    if (in_order && known) next_ = first_;
  }
  if (!in_order) {
    kept_.resize(*known);
    size_ = *known;
  } else if (known) {
    // The size may be a promise, of a generator that is repeated without end and is empty.
    size_ = next_ >= *known || read_on() ? *known : 0;
  } else {
    while (read_on()) {
    }
    size_ = next_;
    reader_.reset();
  }
  return *size_;
}

template <class X, class Y>
std::optional<Sample<X, Y>> CachedSource<X, Y>::Memory::rows(std::size_t position, std::size_t count) {
  if (position < first_) return std::nullopt;
  for (std::size_t i = position; i < position + count; ++i) keep(i);
  return blocks_->rows(position - first_, count);
}

template <class X, class Y>
void CachedSource<X, Y>::Memory::keep(std::size_t position) {
  bool found = true;
  if (kept_.empty()) {
    while (found && next_ <= position) found = read_on();
  } else if (!kept_[position]) {
    auto const sample = read(position);
    found = sample.has_value();
    if (found) {
      blocks_->store(position, *sample);
      kept_[position] = 1;
    }
  }
  if (!found) throw ValueError("a cached dataset ended before the size that it gave");
}

template <class X, class Y>
bool CachedSource<X, Y>::Memory::read_on() {
  auto const sample = read(next_);
  if (!sample) return false;
  if (next_ >= first_) blocks_->store(next_ - first_, *sample);
  ++next_;
  return true;
}

template <class X, class Y>
std::optional<Sample<X, Y>> CachedSource<X, Y>::Memory::read(std::size_t position) {
  auto reader = std::move(reader_);  // dropped if it throws: the next call begins the pass anew
  if (!reader) {
    reader = source->reader();
    reader->start(0);
  }
  auto const sample = reader->at(position);
  reader_ = std::move(reader);
  return sample;
}

template <class X, class Y>
std::optional<std::size_t> CachedSource<X, Y>::size() const {
  if (auto const known = memory_->source->size(); known && memory_->source->random_access()) return known;
  std::lock_guard lock(memory_->mutex);
  return memory_->size();
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
