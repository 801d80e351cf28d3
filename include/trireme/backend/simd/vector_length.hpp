/// The length of SVE's vectors, which a program may fix when it is compiled.
#pragma once

#include <cstddef>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// \throws Error if the program was compiled for another length than this processor has: it would run, and compute
/// wrong numbers.
inline void require_vector_length() {
#if defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0
  constexpr std::size_t compiled = __ARM_FEATURE_SVE_BITS;
  std::size_t bytes = 0;
  asm volatile("rdvl %0, #1" : "=r"(bytes));
  if (8 * bytes != compiled)
    throw Error(
        formatted("this program was compiled for vectors of SVE of {} bits, but this processor's have {} "
                  "(-msve-vector-bits)",
                  compiled, 8 * bytes));
#endif
}

}  // namespace trireme::detail
