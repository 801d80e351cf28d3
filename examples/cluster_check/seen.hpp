// What one process sees of its node.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string>

/// Logical processors, by the system's numbers.
using Cores = std::bitset<1024>;

/// Sent whole from process to process.
struct Seen {
  std::array<char, 128> host{};
  Cores allowed;             ///< those that this process may use
  Cores pinned;              ///< those to which single threads are bound; none where threads may move
  std::size_t threads = 1;   ///< of Kokkos' host space
  std::size_t siblings = 1;  ///< logical processors of one core among those allowed
  double quota = 0;          ///< processors' time that the control group allows; 0: no limit
  std::size_t blas_threads = 0;
  bool blas_is_openmp = true;
  std::array<char, 64> blas_core{}, fitting_core{};
  double gemm_rate = 0;  ///< of one product on all threads of this process, while all run it: Gflop/s

  std::string node() const { return host.data(); }
};

/// Those of the calling thread.
Cores allowed_cores();

/// Of this process. Runs a parallel region and products.
/// \param at_start  what the process might use before OpenMP bound its threads
Seen look_around(Cores const& at_start);
