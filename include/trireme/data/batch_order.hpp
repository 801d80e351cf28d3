/// The order of a dataset's batches after `take`, `skip` and `repeat` of batches.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trireme/data/count.hpp"
#include "trireme/data/lineage.hpp"

namespace trireme::data {

/// Most passes of an endless epoch through its source: passes are numbered by epoch * this + repetition.
inline constexpr std::uint64_t endless_passes = std::uint64_t{1} << 32;

/// The operations on the sequence of batches, in the order in which they were written.
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

  void take(std::size_t count) { operations_.push_back({Kind::take, count}); }
  void skip(std::size_t count) { operations_.push_back({Kind::skip, count}); }
  void repeat(std::size_t count) { operations_.push_back({Kind::repeat, count}); }

  /// Batches in an epoch, if that is a known and finite number.
  std::optional<std::size_t> size(Pass pass) const { return size(operations_.size(), pass); }

  /// Origin of the batch at a position of the epoch; none past the end. While the number of batches of a pass is not
  /// known, positions have to be visited in order, and may turn out to lie past the end of the pass.
  std::optional<Place> locate(std::size_t position, Pass pass) const {
    return locate(operations_.size(), position, pass);
  }

  /// True if an epoch has no end, of passes that have one or not.
  bool endless(bool pass) const {
    for (Operation const& operation : operations_) {
      if (operation.kind == Kind::take) pass = false;
      if (operation.kind == Kind::repeat) pass = operation.count != 0 && (pass || operation.count == forever);
    }
    return pass;
  }

  /// Passes over the source in one epoch.
  std::uint64_t passes() const { return passes(operations_.size()); }

  void trace(Lineage& lineage) const {
    static constexpr std::array<std::array<char const*, 2>, 3> names{
        {{"take", "number of batches"}, {"skip", "number of batches"}, {"repeat", "number of passes"}}};
    for (Operation const& operation : operations_) {
      auto const& [name, quantity] = names[static_cast<std::size_t>(operation.kind)];
      lineage.add(name, quantity, operation.count);
    }
  }

 private:
  enum class Kind : std::size_t { take, skip, repeat };
  struct Operation {
    Kind kind;
    std::size_t count;
  };

  std::optional<std::size_t> size(std::size_t depth, Pass pass) const {
    if (depth == 0) return pass.known ? std::optional(pass.batches) : std::nullopt;
    Operation const& operation = operations_[depth - 1];
    auto const inner = size(depth - 1, pass);
    switch (operation.kind) {
      case Kind::take:
        if (inner) return std::min(*inner, operation.count);
        return at_least(depth - 1, pass) >= operation.count ? std::optional(operation.count) : std::nullopt;
      case Kind::skip:
        return inner ? std::optional(*inner - std::min(*inner, operation.count)) : std::nullopt;
      case Kind::repeat:
        if (inner && *inner == 0) return 0;
        if (!inner || operation.count == forever) return std::nullopt;
        return repeated(*inner, operation.count, "batches");
    }
    return std::nullopt;
  }

  std::size_t at_least(std::size_t depth, Pass pass) const {
    if (auto const exact = size(depth, pass)) return *exact;
    if (depth == 0) return pass.batches;
    std::size_t const inner = at_least(depth - 1, pass);
    Operation const& operation = operations_[depth - 1];
    if (operation.kind == Kind::skip) return inner - std::min(inner, operation.count);
    if (operation.kind == Kind::repeat && operation.count == forever && inner != 0) return forever;
    return inner;
  }

  std::optional<Place> locate(std::size_t depth, std::size_t position, Pass pass) const {
    if (depth == 0) return pass.known && position >= pass.batches ? std::nullopt : std::optional(Place{0, position});
    Operation const& operation = operations_[depth - 1];
    switch (operation.kind) {
      case Kind::take:
        return position < operation.count ? locate(depth - 1, position, pass) : std::nullopt;
      case Kind::skip:
        return locate(depth - 1, position + operation.count, pass);
      case Kind::repeat: {
        auto const inner = size(depth - 1, pass);
        if (operation.count == 0 || (inner && *inner == 0)) return std::nullopt;
        if (!inner) return locate(depth - 1, position, pass);
        std::size_t const repetition = position / *inner;
        if (repetition >= operation.count) return std::nullopt;
        auto place = locate(depth - 1, position % *inner, pass);
        if (place) place->repetition += repetition * passes(depth - 1);
        return place;
      }
    }
    return std::nullopt;
  }

  std::uint64_t passes(std::size_t depth) const {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < depth; ++i) {
      if (operations_[i].kind != Kind::repeat || operations_[i].count == 0) continue;
      if (operations_[i].count >= endless_passes / product) return endless_passes;
      product *= operations_[i].count;
    }
    return product;
  }

  std::vector<Operation> operations_;
};

}  // namespace trireme::data
