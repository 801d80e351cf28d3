/// The samples of each global batch that belong to each process, known to all without communication.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"

namespace trireme::data {

/// Samples that each process owns: how many every process has, in `sizes`, and which of them this one is, `index`.
struct LocalSizes {
  std::vector<std::size_t> sizes;
  std::size_t index = 0;
  bool endless = false;  ///< these samples again and again, on all processes

  /// Samples of all processes.
  std::size_t total() const;
};

/// Rows of one global batch for one process: [first_row, first_row + rows) of global_rows.
struct BatchRows {
  std::size_t first_sample = 0;  ///< position of the process's first row among the samples that it reads
  std::size_t rows = 0;
  std::size_t first_row = 0;
  std::size_t global_rows = 0;
};

/// Fraction floor(a * b / c) without overflow in between.
std::size_t scaled(std::size_t a, std::size_t b, std::size_t c);

/// Part of one process in a batch of `global_rows` samples that every process could read: of the i-th of n processes
/// that draw, rows [B * i / n, B * (i + 1) / n), or those of the parts that the data shard names.
BatchRows even_rows(std::size_t global_rows, DataShard const& share);

/// Division of a dataset into global batches, seen from one process. Its size is known, or it has no end.
class BatchPlan {
 public:
  /// Every process could read all `samples`; it takes its even part of each batch.
  BatchPlan(std::size_t samples, std::size_t batch, DataShard share, bool endless = false);

  /// Each process has samples of its own and gives each batch a part in proportion to them: of n_r of N samples,
  /// floor(n_r * min((k + 1) * B, N) / N) - floor(n_r * min(k * B, N) / N) to batch k. A batch may so have a few
  /// samples more or less than B; one that would have none is left out.
  /// \throws ValueError if the data shard is of another process than the samples, or if a process that draws none has
  /// some.
  BatchPlan(LocalSizes local, std::size_t batch, DataShard share);

  /// True if the batches have no end.
  bool endless() const { return endless_; }

  /// True if each process has samples of its own.
  bool local() const { return !sizes_.empty(); }

  /// Number of batches in a pass.
  std::size_t batches() const { return batches_; }

  /// The most rows that a batch hands this process.
  std::size_t max_rows() const;

  BatchRows operator()(std::size_t k) const;

  /// Data shard itself. \throws ValueError if its index is not below its count
  static DataShard checked(DataShard share);

 private:
  BatchRows proportional(std::size_t k) const;

  static constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max() / 4;

  std::size_t samples_;
  std::size_t batch_;
  DataShard share_;
  bool endless_;
  std::size_t batches_ = 0;
  std::size_t total_ = 0;           // own samples of all processes, in one pass
  std::vector<std::size_t> sizes_;  // of all processes, if each has its own samples
  std::vector<std::size_t> kept_;   // the batches that are not empty, if some are
};

}  // namespace trireme::data

#ifndef TRIREME_COMPILED
#include "trireme/data/data_shard.ipp"
#endif
