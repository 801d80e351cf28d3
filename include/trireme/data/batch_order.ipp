/// Definitions of trireme/data/batch_order.hpp.
#pragma once

#include "trireme/data/batch_order.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "trireme/core/linkage.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/lineage.hpp"

namespace trireme::data {

TRIREME_INLINE std::optional<BatchOrder::Place> BatchOrder::locate(std::size_t position, Pass pass) const {
  return locate(operations_.size(), position, pass);
}

TRIREME_INLINE std::size_t BatchOrder::pass_limit() const {
  std::size_t limit = forever;
  for (auto operation = operations_.rbegin(); operation != operations_.rend(); ++operation) {
    bool const empty = operation->kind == Kind::repeat && operation->count == 0;
    if (operation->kind == Kind::take || empty) limit = std::min(limit, operation->count);
    if (operation->kind == Kind::skip && limit != 0 && limit != forever) limit += operation->count;
  }
  return limit;
}

TRIREME_INLINE std::size_t BatchOrder::pass_begin() const {
  std::size_t begin = 0;
  for (Operation const& operation : operations_) {
    if (operation.kind == Kind::repeat) break;  // what follows leaves out batches of some passes alone
    if (operation.kind == Kind::skip) begin += operation.count;
  }
  return begin;
}

TRIREME_INLINE bool BatchOrder::endless(bool pass) const {
  for (Operation const& operation : operations_) {
    if (operation.kind == Kind::take) pass = false;
    if (operation.kind == Kind::repeat) pass = operation.count != 0 && (pass || operation.count == forever);
  }
  return pass;
}

TRIREME_INLINE void BatchOrder::trace(Lineage& lineage) const {
  static constexpr std::array<std::array<char const*, 2>, 3> names{
      {{"take", "number of batches"}, {"skip", "number of batches"}, {"repeat", "number of passes"}}};
  for (Operation const& operation : operations_) {
    auto const& [name, quantity] = names[static_cast<std::size_t>(operation.kind)];
    lineage.add(name, quantity, operation.count);
  }
}

TRIREME_INLINE std::optional<std::size_t> BatchOrder::size(std::size_t depth, Pass pass) const {
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
      if (operation.count == 0 || (inner && *inner == 0)) return 0;
      if (!inner || operation.count == forever) return std::nullopt;
      return repeated(*inner, operation.count, "batches");
  }
  return std::nullopt;
}

TRIREME_INLINE std::size_t BatchOrder::at_least(std::size_t depth, Pass pass) const {
  if (auto const exact = size(depth, pass)) return *exact;
  if (depth == 0) return pass.batches;
  std::size_t const inner = at_least(depth - 1, pass);
  Operation const& operation = operations_[depth - 1];
  if (operation.kind == Kind::skip) return inner - std::min(inner, operation.count);
  if (operation.kind == Kind::repeat && operation.count == forever && inner != 0) return forever;
  return inner;
}

TRIREME_INLINE std::optional<BatchOrder::Place> BatchOrder::locate(std::size_t depth, std::size_t position,
                                                                   Pass pass) const {
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
      if (place) place->repetition = pass_number(repetition, passes(depth - 1), place->repetition);
      return place;
    }
  }
  return std::nullopt;
}

TRIREME_INLINE std::uint64_t BatchOrder::passes(std::size_t depth) const {
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < depth; ++i) {
    if (operations_[i].kind != Kind::repeat || operations_[i].count == 0) continue;
    if (operations_[i].count >= endless_passes / product) return endless_passes;
    product *= operations_[i].count;
  }
  return product;
}

}  // namespace trireme::data
