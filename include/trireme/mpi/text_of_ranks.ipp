/// Definitions of trireme/mpi/text_of_ranks.hpp.
#pragma once

#include "trireme/mpi/text_of_ranks.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// "rank 2", or "ranks 0 to 3, 5". \param ranks  ascending, at least one
TRIREME_INLINE std::string name_ranks(std::vector<std::size_t> const& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    text += formatted("{}{}", begin == 0 ? "" : ", ", ranks[begin]);
    if (end - begin > 1) text += formatted(" to {}", ranks[end - 1]);
  }
  return text;
}

TRIREME_INLINE std::string fold_texts(std::vector<std::string> const& of_ranks) {
  std::vector<std::string> texts;
  for (std::string const& text : of_ranks)
    if (!text.empty() && std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  if (texts.empty()) return {};
  if (texts.size() == 1) return texts.front();
  std::string folded;
  for (std::string const& text : texts) {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
      if (of_ranks[rank] == text) ranks.push_back(rank);
    folded += formatted("{}{} on {}", folded.empty() ? "" : "; ", text, name_ranks(ranks));
  }
  return folded;
}

}  // namespace trireme::detail
