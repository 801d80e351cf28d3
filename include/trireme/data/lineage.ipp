/// Definitions of trireme/data/lineage.hpp.
#pragma once

#include "trireme/data/lineage.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/count.hpp"

namespace trireme::data {

TRIREME_INLINE void Lineage::add(std::string_view operation, std::string_view quantity, std::uint64_t value) {
  steps_.push_back({std::string(operation), std::string(quantity), value});
}

TRIREME_INLINE std::uint64_t Lineage::hash() const {
  std::uint64_t hash = steps_.size();
  for (Step const& step : steps_) {
    hash = hash_combine(hash, hash_bytes(step.operation.data(), step.operation.size()));
    hash = hash_combine(hash, hash_bytes(step.quantity.data(), step.quantity.size()));
    hash = hash_combine(hash, step.value);
  }
  return hash;
}

TRIREME_INLINE std::string Lineage::text() const {
  std::string text;
  for (Step const& step : steps_) text += formatted("{}\t{}\t{}\n", step.operation, step.quantity, step.value);
  return text;
}

TRIREME_INLINE Lineage Lineage::from_text(std::string_view text) {
  Lineage lineage;
  auto const until = [&](char end) {
    std::string_view const field = text.substr(0, text.find(end));
    text.remove_prefix(std::min(field.size() + 1, text.size()));
    return std::string(field);
  };
  while (!text.empty()) {
    std::string operation = until('\t'), quantity = until('\t');
    lineage.steps_.push_back({std::move(operation), std::move(quantity), std::stoull(until('\n'))});
  }
  return lineage;
}

TRIREME_INLINE std::string Lineage::difference(Lineage const& chief, std::string const& data) const {
  auto const [mine, other] = std::mismatch(steps_.begin(), steps_.end(), chief.steps_.begin(), chief.steps_.end());
  bool const ends = mine == steps_.end(), other_ends = other == chief.steps_.end();
  if (ends || other_ends || mine->operation != other->operation)
    return formatted("the transformations of {} differ: {} where rank 0 has {}", data, ends ? "none" : mine->operation,
                     other_ends ? "none" : other->operation);
  std::string const hint =
      mine->operation == "from_tensor_slices" ? "; for data that each rank owns, use from_local_slices" : "";
  if (mine->quantity.empty() || other->quantity.empty())
    return formatted("{} differ from those of rank 0{}", data, hint);
  return formatted("{} of {} has the {} where rank 0 has the {}{}", mine->operation, data, mine->shown(),
                   other->shown(), hint);
}

TRIREME_INLINE std::string Lineage::Step::shown() const {
  return value == forever ? formatted("{} without end", quantity) : formatted("{} {}", quantity, value);
}

}  // namespace trireme::data
