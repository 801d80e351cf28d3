/// Text of all ranks: one of what each process says of itself, the same on all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme::detail {

/// Folds the texts of the ranks: the text that all have, or else each of them with its ranks, "1 thread on rank 0; 2
/// threads on ranks 1 to 3, 5". Ranks whose text is empty have nothing to say.
std::string fold_texts(std::vector<std::string> const& of_ranks);

/// The folded texts of the group's processes, the same on all. Collective.
template <class Group>
std::string text_of_ranks(Group const& group, std::string const& own) {
  auto const gathered = group.allgatherv(std::vector<char>(own.begin(), own.end()));
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < gathered.parts(); ++rank) {
    auto const part = gathered.part(rank);
    texts.emplace_back(part.begin(), part.end());
  }
  return fold_texts(texts);
}

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/text_of_ranks.ipp"
#endif
