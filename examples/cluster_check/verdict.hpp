// What is wrong with how processes were placed on a node.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "seen.hpp"

struct Finding {
  enum class Kind { note, wrong } kind;
  std::string text;  ///< a sentence, and what helps
};

/// Of the processes of one node, by rank there.
std::vector<Finding> judge(std::vector<Seen> const& node);
