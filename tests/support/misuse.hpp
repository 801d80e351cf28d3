/// Tables of run-time misuses. Each row has to end a run of its own with one sentence and an exit code other than 0.
///
///     Misuse const table[] = {
///         {"negative_learning_rate", "SGD::learning_rate is -1", [](Environment&) { train(SGD{.learning_rate = -1});
///         }},
///     };
///     int main(int argc, char** argv) { return misuse(argc, argv, table); }
///
/// A source of tests/unit/misuse is such a table. CTest runs all of its rows on 1 and on 2 ranks by expect_misuse.sh,
/// one launch a row. So a further layer, option or callback is covered by a further row.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "trireme/environment/environment.hpp"

namespace trireme::test {

struct Misuse {
  char const* name;  ///< without spaces
  char const* says;  ///< part of the only line with "trireme:" that the ranks write together
  void (*run)(Environment&);
  std::size_t fewest_ranks = 1;  ///< 2: of ranks that differ
  EnvironmentOptions options = {.threads = 1};
  /// Instead of `run`, for rows that make an Environment in their own way, or none.
  void (*own_environment)(int& argc, char**& argv) = nullptr;
  std::size_t most_ranks = ~std::size_t{0};  ///< 1: where no MPI lets the ranks agree who writes the line
};

/// `PROGRAM --list RANKS` lists the rows that apply to so many ranks, as "name<tab>text"; `PROGRAM NAME` runs one.
inline int misuse(int argc, char** argv, std::span<Misuse const> table) {
  if (argc == 3 && std::string_view(argv[1]) == "--list") {
    for (Misuse const& row : table)
      if (std::size_t const ranks = std::strtoul(argv[2], nullptr, 10);
          row.fewest_ranks <= ranks && ranks <= row.most_ranks)
        std::printf("%s\t%s\n", row.name, row.says);
    return 0;
  }
  for (Misuse const& row : table)
    if (argc == 2 && std::string_view(argv[1]) == row.name) {
      if (row.own_environment != nullptr) return row.own_environment(argc, argv), 0;
      Environment environment(argc, argv, row.options);
      row.run(environment);
      return 0;  // which the script takes for a failure
    }
  std::fprintf(stderr, "usage: %s --list RANKS | NAME OF A ROW\n", argv[0]);
  return 0;
}

}  // namespace trireme::test
