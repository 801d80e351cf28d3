/// The lineage of a dataset: its source and transformations, for comparison between processes and runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/count.hpp"

namespace trireme::data {

/// Operations that made a dataset, each with its numbers: "shuffle" with the "seed" 7.
class Lineage {
 public:
  /// \param quantity  names the value in messages; empty for a hash, which says nothing to a reader.
  void add(std::string_view operation, std::string_view quantity, std::uint64_t value);

  /// Hash of all operations and numbers.
  std::uint64_t hash() const;

  /// One line for each number, to be sent to another process.
  std::string text() const;
  /// Lineage that another process has sent as `text`.
  static Lineage from_text(std::string_view text);

  /// The first difference to the lineage that rank 0 has, as a sentence about `data`.
  std::string difference(Lineage const& chief, std::string const& data) const;

 private:
  struct Step {
    std::string operation, quantity;
    std::uint64_t value;
    bool operator==(Step const&) const = default;
    std::string shown() const;
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

#ifndef TRIREME_COMPILED
#include "trireme/data/lineage.ipp"
#endif
