/// Interfaces of sources of samples and of their readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "trireme/data/lineage.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::data {

/// One sample, or several that lie one after another in memory: x (samples, extents...), y (samples, extents...),
/// weight (samples).
template <class X, class Y>
struct Sample {
  X const* x = nullptr;
  Y const* y = nullptr;
  double const* weight = nullptr;  // null: 1
};

/// Reads the samples of one pass over a source after another. Not shared between threads.
///
/// The samples of a pass depend on the source and the number of the pass alone: not on earlier reads (a part of a pass,
/// or none of it), on positions that are left out or read twice, or on other readers of the same source, which may be
/// on other threads. So a reader keeps what belongs to a pass together, and `start` makes it anew.
template <class X, class Y>
class SampleReader {
 public:
  virtual ~SampleReader() = default;

  /// Begins a pass, at any time; sources whose order varies take it from the number of the pass.
  virtual void start(std::uint64_t pass) = 0;

  /// The sample at a position, valid until the next call; nothing past the end. Unless the source is random access,
  /// positions may not decrease within a pass; the last one may be read again.
  virtual std::optional<Sample<X, Y>> at(std::size_t position) = 0;

  /// `count` samples as one block that stays valid as long as the reader, if they lie so in memory.
  virtual std::optional<Sample<X, Y>> run(std::size_t /*position*/, std::size_t /*count*/) { return std::nullopt; }

  /// Stores in `to` the sample at each of the positions, valid as long as the reader: as `at` of a source in memory, in
  /// one call. False unless the place of each is known. `positions` are working memory.
  virtual bool find(std::span<std::size_t> /*positions*/, Sample<X, Y>* /*to*/) { return false; }
};

/// Source of samples of any origin. Immutable and shared between datasets.
template <class X, class Y>
class SampleSource {
 public:
  /// Source of samples of `x_size` numbers and targets of `y_size`.
  SampleSource(std::size_t x_size, std::size_t y_size) : x_size_(x_size), y_size_(y_size) {}
  virtual ~SampleSource() = default;

  /// Numbers of one sample.
  std::size_t x_size() const { return x_size_; }
  /// Numbers of one target.
  std::size_t y_size() const { return y_size_; }

  /// Samples in one pass, if that is known beforehand.
  virtual std::optional<std::size_t> size() const = 0;
  /// True if a pass has no end.
  virtual bool endless() const { return false; }
  /// True if the end of a pass shows only when it is reached, as that of a generator.
  virtual bool may_run_out() const { return !size() && !endless(); }
  /// True if samples are found by their number, in any order.
  virtual bool random_access() const = 0;
  /// True if passes differ in their order.
  virtual bool varies() const = 0;
  /// True if samples have weights.
  virtual bool weighted() const = 0;
  /// Memory that the inputs of all samples lie in, perhaps with others: those of a reader's `at` are valid as long as
  /// the reader. Empty if there is none.
  virtual std::span<X const> memory() const { return {}; }
  /// The inputs of all samples, in any order, if they lie in memory.
  virtual HostTensor<X> const* inputs() const { return nullptr; }
  /// The targets of all samples, in any order, if they lie in memory.
  virtual HostTensor<Y> const* targets() const { return nullptr; }
  /// True if sample i of every pass is row i of these.
  virtual bool in_memory_order() const { return false; }
  /// Adds all that identifies the samples of a source: the data and their transformations.
  virtual void trace(Lineage& lineage) const = 0;
  /// New reader, of one thread.
  virtual std::unique_ptr<SampleReader<X, Y>> reader() const = 0;

 private:
  std::size_t x_size_;
  std::size_t y_size_;
};

/// Shared ownership of a source of samples.
template <class X, class Y>
using SourcePointer = std::shared_ptr<SampleSource<X, Y> const>;

}  // namespace trireme::data
