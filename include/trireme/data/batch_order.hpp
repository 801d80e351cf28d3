/// The order of a dataset's batches after `take`, `skip` and `repeat` of batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "trireme/core/hash.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/lineage.hpp"

namespace trireme::data {

/// Most passes of an endless epoch through its source: passes are numbered by epoch * this + repetition.
inline constexpr std::uint64_t endless_passes = std::uint64_t{1} << 32;

/// Number, for the repeated source, of a repetition in a pass of `passes` repetitions: pass * passes + repetition, from
/// which seeds draw the promised orders. A hash replaces it where nested endless repeats make it too large, or equal to
/// that of another pass.
constexpr std::uint64_t pass_number(std::uint64_t pass, std::uint64_t passes, std::uint64_t repetition) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (repetition < passes && pass < most / passes) return pass * passes + repetition;
  return hash_combine(hash_combine(passes, pass), repetition);
}

/// Order of the batches of an epoch: the operations on their sequence, in the order in which they were written.
class BatchOrder {
 public:
  /// Batches of one pass: the number, or (of a generator that is still running) how many there are at least.
  struct Pass {
    std::size_t batches = 0;
    bool known = false;
  };
  struct Place {
    std::uint64_t repetition = 0;
    std::size_t batch = 0;  ///< in its pass
  };

  /// Appends the operation: the first `count` batches.
  void take(std::size_t count) { operations_.push_back({Kind::take, count}); }
  /// Appends the operation: all batches but the first `count`.
  void skip(std::size_t count) { operations_.push_back({Kind::skip, count}); }
  /// Appends the operation: the batches so far `count` times, or without end (`forever`).
  void repeat(std::size_t count) { operations_.push_back({Kind::repeat, count}); }

  /// Batches in an epoch, if that is a known and finite number.
  std::optional<std::size_t> size(Pass pass) const { return size(operations_.size(), pass); }

  /// Origin of the batch at a position of the epoch; none past the end. While the number of batches of a pass is not
  /// known, positions have to be visited in order, and may turn out to lie past the end of the pass.
  std::optional<Place> locate(std::size_t position, Pass pass) const;

  /// Batches of one pass that an epoch draws, at most; `forever` without a limit.
  std::size_t pass_limit() const;

  /// Batches at the beginning of a pass that no epoch draws, at least.
  std::size_t pass_begin() const;

  /// True if an epoch has no end, of passes that have one or not.
  bool endless(bool pass) const;

  /// Passes over the source in one epoch.
  std::uint64_t passes() const { return passes(operations_.size()); }

  /// Adds the operations with their numbers to the lineage.
  void trace(Lineage& lineage) const;

 private:
  enum class Kind : std::size_t { take, skip, repeat };
  struct Operation {
    Kind kind;
    std::size_t count;
  };

  std::optional<std::size_t> size(std::size_t depth, Pass pass) const;

  std::size_t at_least(std::size_t depth, Pass pass) const;

  std::optional<Place> locate(std::size_t depth, std::size_t position, Pass pass) const;

  std::uint64_t passes(std::size_t depth) const;

  std::vector<Operation> operations_;
};

}  // namespace trireme::data

#ifndef TRIREME_COMPILED
#include "trireme/data/batch_order.ipp"
#endif
