/// The lineage of a dataset: its source and transformations, for comparison between processes and runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/count.hpp"

namespace trireme::data {

/// The operations that made a dataset, each with its numbers: "shuffle" with the "seed" 7.
class Lineage {
 public:
  /// \param quantity  names the value in messages; empty for a hash, which says nothing to a reader.
  void add(std::string_view operation, std::string_view quantity, std::uint64_t value) {
    steps_.push_back({std::string(operation), std::string(quantity), value});
  }

  std::uint64_t hash() const {
    std::uint64_t hash = steps_.size();
    for (Step const& step : steps_) {
      hash = hash_combine(hash, hash_bytes(step.operation.data(), step.operation.size()));
      hash = hash_combine(hash, hash_bytes(step.quantity.data(), step.quantity.size()));
      hash = hash_combine(hash, step.value);
    }
    return hash;
  }

  /// One line for each number, to be sent to another process.
  std::string text() const {
    std::string text;
    for (Step const& step : steps_) text += formatted("{}\t{}\t{}\n", step.operation, step.quantity, step.value);
    return text;
  }
  static Lineage from_text(std::string_view text) {
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

  /// The first difference to the lineage that rank 0 has, as a sentence about `data`.
  std::string difference(Lineage const& chief, std::string const& data) const {
    auto const [mine, other] = std::mismatch(steps_.begin(), steps_.end(), chief.steps_.begin(), chief.steps_.end());
    bool const ends = mine == steps_.end(), other_ends = other == chief.steps_.end();
    if (ends || other_ends || mine->operation != other->operation)
      return formatted("the transformations of {} differ: {} where rank 0 has {}", data,
                       ends ? "none" : mine->operation, other_ends ? "none" : other->operation);
    std::string const hint =
        mine->operation == "from_tensor_slices" ? "; for data that each rank owns, use from_local_slices" : "";
    if (mine->quantity.empty() || other->quantity.empty())
      return formatted("{} differ from those of rank 0{}", data, hint);
    return formatted("{} of {} has the {} where rank 0 has the {}{}", mine->operation, data, mine->shown(),
                     other->shown(), hint);
  }

 private:
  struct Step {
    std::string operation, quantity;
    std::uint64_t value;
    bool operator==(Step const&) const = default;
    std::string shown() const {
      return value == forever ? formatted("{} without end", quantity) : formatted("{} {}", quantity, value);
    }
  };

  std::vector<Step> steps_;
};

/// Compares the lineages of the processes of a group. Collective.
/// \throws ValueError naming rank and difference, the same on all
template <class Group>
void require_same_lineage(Group const& group, Lineage const& own, std::string const& data) {
  std::string const text = own.text();
  std::string of_chief = text;
  group.broadcast(of_chief);
  group.together([&] {
    if (text != of_chief) throw ValueError(own.difference(Lineage::from_text(of_chief), data));
  });
}

}  // namespace trireme::data
