/// Commands by which tests start programs of this build, under a launcher and an emulator.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <mpi.h>

namespace trireme::test {

/// The launcher that belongs to the MPI of this program.
inline std::string launcher() {
  if (char const* chosen = std::getenv("TRIREME_MPIEXEC")) return chosen;
#ifdef MPICH_VERSION
  if (std::ifstream("/usr/bin/mpiexec.mpich").good()) return "mpiexec.mpich";
#endif
  return "mpiexec";
}

/// The words by which a shell starts a program of this build: those of the emulator that CTest names in a build for
/// another processor, and the program's path.
inline std::string command_of(std::string const& path) {
  char const* const emulator = std::getenv("TRIREME_TEST_EMULATOR");
  return (emulator == nullptr ? std::string() : std::string(emulator) + ' ') + std::filesystem::absolute(path).string();
}

}  // namespace trireme::test
