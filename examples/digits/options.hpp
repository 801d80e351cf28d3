// What the command line of digits asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

struct Options {
  std::string strategy = "multi-worker-mirrored";
  std::string data = TRIREME_EXAMPLES_DATA "/digits.csv.gz";
  std::string backup;
  std::string log;
  std::size_t epochs = 15, batch = 32, replicas = 2, threads = 0;
  std::uint64_t seed = 1;
  bool quiet = false;
};

/// Ends the program, with help or with what is wrong, where it is not to go on.
Options parse_options(int argc, char** argv);
